"""State is saved, loaded and refused; `ask` stops a selector that breaks the contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from callup.core.clients import Clients
from callup.core.errors import ContractError, InputError, UsageError
from callup.core.per_client import PerClient
from callup.core.randomness import stream
from callup.core.registry import Registry
from callup.core.selector import Selector
from callup.core.types import Plan, Round, Selection
from callup.core.verify import ask
from callup.testing.compare import same

NAMES: Registry[Selector] = Registry("selector", __name__)
CLIENTS = Clients([2, 5, 9, 10**12])


@NAMES.add("scripted")
@dataclass(repr=False)
class Scripted(Selector):
    """Names whom it is told to name."""

    names: tuple[int, ...] = ()
    d: int = 3

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.calls_ = PerClient()
        self.calls_.set(np.array([5]), 2.0)
        self.rows_ = np.eye(2)
        self.round_, self.rate_, self.warm_ = 4, 0.5, True

    def select(self, now: Round, k: int) -> Selection:
        return Selection(np.array(self.names, np.int64))


@NAMES.add("everyone", takes_everyone=True)
@dataclass(repr=False)
class Everyone(Scripted):
    """Takes everyone."""


@NAMES.add("repeating", with_replacement=True)
@dataclass(repr=False)
class Repeating(Scripted):
    """May name fewer."""


@NAMES.add("limited", max_clients=3)
@dataclass(repr=False)
class Limited(Scripted):
    """Too few for these clients."""


def started() -> Scripted:
    selector = Scripted()
    selector.start(CLIENTS, Plan(2), stream(0))
    return selector


def now(*available: int) -> Round:
    return Round(1, np.array(available or CLIENTS.ids, np.int64), CLIENTS, stream(0))


def test_state_is_every_attribute_with_an_underscore() -> None:
    state = started().state()
    assert sorted(state) == [
        "calls_.default",
        "calls_.ids",
        "calls_.values",
        "rate_",
        "round_",
        "rows_",
        "schema",
        "warm_",
    ]
    assert all(isinstance(array, np.ndarray) for array in state.values())


def test_state_comes_back_with_its_types() -> None:
    saved, other = started().state(), Scripted()
    other.load(saved)
    assert same(other.state(), saved)
    assert (other.round_, other.rate_, other.warm_) == (4, 0.5, True)
    assert [type(v) for v in (other.round_, other.rate_, other.warm_)] == [int, float, bool]
    assert other.calls_.get(np.array([2, 5])).tolist() == [0, 2]
    saved["rows_"][:] = 9
    assert other.rows_.tolist() == [[1, 0], [0, 1]]


def test_a_saved_state_is_no_window() -> None:
    selector = started()
    saved = selector.state()
    selector.rows_[:] = 9
    selector.calls_.set(np.array([5]), 9.0)
    assert same(saved, started().state())


def test_loading_leaves_nothing_of_before() -> None:
    other = started()
    other.extra_ = 1
    other.load(started().state())
    assert same(other.state(), started().state())
    assert not hasattr(other, "extra_")


def test_start_forgets_all_state() -> None:
    selector = started()
    selector.extra_ = 1
    selector.start(CLIENTS, Plan(2), stream(0))
    assert not hasattr(selector, "extra_")


@pytest.mark.parametrize(
    "damage, sentence",
    [
        ({"schema": np.array(2)}, "Scripted reads state schema 1, this one has 2"),
        ({"schema": np.array([1, 1])}, r"Scripted reads state schema 1, this one has \[1, 1\]"),
        ({"schema": None}, "this one has None"),
        ({"d": np.array(7)}, "'d' is not a state name"),
        ({"calls_.values": None}, "damaged per-client state: no 'values'"),
        ({"calls_.ids": None}, "damaged per-client state: no 'ids'"),
        ({"calls_.ids": np.array([5, 5])}, "damaged per-client state"),
        ({"other_.default": np.array(0.0)}, "damaged per-client state: no 'ids'"),
    ],
)
def test_a_state_that_cannot_be_read_changes_nothing(damage: dict[str, Any], sentence: str) -> None:
    selector, good = started(), started().state()
    bad = {name: array for name, array in {**good, **damage}.items() if array is not None}
    with pytest.raises(InputError, match=sentence):
        selector.load(bad)
    assert same(selector.state(), good)
    assert selector.d == 3


def test_a_selector_shows_what_differs_from_its_defaults() -> None:
    assert repr(Scripted()) == "Scripted()"
    assert repr(Scripted((5,), d=4)) == "Scripted(names=(5,), d=4)"


def test_a_sound_choice_passes() -> None:
    assert ask(Scripted((9, 2)), now(), 2).ids.tolist() == [9, 2]
    assert ask(Scripted((9,)), now(9), 3).ids.tolist() == [9]
    assert ask(Everyone((2, 5, 9)), now(2, 5, 9), 1).ids.tolist() == [2, 5, 9]
    assert ask(Repeating((5,)), now(), 3).ids.tolist() == [5]


def test_nobody_is_asked_when_nobody_is_online() -> None:
    nobody = Round(1, np.empty(0, np.int64), CLIENTS, stream(0))
    assert len(ask(Scripted((9, 2)), nobody, 2).ids) == 0


@pytest.mark.parametrize(
    "selector, available, k, sentence",
    [
        (Scripted((9,)), (), 2, "scripted chose 1 clients in round 1, expected 2"),
        (Scripted((9, 2, 5)), (), 2, "scripted chose 3 clients in round 1, expected 2"),
        (Scripted((9, 2)), (2, 5), 2, "scripted chose client 9, which is not available in round 1"),
        (Scripted((7,)), (), 1, "scripted chose client 7, which is not available"),
        (Everyone((2,)), (2, 5), 1, "everyone chose 1 clients in round 1, expected 2"),
        (Repeating(()), (), 2, "repeating chose 0 clients in round 1, expected 2"),
        (Repeating((2, 5, 9)), (), 2, "repeating chose 3 clients in round 1, expected 2"),
    ],
)
def test_a_broken_choice_is_stopped(selector: Selector, available: tuple[int, ...], k: int, sentence: str) -> None:
    with pytest.raises(ContractError) as caught:
        ask(selector, now(*available), k)
    assert sentence in str(caught.value)


def test_too_many_clients_are_refused_by_name() -> None:
    with pytest.raises(InputError, match="limited is made for up to 3 clients, this federation has 4"):
        ask(Limited((9,)), now(), 1)


@pytest.mark.parametrize("k", [0, -3, 1.5, True])
def test_a_k_that_makes_no_sense_is_refused(k: Any) -> None:
    with pytest.raises(UsageError, match="k must be a whole number of at least 1"):
        ask(Scripted((9,)), now(), k)
