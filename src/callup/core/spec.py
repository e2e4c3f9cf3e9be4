"""`name:key=value,key=value` as people type it, and values checked against the types of a dataclass's fields."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from callup.core.errors import UsageError, suggest


def parse_spec(text: str) -> tuple[str, list[str], dict[str, str]]:
    """`"oort:fedscale,alpha=2"` is the name, the bare words (presets) and the `key=value` pairs."""
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"expected name:key=value,..., got {text!r}")
    name, colon, rest = text.strip().partition(":")
    words: list[str] = []
    pairs: dict[str, str] = {}
    for part in rest.split(",") if colon else []:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not key or (equals and not value):
            raise UsageError(f"cannot read '{part}' in '{text}': expected name:key=value,key=value")
        if equals and key in pairs:
            raise UsageError(f"'{key}' is given twice in '{text}'")
        if equals:
            pairs[key] = value
        else:
            words.append(key)
    return name.strip(), words, pairs


def build(cls: type, owner: str, given: Mapping[str, Any]) -> Any:
    """An instance of a dataclass from named values, each checked and, where it is text, converted."""
    hints = field_types(cls)
    values = {}
    for key, value in given.items():
        if key not in hints:
            raise UsageError(f"{owner} has no parameter '{key}'{suggest(key, hints)}")
        values[key] = coerce(value, hints[key], f"{owner}: {key}")
    missing = [f.name for f in dataclasses.fields(cls) if f.init and _required(f) and f.name not in values]
    if missing:
        raise UsageError(f"{owner} needs a value for '{missing[0]}', e.g. {owner}:{missing[0]}=...")
    return cls(**values)


@functools.cache
def field_types(cls: type) -> dict[str, Any]:
    """Parameter name to type, for the fields a caller may set."""
    hints = typing.get_type_hints(cls)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls) if f.init}


def coerce(value: Any, kind: Any, what: str) -> Any:
    """The value as this type, or a UsageError that names the parameter, the value and what would do."""
    done, result = _attempt(value, kind)
    if not done:
        raise UsageError(f"{what} must be {describe(kind)}, got {value!r}")
    return result


def describe(kind: Any) -> str:
    """A type in words, for messages and method pages."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return " or ".join(f"'{a}'" if isinstance(a, str) else str(a) for a in args)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(describe(a) for a in args if a is not type(None)) + (
            " or none" if type(None) in args else ""
        )
    if origin is tuple:
        return f"a list of {describe(args[0])}" if args else "a list"
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    return words.get(kind, getattr(kind, "__name__", str(kind)))


def _attempt(value: Any, kind: Any) -> tuple[bool, Any]:
    """Whether the value can be read as this type, and what it then is."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return _first((value == a or value == str(a), a) for a in args)
    if origin in (typing.Union, types.UnionType):
        # Text is the loosest reading, so it is tried last: "3" is a number where a number will do.
        return _first(_attempt(value, a) for a in sorted(args, key=lambda a: a is str))
    if origin is tuple and args:
        items = value.split("/") if isinstance(value, str) else value if isinstance(value, (list, tuple)) else [value]
        read = [_attempt(item, args[0]) for item in items]
        return all(ok for ok, _ in read), tuple(item for _, item in read)
    if kind in _READERS:
        return _READERS[kind](value)
    return not isinstance(kind, type) or isinstance(value, kind), value


def _first(readings: Iterable[tuple[bool, Any]]) -> tuple[bool, Any]:
    return next((reading for reading in readings if reading[0]), (False, None))


def _none(value: Any) -> tuple[bool, Any]:
    return value is None or (isinstance(value, str) and value.lower() == "none"), None


def _bool(value: Any) -> tuple[bool, Any]:
    if isinstance(value, str):
        word = value.lower()
        return word in ("true", "yes", "on", "1", "false", "no", "off", "0"), word in ("true", "yes", "on", "1")
    return isinstance(value, bool), value


def _int(value: Any) -> tuple[bool, Any]:
    if isinstance(value, str):
        try:
            return True, int(value)
        except ValueError:
            return False, None
    ok = hasattr(value, "__index__") and not isinstance(value, bool)
    return ok, int(value) if ok else None


def _float(value: Any) -> tuple[bool, Any]:
    if isinstance(value, bool):
        return False, None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False, None
    return number == number, number  # NaN is never a setting


def _str(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value


_READERS: dict[Any, Callable[[Any], tuple[bool, Any]]] = {
    type(None): _none,
    bool: _bool,
    int: _int,
    float: _float,
    str: _str,
}


def _required(f: dataclasses.Field[Any]) -> bool:
    return f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
