"""Inner loops that keep a block of results in registers: what makes a small convolution as fast as a large product.

A pixel of eight samples is one vector, so a convolution needs no copying about. Plain loops leave the block to the
compiler, which writes every partial sum to memory; here the block is spelled out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from numba import types
from numba.extending import intrinsic

from callup.simulation.backends.compiled.vectors import (
    INDEX,
    LANES,
    ZERO,
    fill,
    given,
    load,
    loop,
    multiply_add,
    number,
    store,
)

_REGISTERS = 16


def block(rows: Sequence[int], columns: Sequence[int]) -> tuple[int, int]:
    """The best block (rows, columns) out of these: few loads for each multiplication, and all of it in registers.

    A step loads every row and every column once. Below eight sums the machine waits for its own results.
    """

    def cost(size: tuple[int, int]) -> tuple[bool, float, int]:
        products = size[0] * size[1]
        spills = products + size[1] + 1 > _REGISTERS
        return spills, max(products, sum(size) + 2, 8) / products, -products

    return min(((row, column) for row in rows for column in columns), key=cost)


def divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def weigh(
    _: Any, rows: Any, columns: Any, out: Any, out_at: Any, apart: Any,
    x: Any, x_at: Any, x_steps: Any, w: Any, w_at: Any, w_steps: Any, first: Any, last: Any,
) -> Any:  # fmt: skip
    """out[row, column] = sum over steps of w[row] * x[column]: neighbouring pixels times the weights of some filters.

    A step's pixels start at x_at + x_steps[step], its weights at w_at + w_steps[step]; rows of the result are
    `apart` numbers apart.
    """
    kinds = types.void(rows, columns, out, out_at, apart, x, x_at, x_steps, w, w_at, w_steps, first, last)
    height, width = rows.literal_value, columns.literal_value

    def generate(context: Any, build: Any, signature: Any, args: Any) -> Any:
        (out, x, x_steps, w, w_steps), numbers = given(context, build, signature, args)
        _, _, out_at, apart, x_at, w_at, first, last = numbers
        pixels, weights = build.gep(x, [x_at]), build.gep(w, [w_at])

        def step(i: Any, sums: list[Any]) -> list[Any]:
            at = build.add(first, i)
            x_now = build.gep(pixels, [build.zext(build.load(build.gep(x_steps, [at])), INDEX)])
            w_now = build.gep(weights, [build.zext(build.load(build.gep(w_steps, [at])), INDEX)])
            across = [load(build, x_now, number(LANES * column)) for column in range(width)]
            down = (fill(build, build.load(build.gep(w_now, [number(row)]))) for row in range(height))
            return _outer(build, down, across, sums)

        for place, total in enumerate(loop(build, build.sub(last, first), [ZERO] * (height * width), step)):
            row, column = divmod(place, width)
            start = build.add(out_at, build.mul(apart, number(row)))
            store(build, total, out, build.add(start, number(LANES * column)))
        return context.get_dummy_value()

    return kinds, generate


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def correlate(
    _: Any, rows: Any, columns: Any, sums: Any, sums_at: Any, error: Any, error_at: Any, apart: Any,
    error_line: Any, x: Any, x_at: Any, x_line: Any, lines: Any, length: Any,
) -> Any:  # fmt: skip
    """sums[row, column] += error[row] * x[moved by column], over all pixels: how some filters' weights should change.

    The channels of `error` are `apart` numbers apart; both pictures are walked line by line. Lanes are summed apart.
    """
    kinds = types.void(
        rows, columns, sums, sums_at, error, error_at, apart, error_line, x, x_at, x_line, lines, length
    )  # fmt: skip
    height, width = rows.literal_value, columns.literal_value

    def generate(context: Any, build: Any, signature: Any, args: Any) -> Any:
        (sums, error, x), numbers = given(context, build, signature, args)
        _, _, sums_at, error_at, apart, error_line, x_at, x_line, lines, length = numbers

        def line(count: Any, totals: list[Any]) -> list[Any]:
            errors = build.gep(error, [build.add(error_at, build.mul(count, error_line))])
            pixels = build.gep(x, [build.add(x_at, build.mul(count, x_line))])

            def pixel(i: Any, totals: list[Any]) -> list[Any]:
                here = build.mul(i, number(LANES))
                moved = [load(build, pixels, build.add(here, number(LANES * n))) for n in range(width)]
                pulls = (load(build, errors, build.add(here, build.mul(apart, number(n)))) for n in range(height))
                return _outer(build, pulls, moved, totals)

            return loop(build, length, totals, pixel)

        for place, total in enumerate(loop(build, lines, [ZERO] * (height * width), line)):
            at = build.add(sums_at, number(LANES * place))
            store(build, build.fadd(total, load(build, sums, at)), sums, at)
        return context.get_dummy_value()

    return kinds, generate


def _outer(build: Any, down: Iterator[Any], across: list[Any], sums: list[Any]) -> list[Any]:
    """Each row times each column, added to the sums. A row is loaded when its turn comes: it needs one register."""
    before = iter(sums)
    return [multiply_add(build, row, column, next(before)) for row in down for column in across]
