"""Methods named by file: `my_method.py` or `my_method.py:key=value` wherever a method is named on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from callup.core.errors import InputError, UsageError


def by_name(specs: Iterable[str]) -> list[str]:
    """The same with files replaced by the names of the methods they add; workers will know them too."""
    return [name for spec in specs for name in _names(spec)]


def _names(spec: str) -> list[str]:
    from callup.core import plugins
    from callup.core.catalogue import SELECTORS

    file, colon, rest = spec.partition(":")
    if not file.endswith(".py"):
        return [spec]
    SELECTORS.cards()  # Callup's own first, so that a name that is taken is the file's mistake
    module = plugins.load(Path(file))
    found = [card.name for card in SELECTORS.cards() if card.cls.__module__ == module]
    if not found:
        raise InputError(f"{file} adds no selector; decorate a class with @SELECTORS.add('name'), or see callup new")
    if colon and len(found) > 1:
        raise UsageError(f"{file} adds {', '.join(found)}; name the one that '{rest}' is for, after --plugin {file}")
    plugins.share(Path(file))
    return [f"{name}{colon}{rest}" for name in found]
