"""What every average must do."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from callup.core.index import Ids
from callup.core.selector import Average
from callup.core.types import Replies
from callup.testing.checks.card import builds_from_its_defaults_and_presets, has_a_complete_card
from callup.testing.compare import differing
from callup.testing.driver import blaming
from callup.testing.federation import Federation
from callup.testing.registry import Checks, require
from callup.testing.replies import made_up, ordered, profile, start_model
from callup.testing.rules import WORLD, begun, check_memory

MakeAverage = Callable[[], Average]

average_checks: Checks[Average] = Checks()
average_checks.add(has_a_complete_card)
average_checks.add(builds_from_its_defaults_and_presets)

_MODEL = start_model()
_SOME = WORLD.ids[[1, 3, 4, 8, 11]]


def _combined(
    rule: Average, replies: Replies, world: Federation = WORLD, weights: np.ndarray | None = None
) -> np.ndarray:
    with blaming(f"combine fails with {len(replies.ids)} replies"):
        return rule.combine(_MODEL, replies, profile(world), weights)


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal but for the rounding of float32."""
    return bool(np.allclose(a, b, rtol=1e-5, atol=1e-6))


@average_checks.add
def gives_a_finite_model_of_the_same_kind(make: MakeAverage) -> None:
    """The same shape and type as the model it began from, also when sizes are zero or enormous and models large."""
    weights = np.arange(1.0, 1 + len(_SOME))
    for mood in ("usual", "zeros", "huge", "liar"):
        world = WORLD.like(mood)
        for size in (1.0, 1e30, 0.0):
            for given in (None, weights):
                model = _combined(begun(make), made_up(world, _SOME, _MODEL, size=size), world, given)
                require(model.shape == _MODEL.shape, f"a model of shape {_MODEL.shape} became {model.shape}")
                require(model.dtype == _MODEL.dtype, f"a model of {_MODEL.dtype} became {model.dtype}")
                require(bool(np.isfinite(model).all()), f"the model is not finite when values are {mood}")


@average_checks.add
def leaves_the_model_alone_without_replies(make: MakeAverage) -> None:
    """Nobody replied: the next model is the last one."""
    rule = begun(make)
    model = _combined(rule, made_up(WORLD, _SOME[:0], _MODEL))
    require(np.array_equal(model, _MODEL), "the model changes although nobody replied")


@average_checks.add
def agrees_when_all_agree(make: MakeAverage) -> None:
    """When every client of the federation replies with the same model, that is the next model: one client too."""
    for ids in (WORLD.ids, WORLD.ids[:1]):
        world = WORLD.with_ids(ids)
        one = made_up(world, ids, _MODEL).models[0]
        replies = _with_models(made_up(world, ids, _MODEL), np.tile(one, (len(ids), 1)))
        for weights in (None, np.ones(len(ids))):
            model = _combined(begun(make), replies, world, weights)
            require(_close(model, one), f"all {len(ids)} clients agree on a model, and another one comes out")


@average_checks.add
def ignores_the_order_of_replies(make: MakeAverage) -> None:
    """Replies arrive in any order; weights stay with their replies."""
    replies = made_up(WORLD, _SOME, _MODEL)
    order = np.array([3, 0, 4, 2, 1])
    for weights in (None, np.array([1.0, 5.0, 2.0, 1.0, 3.0])):
        moved = None if weights is None else weights[order]
        a, b = (
            _combined(begun(make), replies, weights=weights),
            _combined(begun(make), ordered(replies, order), weights=moved),
        )
        require(_close(a, b), "another order of replies gives another model")


@average_checks.add
def follows_the_weights_of_the_selection(make: MakeAverage) -> None:
    """Given weights replace the rule's own: only their proportions count, and a heavy reply pulls the model to it."""
    replies = made_up(WORLD, _SOME, _MODEL)
    weights = np.array([1.0, 5.0, 2.0, 1.0, 3.0])
    model = _combined(begun(make), replies, weights=weights)
    require(_close(model, _combined(begun(make), replies, weights=10 * weights)), "weights ten times as large matter")
    for row in range(len(_SOME)):
        heavy = np.ones(len(_SOME))
        heavy[row] = 1e6
        pulled, plain = (_combined(begun(make), replies, weights=w) for w in (heavy, np.ones(len(_SOME))))
        gap = [float(np.linalg.norm(m - replies.models[row])) for m in (pulled, plain)]
        require(
            gap[0] < gap[1], f"a reply of weight a million does not pull the model to it: {gap[1]:.3g} -> {gap[0]:.3g}"
        )


@average_checks.add
def mixes_local_models_as_it_is_told(make: MakeAverage) -> None:
    """Where weights are of models, the model goes straight towards their weighted mean, and not past it."""
    replies = made_up(WORLD, _SOME, _MODEL)
    weights = np.array([1.0, 5.0, 2.0, 1.0, 3.0])
    way = weights @ replies.models.astype(np.float64) / weights.sum() - _MODEL
    with blaming("mixed fails"):
        gone = begun(make).mixed(_MODEL, replies, profile(WORLD), weights).astype(np.float64) - _MODEL
    part = float(gone @ way / (way @ way))
    require(_close(gone, part * way), "the model goes elsewhere than to the mean that the weights ask for")
    require(0 < part <= 1 + 1e-6, f"the model goes {part:.3g} of the way to the mean that the weights ask for")


@average_checks.add
def leaves_the_replies_alone(make: MakeAverage) -> None:
    """Neither the last model nor the replies are written to."""
    replies = made_up(WORLD, _SOME, _MODEL)
    before, model = copy.deepcopy(vars(replies)), _MODEL.copy()
    _combined(begun(make), replies)
    changed = differing(before, vars(replies))
    require(not changed and np.array_equal(model, _MODEL), f"combine writes to {', '.join(changed) or 'the model'}")


@average_checks.add
def keeps_all_it_learns_in_its_state(make: MakeAverage) -> None:
    """State is saved, resumed and forgotten as it is for selectors."""

    def play(rule: Average, rounds: range) -> list[np.ndarray]:
        return [_combined(rule, made_up(WORLD, _cohort(index), _MODEL, index)) for index in rounds]

    check_memory(make, play)


def _cohort(index: int) -> Ids:
    return np.asarray(WORLD.ids[index % 3 :: 3])


def _with_models(replies: Replies, models: np.ndarray) -> Replies:
    """The same clients with other models, all after one step: FedNova weighs updates by the steps they took."""
    return Replies(replies.ids, replies.start, models, replies.num_examples, np.ones(len(replies.ids)))
