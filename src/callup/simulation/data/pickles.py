"""Pickles read as text, never run: names stay names, calls stay unmade, and unknown opcodes are refused.

CIFAR-10's "python version" is a pickle. Unpickling it would run whatever the file says; here the opcodes are only
parsed, and the result is plain containers in which a call is a `Call` that nobody makes.
"""

from __future__ import annotations

import pickletools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callup.core.errors import InputError


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
_NUMBERS = {"BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "FLOAT", "BINFLOAT"}
_TEXTS = {"STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
_BYTES = {"BINBYTES", "SHORT_BINBYTES", "BINBYTES8"}
_LITERALS = _NUMBERS | _TEXTS | _BYTES
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY: dict[str, type] = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_PUT = ("PUT", "BINPUT", "LONG_BINPUT")
_GET = ("GET", "BINGET", "LONG_BINGET")


def parse_pickle(content: bytes, path: Path) -> Any:
    """What the pickle describes; byte strings of Python 2 come as text with one character for each byte."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for opcode, argument, _ in pickletools.genops(content):
            if opcode.name == "STOP":
                return stack.pop()
            _step(opcode.name, argument, stack, memo)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, UnicodeError) as error:
        # These are what a broken stream does to the parser: a missing operand, an unhashable key, a half-read string.
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: is a broken pickle ({error}); fetch it again") from error
    raise InputError(f"{path}: is a pickle without an end; fetch it again")


def _step(name: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    """One opcode on the stack; the comments of `pickletools` say what each means."""
    if name in ("PROTO", "FRAME"):
        return
    if name in _LITERALS:
        stack.append(argument)
    elif name in _CONSTANTS:
        stack.append(_CONSTANTS[name])
    elif name in _EMPTY:
        stack.append(_EMPTY[name]())
    elif name == "MARK":
        stack.append(_MARK)
    elif name in _PUT:
        memo[argument] = stack[-1]
    elif name == "MEMOIZE":
        memo[len(memo)] = stack[-1]
    elif name in _GET:
        stack.append(memo[argument])
    elif name in _TUPLES:
        stack[-_TUPLES[name] :] = [tuple(stack[-_TUPLES[name] :])]
    elif name in ("TUPLE", "LIST", "DICT"):
        items = _since_mark(stack)
        stack.append(tuple(items) if name == "TUPLE" else items if name == "LIST" else _pairs(items))
    elif name in ("APPEND", "APPENDS"):
        items = _since_mark(stack) if name == "APPENDS" else [stack.pop()]
        stack[-1].extend(items)
    elif name in ("SETITEM", "SETITEMS"):
        items = _since_mark(stack) if name == "SETITEMS" else [stack.pop(-2), stack.pop()]
        stack[-1].update(_pairs(items))
    elif name == "GLOBAL":
        stack.append(Name(argument.replace(" ", ".")))
    elif name == "STACK_GLOBAL":
        attribute, module = stack.pop(), stack.pop()
        stack.append(Name(f"{module}.{attribute}"))
    elif name == "REDUCE":
        arguments, function = stack.pop(), stack.pop()
        stack.append(Call(function, arguments))
    elif name == "BUILD":
        state = stack.pop()
        stack[-1].state = state
    else:
        raise ValueError(f"opcode {name} has no place in a file of data")


def _since_mark(stack: list[Any]) -> list[Any]:
    """Everything above the topmost mark, taken off together with it."""
    at = len(stack) - 1
    while stack[at] is not _MARK:
        at -= 1
        if at < 0:
            raise IndexError("no mark on the stack")
    items = stack[at + 1 :]
    del stack[at:]
    return items


def _pairs(items: list[Any]) -> dict[Any, Any]:
    return dict(zip(items[::2], items[1::2], strict=True))
