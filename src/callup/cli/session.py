"""What one call of the command knows of itself."""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass
class Session:
    args: tuple[str, ...] = ()
    debug: bool = False

    @property
    def command(self) -> str:
        """As it was typed, ready to be typed again."""
        return shlex.join(("callup", *self.args))
