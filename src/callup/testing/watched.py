"""Tables that know what was declared, and object when anything else is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from callup.core.clients import Clients
from callup.core.signals import Time


class Undeclared(AssertionError):
    """A selector asked for a fact that its `needs` do not name."""

    def __init__(self, name: str, time: Time, declared: set[str]) -> None:
        known = ", ".join(sorted(declared)) or "nothing"
        super().__init__(f"asks for '{name}' ({time}) without declaring it in needs; declared for this time: {known}")


class WatchedClients(Clients):
    """A table that holds what is supplied and refuses even to say whether an undeclared column is there."""

    def __init__(self, table: Clients, declared: set[str]) -> None:
        self.__dict__.update(vars(table))
        self._declared = declared

    def __contains__(self, name: str) -> bool:
        self._watch(name)
        return super().__contains__(name)

    def all(self, name: str) -> np.ndarray:
        self._watch(name)
        return super().all(name)

    def _watch(self, name: str) -> None:
        if name not in self._declared:
            raise Undeclared(name, "profile", self._declared)


class WatchedSignals(dict[str, np.ndarray]):
    """The same for what came with the replies."""

    def __init__(self, signals: dict[str, np.ndarray], declared: set[str]) -> None:
        super().__init__(signals)
        self._declared = declared

    def __getitem__(self, name: str) -> np.ndarray:
        self._watch(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self._watch(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._watch(name)
        return super().get(name, default)

    def _watch(self, name: str) -> None:
        if name not in self._declared:
            raise Undeclared(name, "reply", self._declared)
