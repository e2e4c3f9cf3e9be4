"""Per-client state against a plain dictionary."""

from __future__ import annotations

import numpy as np
import pytest

from callup.core.errors import InputError
from callup.core.per_client import PerClient
from callup.core.randomness import stream
from callup.testing.compare import same


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("spread", [1, 10**11])
def test_it_behaves_like_a_dictionary(seed: int, spread: int) -> None:
    rng = stream(seed, "ops")
    state, plain = PerClient(7.0), {}
    for _ in range(200):
        ids = np.unique(rng.integers(0, 40, rng.integers(0, 8))) * spread
        rng.shuffle(ids)
        values = rng.normal(size=len(ids))
        match rng.integers(4):
            case 0:
                state.set(ids, values)
                plain |= dict(zip(ids.tolist(), values.tolist(), strict=True))
            case 1:
                twice = np.concatenate([ids, ids])
                state.add(twice, 1.5)
                plain |= {i: plain.get(i, 7.0) + 1.5 + 1.5 for i in ids.tolist()}
            case 2:
                state.forget(ids)
                plain = {i: value for i, value in plain.items() if i not in ids}
            case 3:
                assert state.get(ids).tolist() == [plain.get(i, 7.0) for i in ids.tolist()]
                assert state.knows(ids).tolist() == [i in plain for i in ids.tolist()]
        assert state.ids.tolist() == sorted(plain)
        assert state.values.tolist() == [plain[i] for i in sorted(plain)]


def test_rows_have_a_row_for_default() -> None:
    rows = PerClient(np.array([1.0, 2.0]))
    rows.add(np.array([5, 5]), np.array([[1.0, 0.0], [1.0, 1.0]]))
    assert rows.get(np.array([4, 5])).tolist() == [[1.0, 2.0], [3.0, 3.0]]
    rows.set(np.array([9, 2]), np.array([8.0, 9.0]))
    assert rows.get(np.array([2, 9])).tolist() == [[8.0, 9.0], [8.0, 9.0]]


def test_what_was_read_is_a_copy() -> None:
    state = PerClient()
    state.set(np.arange(3), 1.0)
    state.get(np.arange(3))[:] = 9
    state.state()["values"][:] = 9
    assert state.get(np.arange(3)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("act", ["set", "add"])
def test_values_that_do_not_fit_change_nothing(act: str) -> None:
    state = PerClient()
    state.set(np.array([1]), 3.0)
    with pytest.raises(InputError, match=r"must have shape \(2,\), got \(3,\)"):
        getattr(state, act)(np.array([1, 2]), np.zeros(3))
    assert (state.ids.tolist(), state.values.tolist()) == ([1], [3.0])


@pytest.mark.parametrize("default", [0.0, np.zeros(3)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_state_comes_back(default: float | np.ndarray, dtype: type) -> None:
    state = PerClient(default, dtype)
    state.set(np.array([10**12, 4]), 1)
    back = PerClient.from_state(state.state())
    assert same(back.state(), state.state())
    assert same(back.get(np.array([4, 5])), state.get(np.array([4, 5])))
    assert same(
        PerClient.from_state(PerClient(default, dtype).state()).get(np.array([1])),
        PerClient(default, dtype).get(np.array([1])),
    )


def damaged() -> list[tuple[str, dict[str, np.ndarray]]]:
    good = {"ids": np.array([1, 4]), "values": np.array([1.0, 2.0]), "default": np.array(0.0)}
    return [
        ("no ids", {k: v for k, v in good.items() if k != "ids"}),
        ("no values", {k: v for k, v in good.items() if k != "values"}),
        ("no default", {k: v for k, v in good.items() if k != "default"}),
        ("unsorted", good | {"ids": np.array([4, 1])}),
        ("repeated", good | {"ids": np.array([4, 4])}),
        ("short", good | {"values": np.array([1.0])}),
        ("another width", good | {"default": np.zeros(2)}),
        ("another type", good | {"values": np.array([1, 2])}),
        ("ids not whole", good | {"ids": np.array([1.0, 4.0])}),
        ("ids not flat", good | {"ids": np.array([[1, 4]])}),
    ]


@pytest.mark.parametrize("state", [pytest.param(state, id=name) for name, state in damaged()])
def test_damaged_state_is_refused(state: dict[str, np.ndarray]) -> None:
    with pytest.raises(InputError, match="damaged per-client state"):
        PerClient.from_state(state)
