"""Vectors of eight numbers in the compiler's own language: what the kernels' inner loops are written in.

Eight samples lie next to each other in memory, so one instruction treats all eight.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

LANES = 8
"""Samples side by side: one vector of 256 bits."""
VECTOR = ir.VectorType(ir.FloatType(), LANES)
WHOLE = ir.VectorType(ir.IntType(32), LANES)
ZERO = ir.Constant(VECTOR, [0.0] * LANES)
INDEX = ir.IntType(64)


@cache
def sources() -> str:
    """Changes with any file here. A kernel that names it is compiled anew when its inner loops change.

    Compiled kernels are kept on disk, and numba looks for changes only in the file that a kernel is written in.
    """
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def zeros(shape: tuple[int, ...], kind: Any = np.float32) -> np.ndarray:
    """Memory that starts where a line of the cache does, so that no vector lies across two."""
    size, line = math.prod(shape) * np.dtype(kind).itemsize, 64
    memory = np.zeros(size + line, np.uint8)
    start = -memory.ctypes.data % line
    return np.asarray(memory[start : start + size].view(kind).reshape(shape))


def given(context: Any, build: Any, signature: Any, args: Any) -> tuple[list[Any], list[Any]]:
    """Where the numbers of each array argument start, and the other arguments as they are."""
    pairs = list(zip(signature.args, args, strict=True))
    arrays = [
        context.make_array(kind)(context, build, arg).data for kind, arg in pairs if isinstance(kind, types.Array)
    ]
    return arrays, [arg for kind, arg in pairs if not isinstance(kind, types.Array)]


def loop(build: Any, times: Any, sums: list[Any], body: Callable[[Any, list[Any]], list[Any]]) -> list[Any]:
    """Runs the body with the sums as they are, and hands on the sums as it leaves them."""
    before, inside, after = build.block, build.append_basic_block("steps"), build.append_basic_block("done")
    build.cbranch(build.icmp_signed(">", times, number(0)), inside, after)
    build.position_at_end(inside)
    i = build.phi(INDEX)
    carried = [build.phi(VECTOR) for _ in sums]
    # Nothing read in one step may be kept for the next: the compiler would, and run out of registers for the sums.
    build.asm(ir.FunctionType(ir.VoidType(), []), "", "~{memory}", [], True)
    results = body(i, carried)
    end, following = build.block, build.add(i, number(1))
    build.cbranch(build.icmp_signed("<", following, times), inside, after)
    build.position_at_end(after)
    final = [build.phi(VECTOR) for _ in sums]
    for value, start, then in [(i, number(0), following), *zip(carried, sums, results, strict=True)]:
        value.add_incoming(start, before)
        value.add_incoming(then, end)
    for value, start, then in zip(final, sums, results, strict=True):
        value.add_incoming(start, before)
        value.add_incoming(then, end)
    return final


def number(value: int) -> Any:
    return ir.Constant(INDEX, value)


def load(build: Any, data: Any, at: Any, kind: Any = VECTOR) -> Any:
    return build.load(build.bitcast(build.gep(data, [at]), kind.as_pointer()), align=4)


def store(build: Any, value: Any, data: Any, at: Any) -> None:
    build.store(value, build.bitcast(build.gep(data, [at]), value.type.as_pointer()), align=4)


def multiply_add(build: Any, one: Any, other: Any, total: Any) -> Any:
    """one * other + total, rounded once."""
    kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
    fused = cgutils.get_or_insert_function(build.module, kind, f"llvm.fma.v{LANES}f32")
    return build.call(fused, [one, other, total])


def fill(build: Any, value: Any) -> Any:
    """The same number in all lanes."""
    lane = ir.IntType(32)
    first = build.insert_element(ir.Constant(VECTOR, ir.Undefined), value, ir.Constant(lane, 0))
    everywhere = ir.Constant(WHOLE, [0] * LANES)
    return build.shuffle_vector(first, ir.Constant(VECTOR, ir.Undefined), everywhere)
