"""What averages and filters must both do with their memory; `play` is what one of them gives in some rounds."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from callup.core.randomness import stream
from callup.core.selector import Method
from callup.core.types import Plan
from callup.testing.compare import differing, parameters, same
from callup.testing.driver import HORIZON, blaming
from callup.testing.federation import Federation
from callup.testing.registry import require
from callup.testing.replies import profile
from callup.testing.saved import check_round_trip, check_saved, through_bytes

Rule = TypeVar("Rule", bound=Method)
Play = Callable[[Rule, range], list[np.ndarray]]

WORLD = Federation.of(12)
ROUNDS = range(1, 6)


def begun(make: Callable[[], Rule], seed: int = 0) -> Rule:
    """A rule at the start of a run."""
    with blaming("it cannot be made and started"):
        made = make()
        made.start(profile(WORLD), Plan(4, HORIZON, WORLD.classes), stream(seed, "start"))
    return made


def check_memory(make: Callable[[], Rule], play: Play[Rule]) -> None:
    """All that is learned is in the state; a resumed run goes on as if it had never stopped."""
    rule = begun(make)
    before = copy.deepcopy(parameters(rule))
    whole = play(rule, ROUNDS)
    changed = differing(before, parameters(rule))
    require(not changed, f"changed its hyper-parameter {', '.join(changed)}; what moves is state and ends in '_'")
    fields = {f.name for f in dataclasses.fields(rule)}  # type: ignore[arg-type]
    loose = [name for name in vars(rule) if name not in fields and not name.endswith("_")]
    require(not loose, f"keeps '{', '.join(loose)}', which is neither a field nor state: state ends in '_'")
    for cut in range(len(ROUNDS)):
        saver, other = begun(make), make()
        play(saver, ROUNDS[:cut])
        check_saved(saver, saver.state())
        check_round_trip(saver.state(), make())
        other.load(through_bytes(saver.state()))
        require(same(play(other, ROUNDS[cut:]), whole[cut:]), f"resumed after round {cut} it gives something else")
    rule.start(profile(WORLD), Plan(4, HORIZON, WORLD.classes), stream(0, "start"))
    changed = differing(begun(make).state(), rule.state())
    require(not changed, f"a new start keeps {', '.join(changed)} from the run before")
    require(same(play(rule, ROUNDS), whole), "after a new start it gives something else")
