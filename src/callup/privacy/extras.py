"""Libraries that only some modes need: there, or one sentence that says how to get them; never a weaker mode."""

from __future__ import annotations

import importlib
from typing import Any

from callup.core.errors import InputError

_LIBRARY = {"he": "tenseal", "dp": "opendp", "seal": "cryptography"}
_EXTRA = {"he": "he", "dp": "dp", "seal": "he"}


def library(purpose: str, module: str) -> Any:
    """The module, imported now; refused in a sentence where its extra is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"this privacy mode needs {_LIBRARY[purpose]}, which is not installed; "
            f"run: pip install 'callup[{_EXTRA[purpose]}]'"
        ) from error
