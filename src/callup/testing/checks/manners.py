"""Asks for what it declared, leaves what it is handed alone, and takes no nonsense."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.core.index import Ids
from callup.core.randomness import stream
from callup.core.types import Feedback, Plan, Signals
from callup.testing.checks.base import ROUNDS, SMALL, most_online, most_reply, selector_checks
from callup.testing.compare import differing
from callup.testing.driver import Driver, Make, drivers
from callup.testing.registry import require

_STRANGER = 10**6


@selector_checks.add
def asks_only_for_what_it_declared(make: Make) -> None:
    """Columns, probes and signals of replies outside `needs` are not there; whatever is optional may be missing."""
    for driver in drivers(make, SMALL, online=most_online, replies=most_reply):
        driver.start().play(ROUNDS)
        driver.move(SMALL.with_ids(range(5, 25)))
        driver.play(range(7, 9))


@selector_checks.add
def leaves_what_it_is_handed_alone(make: Make) -> None:
    """Neither `select` nor `update` writes to the table, the selection, the feedback or what was heard by probe."""
    for driver in drivers(make, SMALL, online=most_online, replies=most_reply):
        driver.start()
        for index in ROUNDS:
            table = copy.deepcopy(dict(driver.clients.columns))
            selection = driver.select(index)
            feedback = driver.feedback(index, selection)
            handed = {"selection": vars(selection), "feedback": _parts(feedback)}
            before = copy.deepcopy(handed)
            driver.update(feedback)
            changed = differing(before, handed) + differing(table, dict(driver.clients.columns))
            require(not changed, f"writes to {', '.join(changed)} that it was handed in round {index}")


@selector_checks.add
def refuses_a_report_that_lacks_a_signal_and_stays_as_it_was(make: Make) -> None:
    """A signal that is missing is noticed before anything is learned, from what was heard by probe too."""
    for driver in drivers(make, SMALL):
        driver.start()
        for index in (1, 2):
            selection = driver.select(index)
            whole = driver.feedback(index, selection)
            for name in whole.signals:
                lacking = copy.copy(whole)
                object.__setattr__(lacking, "signals", Signals((n, v) for n, v in whole.signals.items() if n != name))
                before = copy.deepcopy(driver.selector.state())
                twin = copy.deepcopy(driver.selector)
                try:
                    twin.update(lacking)
                except InputError:
                    changed = differing(before, twin.state())
                    require(not changed, f"lacking {name} it refused a report and yet changed {', '.join(changed)}")
            driver.update(whole)


@selector_checks.add
def refuses_bad_values_and_stays_as_it_was(make: Make) -> None:
    """NaN, infinite and negative values and unknown clients get a named error, and what was learned is unchanged."""
    for driver in drivers(make, SMALL):
        driver.start().play(range(1, 4))
        before = driver.selector.state()
        for word, attempt in _attempts(driver):
            try:
                attempt()
            except InputError as error:
                require(word in str(error), f"the error does not name {word}: {error}")
            else:
                raise AssertionError(f"takes a bad value of {word} without a word")
        changed = differing(before, driver.selector.state())
        require(not changed, f"refused input changed {', '.join(changed)}")


def _parts(feedback: Feedback) -> dict[str, object]:
    """Everything in the feedback but the generator, which is there to be drawn from."""
    names = ("index", "ids", "failed", "probed", "notes")
    return {name: getattr(feedback, name) for name in names} | {"signals": dict(feedback.signals)}


def _attempts(driver: Driver) -> Iterator[tuple[str, Callable[[], None]]]:
    """Bad input of every kind, each with the word its refusal must contain."""
    for ask in driver.asks:
        below = [] if ask.signal.lowest is None else [ask.signal.lowest - 1]
        for bad in [np.nan, np.inf, -np.inf, *below]:
            if ask.time == "profile":
                yield ask.signal.name, partial(_profile, driver, ask.signal.name, bad)
            elif ask.time != "probe":
                yield ask.signal.name, partial(_reply, driver, ask.signal.name, bad)
    yield str(_STRANGER), partial(_learn, driver, np.array([_STRANGER]), {})
    yield str(_STRANGER), partial(_learn, driver, np.empty(0, np.int64), {}, {_STRANGER: "no reply"})


def _profile(driver: Driver, name: str, bad: float) -> None:
    """A table in which one entry is bad never reaches the selector."""
    column = driver.world.column(name, driver.world.ids).copy()
    column.flat[-1] = bad
    clients = Clients(driver.world.ids, **{name: column})
    driver.selector.start(clients, Plan(driver.k), stream(0, "start"))


def _reply(driver: Driver, name: str, bad: float) -> None:
    """A round in which one client reports a bad value."""
    good = driver.feedback(4, driver.select(4))
    signals = {other: np.array(value, np.float64) for other, value in good.signals.items()}
    signals[name].flat[-1] = bad
    _learn(driver, good.ids, signals)


def _learn(driver: Driver, ids: Ids, signals: dict[str, np.ndarray], failed: dict[int, str] | None = None) -> None:
    driver.selector.update(Feedback(4, ids, signals, driver.clients, failed or {}))
