"""Specs as people type them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pytest

from callup.core.errors import UsageError
from callup.core.spec import build, coerce, describe, parse_spec


@dataclass
class Example:
    d: int = 20
    rate: float = 0.1
    kind: Literal["full", "stale"] = "full"
    on: bool = False
    cap: int | None = None
    sizes: tuple[int, ...] = (1, 2)
    label: str | float = "x"
    hidden: int = field(default=3, init=False)


@dataclass
class Demanding:
    d: int


@pytest.mark.parametrize(
    "text, expected",
    [
        ("random", ("random", [], {})),
        ("  oort : fedscale , alpha = 2 ", ("oort", ["fedscale"], {"alpha": "2"})),
        ("a:b=1,c=2/3,x", ("a", ["x"], {"b": "1", "c": "2/3"})),
        ("a:b=c=d", ("a", [], {"b": "c=d"})),
    ],
)
def test_a_spec_is_a_name_presets_and_pairs(text: str, expected: Any) -> None:
    assert parse_spec(text) == expected


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("", "expected name:key=value,..., got ''"),
        ("   ", "expected name:key=value"),
        (None, "expected name:key=value,..., got None"),
        ("a:", "cannot read '' in 'a:'"),
        ("a:b=1,", "cannot read ''"),
        ("a:=1", "cannot read '=1'"),
        ("a:b=", "cannot read 'b='"),
        ("a:b=1,b=2", "'b' is given twice"),
    ],
)
def test_a_spec_that_cannot_be_read_is_refused(text: Any, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_spec(text)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "given, expected",
    [
        ({"d": "7"}, {"d": 7}),
        ({"d": np.int64(7)}, {"d": 7}),
        ({"rate": "1e-3"}, {"rate": 0.001}),
        ({"rate": 2}, {"rate": 2.0}),
        ({"rate": "inf"}, {"rate": float("inf")}),
        ({"kind": "stale"}, {"kind": "stale"}),
        ({"on": "yes"}, {"on": True}),
        ({"on": "0"}, {"on": False}),
        ({"cap": "none"}, {"cap": None}),
        ({"cap": "5"}, {"cap": 5}),
        ({"sizes": "3/4/5"}, {"sizes": (3, 4, 5)}),
        ({"sizes": [3]}, {"sizes": (3,)}),
        ({"label": "3.5"}, {"label": 3.5}),
        ({"label": "word"}, {"label": "word"}),
    ],
)
def test_values_are_read_by_the_type_of_their_field(given: dict[str, Any], expected: dict[str, Any]) -> None:
    made = build(Example, "example", given)
    assert {name: getattr(made, name) for name in expected} == expected


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"d": "1.5"}, "example: d must be a whole number, got '1.5'"),
        ({"d": 1.0}, "example: d must be a whole number, got 1.0"),
        ({"d": True}, "example: d must be a whole number, got True"),
        ({"d": "many"}, "example: d must be a whole number, got 'many'"),
        ({"d": None}, "example: d must be a whole number, got None"),
        ({"rate": "nan"}, "example: rate must be a number, got 'nan'"),
        ({"rate": False}, "example: rate must be a number, got False"),
        ({"rate": [1]}, "example: rate must be a number, got [1]"),
        ({"kind": "fresh"}, "example: kind must be 'full' or 'stale', got 'fresh'"),
        ({"on": "maybe"}, "example: on must be true or false, got 'maybe'"),
        ({"on": 1}, "example: on must be true or false, got 1"),
        ({"cap": "few"}, "example: cap must be a whole number or none, got 'few'"),
        ({"sizes": "1/x"}, "example: sizes must be a list of a whole number, got '1/x'"),
        ({"raet": 1}, "example has no parameter 'raet'; did you mean 'rate'?"),
        ({"zzzz": 1}, "example has no parameter 'zzzz'; known: cap, d, kind, label, on, rate, sizes"),
        ({"hidden": 1}, "example has no parameter 'hidden'"),
    ],
)
def test_values_that_do_not_fit_are_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        build(Example, "example", given)
    assert sentence in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_parameter_without_default_must_be_given() -> None:
    with pytest.raises(UsageError, match=r"demanding needs a value for 'd', e.g. demanding:d="):
        build(Demanding, "demanding", {})
    assert build(Demanding, "demanding", {"d": "4"}).d == 4


def test_types_in_words() -> None:
    assert describe(Literal["a", 3]) == "'a' or 3"
    assert describe(int | str | None) == "a whole number or text or none"
    assert describe(tuple[float, ...]) == "a list of a number"


def test_a_ready_value_of_an_unusual_type_passes() -> None:
    assert coerce({"a": 1}, dict, "x") == {"a": 1}
    with pytest.raises(UsageError, match="x must be dict, got 3"):
        coerce(3, dict, "x")
