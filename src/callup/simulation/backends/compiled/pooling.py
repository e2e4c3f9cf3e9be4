"""Pooling of 2 x 2 with ReLU, one line of pictures at a time and without branches, eight samples at once."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from callup.simulation.backends.compiled.vectors import (
    LANES,
    WHOLE,
    ZERO,
    fill,
    given,
    load,
    loop,
    number,
    store,
)


@intrinsic  # type: ignore[untyped-decorator]
def pool_line(
    _: Any, raw: Any, raw_at: Any, line: Any, biases: Any, channel: Any, pooled: Any, winner: Any, at: Any, width: Any
) -> Any:  # fmt: skip
    """The largest of each four plus the bias, and which it was: the first of equals, as torch has it.

    Where ReLU lets nothing through that is -1. A NaN stays one.
    """
    kinds = types.void(raw, raw_at, line, biases, channel, pooled, winner, at, width)

    def generate(context: Any, build: Any, signature: Any, args: Any) -> Any:
        (raw, biases, pooled, winner), numbers = given(context, build, signature, args)
        raw_at, line, channel, at, width = numbers
        bias = fill(build, build.load(build.gep(biases, [channel])))

        def four(i: Any, _: list[Any]) -> list[Any]:
            top, to = build.add(raw_at, build.mul(i, number(2 * LANES))), build.add(at, build.mul(i, number(LANES)))
            best, which = load(build, raw, top), _each(0)
            for place in (1, 2, 3):
                other = load(build, raw, _corner(build, top, line, place))
                larger = build.fcmp_ordered(">", other, best)
                best, which = build.select(larger, other, best), build.select(larger, _each(place), which)
            best = build.fadd(best, bias)
            shut = build.fcmp_ordered("<=", best, ZERO)
            store(build, build.select(shut, ZERO, best), pooled, to)
            store(build, build.select(shut, _each(-1), which), winner, to)
            return []

        loop(build, width, [], four)
        return context.get_dummy_value()

    return kinds, generate


@intrinsic  # type: ignore[untyped-decorator]
def unpool_line(
    _: Any, error: Any, winner: Any, at: Any, errors: Any, errors_at: Any, line: Any,
    sums: Any, sums_at: Any, width: Any,
) -> Any:  # fmt: skip
    """Each error goes to the pixel that won, the other three get zero; the bias's share is added to its sums."""
    kinds = types.void(error, winner, at, errors, errors_at, line, sums, sums_at, width)

    def generate(context: Any, build: Any, signature: Any, args: Any) -> Any:
        (error, winner, errors, sums), numbers = given(context, build, signature, args)
        at, errors_at, line, sums_at, width = numbers

        def four(i: Any, totals: list[Any]) -> list[Any]:
            here, top = (
                build.add(at, build.mul(i, number(LANES))),
                build.add(errors_at, build.mul(i, number(2 * LANES))),
            )
            value, which = load(build, error, here), load(build, winner, here, WHOLE)
            for place in (0, 1, 2, 3):
                share = build.select(build.icmp_signed("==", which, _each(place)), value, ZERO)
                store(build, share, errors, _corner(build, top, line, place))
            return [build.fadd(totals[0], build.select(build.icmp_signed("<", which, _each(0)), ZERO, value))]

        [total] = loop(build, width, [load(build, sums, sums_at)], four)
        store(build, total, sums, sums_at)
        return context.get_dummy_value()

    return kinds, generate


def _each(value: int) -> Any:
    return ir.Constant(WHOLE, [value] * LANES)


def _corner(build: Any, top: Any, line: Any, place: int) -> Any:
    """Of a square of four: 0 and 1 above, 2 and 3 below."""
    below = build.add(top, line) if place >= 2 else top
    return build.add(below, number(LANES * (place % 2)))
