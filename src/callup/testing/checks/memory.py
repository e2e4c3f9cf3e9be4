"""What is learned: in `update` alone, all of it saved, all of it forgotten by a new start."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np

from callup.core.errors import InputError
from callup.core.selector import Arrays
from callup.testing.checks.base import ROUNDS, SMALL, most_online, most_reply, selector_checks
from callup.testing.compare import cohorts, differing, parameters
from callup.testing.driver import Driver, Make, blaming, drivers
from callup.testing.registry import require
from callup.testing.saved import check_round_trip, check_saved, through_bytes


@selector_checks.add
def learns_nothing_in_select(make: Make) -> None:
    """`select` looks: the saved state and every attribute are the same before and after."""
    for driver in drivers(make, SMALL, replies=most_reply):
        driver.start()
        for index in ROUNDS:
            state, attributes = _saved(driver), copy.deepcopy(vars(driver.selector))
            selection = driver.select(index)
            changed = differing(attributes, vars(driver.selector)) or differing(state, _saved(driver))
            require(not changed, f"select changed {', '.join(changed)} in round {index}; learning belongs in update")
            driver.update(driver.feedback(index, selection))


@selector_checks.add
def never_changes_hyper_parameters(make: Make) -> None:
    """Fields are what the user set; whatever moves is state."""
    for driver in drivers(make, SMALL):
        before = copy.deepcopy(parameters(driver.selector))
        driver.start().play(ROUNDS)
        changed = differing(before, parameters(driver.selector))
        require(not changed, f"changed its hyper-parameter {', '.join(changed)}; what moves is state and ends in '_'")


@selector_checks.add
def keeps_everything_in_state(make: Make) -> None:
    """Every attribute is a field or ends in `_`, so that nothing is lost when a run is resumed."""
    for driver in drivers(make, SMALL):
        driver.start().play(ROUNDS)
        fields = {f.name for f in dataclasses.fields(driver.selector)}  # type: ignore[arg-type]
        loose = [name for name in vars(driver.selector) if name not in fields and not name.endswith("_")]
        require(not loose, f"keeps '{', '.join(loose)}', which is neither a field nor state: state ends in '_'")


@selector_checks.add
def saves_its_state_as_arrays(make: Make) -> None:
    """Named arrays of numbers that survive the file, are no window into the object, and load to the same state."""
    for driver in drivers(make, SMALL, replies=most_reply):
        driver.start().play(range(1, 4))
        state = _saved(driver)
        check_saved(driver.selector, state)
        check_round_trip(state, make())
        kept = copy.deepcopy(state)
        driver.play(range(4, 7))
        changed = differing(kept, state)
        require(not changed, f"a state saved earlier changed later: {', '.join(changed)} must be copied")


@selector_checks.add
def resumes_as_if_never_stopped(make: Make) -> None:
    """From a state saved after any round, a new object and a used one go on exactly as the first would have."""
    rounds = range(1, 9)
    for driver in drivers(make, SMALL, online=most_online, replies=most_reply):
        whole = cohorts(driver.start().play(rounds))
        saver = driver.twin(make).start()
        for cut in range(len(rounds)):
            if cut in (0, 1, 4, 7):
                used = driver.twin(make, seed=1).start()
                used.play(range(1, 4))
                for name, other in (("a new object", driver.twin(make)), ("a used object", used)):
                    with blaming("load refuses the selector's own state"):
                        other.selector.load(through_bytes(_saved(saver)))
                    rest = cohorts(driver.twin(make, selector=other.selector).play(rounds[cut:]))
                    require(rest == whole[cut:], f"{name} resumed after round {cut} names other clients")
            saver.play(rounds[cut : cut + 1])


@selector_checks.add
def forgets_at_a_new_start(make: Make) -> None:
    """`start` begins afresh, also in another federation with other clients and classes."""
    other = dataclasses.replace(SMALL.with_ids(range(3, 15)), classes=3)
    for world in (SMALL, other):
        for driver in drivers(make, SMALL):
            driver.start().play(ROUNDS)
            again = driver.twin(make, selector=driver.selector, world=world).start()
            fresh = driver.twin(make, world=world).start()
            changed = differing(_saved(fresh), _saved(again))
            require(not changed, f"a new start keeps {', '.join(changed)} from the run before")
            same_choices = cohorts(again.play(ROUNDS)) == cohorts(fresh.play(ROUNDS))
            require(same_choices, "after a new start it chooses as if it remembered the run before")


@selector_checks.add
def refuses_a_state_it_cannot_read(make: Make) -> None:
    """A state of another schema, or with names or parts that make no sense, is refused and changes nothing."""
    for driver in drivers(make, SMALL):
        driver.start().play(range(1, 4))
        state = _saved(driver)
        other_schema = {**state, "schema": np.array(int(state["schema"]) + 1)}
        no_schema = {name: array for name, array in state.items() if name != "schema"}
        strange = {**state, "hyper": np.zeros(3)}
        torn = {**state, "torn_.ids": np.zeros((2, 2))}
        for what, damaged in (
            ("of another schema", other_schema),
            ("without a schema", no_schema),
            ("with a name that is no state", strange),
            ("with torn per-client state", torn),
        ):
            try:
                driver.selector.load(damaged)
            except InputError:
                pass
            except Exception as error:
                raise AssertionError(
                    f"a state {what} gives {type(error).__name__}: {error}; expected an InputError"
                ) from error
            else:
                raise AssertionError(f"loads a state {what} without a word")
            changed = differing(state, _saved(driver))
            require(not changed, f"refusing a state {what} changed {', '.join(changed)}")


def _saved(driver: Driver) -> Arrays:
    with blaming("state() fails"):
        return driver.selector.state()
