"""The list of checks: a decorator adds one, and they are kept in the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Made = TypeVar("Made")
C = TypeVar("C", bound=Callable[..., None])


class Checks(Generic[Made]):
    """Checks for one kind of method. A check takes a function that makes the method, and raises AssertionError.

    `for name, check in checks` and `for name, check in checks()` are the same.
    """

    def __init__(self) -> None:
        self._checks: dict[str, Callable[[Callable[[], Made]], None]] = {}

    def add(self, check: C) -> C:
        """A decorator; the name of the function is the rule, its docstring what the rule means."""
        self._checks[check.__name__] = check
        return check

    def __iter__(self) -> Iterator[tuple[str, Callable[[Callable[[], Made]], None]]]:
        return iter(self._checks.items())

    __call__ = __iter__

    def run(self, make: Callable[[], Made]) -> None:
        """All checks; every rule that is broken is named, not the first alone."""
        broken = []
        for name, check in self:
            try:
                check(make)
            except AssertionError as failure:
                broken.append(f"{name}: {failure}")
        require(not broken, "\n".join(broken))


def require(holds: bool, sentence: str) -> None:
    """An assertion that also stands when Python runs with -O."""
    if not holds:
        raise AssertionError(sentence)
