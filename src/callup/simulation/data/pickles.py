"""Pickles read as text, never run: names stay names, calls stay unmade, and unknown opcodes are refused.

CIFAR-10's "python version" is a pickle. Unpickling it would run whatever the file says; here the opcodes are only
parsed, and the result is plain containers in which a call is a `Call` that nobody makes.
"""

from __future__ import annotations

import pickletools
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Name:
    """A function or class the pickle refers to, as "module.name"."""

    path: str


@dataclass
class Call:
    """A call the pickle asks for, and the state it would then set; neither happens."""

    function: Any
    arguments: Any
    state: Any = None


_MARK = object()
_LITERALS = ("BININT", "BININT1", "BININT2", "BINSTRING", "SHORT_BINSTRING")
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY: dict[str, type] = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def parse_pickle(content: bytes) -> Any:
    """What a pickle of protocol 2, as Python 2 wrote them, describes; its byte strings come as latin-1 text.

    Anything else is a ValueError.
    """
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for opcode, argument, _ in pickletools.genops(content):
            if opcode.name == "STOP":
                return stack.pop()
            _step(opcode.name, argument, stack, memo)
    except (IndexError, KeyError, AttributeError) as error:
        # What a broken stream does to a parser: a missing operand, an unknown memo, an append to a number.
        raise ValueError(f"broken pickle: {error}") from error
    raise ValueError("pickle without an end")


def _step(name: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    """One opcode on the stack; `pickletools` describes what each means."""
    if name in _LITERALS:
        stack.append(argument)
    elif name in _CONSTANTS:
        stack.append(_CONSTANTS[name])
    elif name in _EMPTY:
        stack.append(_EMPTY[name]())
    elif name == "MARK":
        stack.append(_MARK)
    elif name in ("BINPUT", "LONG_BINPUT"):
        memo[argument] = stack[-1]
    elif name in ("BINGET", "LONG_BINGET"):
        stack.append(memo[argument])
    elif name in _TUPLES:
        stack.append(tuple(_last(stack, _TUPLES[name])))
    elif name == "TUPLE":
        stack.append(tuple(_since_mark(stack)))
    elif name in ("APPEND", "APPENDS"):
        items = _since_mark(stack) if name == "APPENDS" else _last(stack, 1)
        stack[-1].extend(items)
    elif name in ("SETITEM", "SETITEMS"):
        items = _since_mark(stack) if name == "SETITEMS" else _last(stack, 2)
        stack[-1].update(_pairs(items))
    elif name == "GLOBAL":
        stack.append(Name(argument.replace(" ", ".")))
    elif name == "REDUCE":
        stack.append(Call(*_last(stack, 2)))
    elif name == "BUILD":
        (state,) = _last(stack, 1)
        stack[-1].state = state
    elif name != "PROTO":
        raise ValueError(f"opcode {name} has no place in it")


def _last(stack: list[Any], count: int) -> list[Any]:
    """The topmost values, taken off."""
    if len(stack) < count:
        raise IndexError("a value is missing")
    items = stack[-count:]
    del stack[-count:]
    return items


def _since_mark(stack: list[Any]) -> list[Any]:
    """Everything above the topmost mark, taken off together with it."""
    for above, value in enumerate(reversed(stack)):
        if value is _MARK:
            items = _last(stack, above) if above else []
            stack.pop()
            return items
    raise IndexError("a mark is missing")


def _pairs(items: list[Any]) -> dict[str, Any]:
    """Keys and values in turn; only text may be a key, as hashing anything deeper could be made to overflow."""
    if not all(isinstance(key, str) for key in items[::2]):
        raise ValueError("a key is not text")
    return dict(zip(items[::2], items[1::2], strict=True))
