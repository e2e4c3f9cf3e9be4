"""A saved state: named arrays of numbers that survive the file."""

from __future__ import annotations

import numpy as np

from callup.core.selector import Arrays, Method
from callup.testing.compare import differing
from callup.testing.driver import blaming
from callup.testing.registry import require


def through_bytes(state: Arrays) -> Arrays:
    """The state as it comes back from disk."""
    from safetensors.numpy import load, save

    return dict(load(save({name: np.array(array, order="C") for name, array in state.items()})))


def check_saved(method: Method, state: Arrays) -> None:
    """Names and types that any reader understands."""
    require("schema" in state, "the state has no schema version")
    require(int(state["schema"]) == method.schema, "the state's schema is not the class's schema")
    for key, array in state.items():
        name, _, part = key.partition(".")
        fits = key == "schema" or (name.endswith("_") and part in ("", "ids", "values", "default"))
        require(fits, f"'{key}' is no name for state: expected name_ or name_.ids, .values, .default")
        plain = isinstance(array, np.ndarray) and array.dtype.kind in "biuf"
        require(plain, f"state '{key}' is not an array of numbers: {getattr(array, 'dtype', type(array))}")


def check_round_trip(state: Arrays, fresh: Method) -> None:
    """A new object that loads the state from its file saves the same state again."""
    with blaming("the state does not survive a safetensors file"):
        back = through_bytes(state)
    changed = differing(state, back)
    require(not changed, f"the file changed {', '.join(changed)}")
    with blaming("load refuses its own state"):
        fresh.load(back)
    changed = differing(state, fresh.state())
    require(not changed, f"loading the state and saving it again changed {', '.join(changed)}")
