"""What every filter must do."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from callup.core.selector import Filter
from callup.core.types import Replies
from callup.testing.checks.card import builds_from_its_defaults_and_presets, has_a_complete_card
from callup.testing.compare import differing
from callup.testing.driver import blaming
from callup.testing.registry import Checks, require
from callup.testing.replies import LinearBench, made_up, ordered, start_model
from callup.testing.rules import ROUNDS, WORLD, begun, check_memory

MakeFilter = Callable[[], Filter]

filter_checks: Checks[Filter] = Checks()
filter_checks.add(has_a_complete_card)
filter_checks.add(builds_from_its_defaults_and_presets)

_MODEL = start_model()
_SOME = WORLD.ids[[1, 3, 4, 8, 11]]


def _kept(rule: Filter, replies: Replies) -> np.ndarray:
    with blaming(f"keep fails with {len(replies.ids)} replies"):
        mask = rule.keep(replies, LinearBench(replies))
    require(
        isinstance(mask, np.ndarray) and mask.dtype == bool, f"keep gives {type(mask)}, not a mask of true and false"
    )
    require(mask.shape == (len(replies.ids),), f"a mask of shape {mask.shape} for {len(replies.ids)} replies")
    return mask


def _play(rule: Filter, rounds: range) -> list[np.ndarray]:
    """Rounds with other clients each time; the average of those kept becomes the next model."""
    masks = []
    for index in rounds:
        replies = made_up(WORLD, WORLD.ids[index % 3 :: 3], _MODEL, index)
        masks.append(_kept(rule, replies))
        kept = masks[-1]
        with blaming(f"update fails in round {index}"):
            rule.update(replies, kept, replies.models[kept].mean(axis=0) if kept.any() else _MODEL)
    return masks


@filter_checks.add
def gives_a_mask_of_the_replies(make: MakeFilter) -> None:
    """True or false for each reply: for many, one or none, for models that are alike, zero or enormous."""
    for ids in (WORLD.ids, _SOME, _SOME[:1], _SOME[:0]):
        for size in (1.0, 0.0, 1e30):
            _kept(begun(make), made_up(WORLD, ids, _MODEL, size=size))
    _play(begun(make), ROUNDS)


@filter_checks.add
def looks_without_learning(make: MakeFilter) -> None:
    """`keep` changes nothing and, asked twice, gives the same; it writes to no reply."""
    rule = begun(make)
    replies = made_up(WORLD, _SOME, _MODEL)
    state, attributes, handed = rule.state(), copy.deepcopy(vars(rule)), copy.deepcopy(vars(replies))
    once, again = _kept(rule, replies), _kept(rule, replies)
    changed = differing(attributes, vars(rule)) or differing(state, rule.state()) or differing(handed, vars(replies))
    require(not changed, f"keep changed {', '.join(changed)}; learning belongs in update")
    require(np.array_equal(once, again), "asked twice, keep gives another mask")


@filter_checks.add
def ignores_the_order_of_replies(make: MakeFilter) -> None:
    """The same clients are kept in whatever order their replies arrive, also when they are all alike."""
    for size in (1.0, 0.0):
        replies = made_up(WORLD, _SOME, _MODEL, size=size)
        order = np.array([3, 0, 4, 2, 1])
        kept = _kept(begun(make), replies)
        require(
            np.array_equal(kept[order], _kept(begun(make), ordered(replies, order))),
            "another order of replies keeps other clients",
        )


@filter_checks.add
def keeps_all_it_learns_in_its_state(make: MakeFilter) -> None:
    """State is saved, resumed and forgotten as it is for selectors."""
    check_memory(make, _play)
