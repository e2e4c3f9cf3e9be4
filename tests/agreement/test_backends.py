"""The plain loop against formulas and finite differences, and the batched backend against the plain loop."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import log, sqrt

import numpy as np
import pytest

from callup.core.errors import InputError, MissingSignal, UsageError
from callup.core.randomness import stream
from callup.partition.scheme import Shards
from callup.simulation.augment import crop_flip, draw_moves, image_shape
from callup.simulation.backends.base import Backend
from callup.simulation.backends.batched import Batched
from callup.simulation.backends.choose import make_backend
from callup.simulation.backends.grouping import group_clients
from callup.simulation.backends.loop import Loop
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Mlp, Module, Split

BOTH = pytest.mark.parametrize("backend", [Loop, Batched])
EVERYTHING = ("loss", "loss_rms", "accuracy", "train_loss", "gradient")


def made_up(samples: int, shape: tuple[int, ...], classes: int, seed: int = 0) -> Data:
    """Noise around one random point for each class: easy, but not at once."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(classes, *shape))

    def split(size: int) -> Split:
        y = rng.integers(0, classes, size)
        return Split((centres[y] + rng.normal(size=(size, *shape))).astype(np.float32), y)

    return Data(split(samples), split(60), split(70), classes)


def federation(
    backend: type[Backend], sizes: tuple[int, ...], samples: list[int], local: LocalTraining, **changes: object
) -> Backend:
    """Clients 10, 11, ... of these sizes, holding the training set from its end to its beginning."""
    shape = changes.pop("shape", (sizes[0],))
    data = made_up(sum(samples), shape, sizes[-1])  # type: ignore[arg-type]
    rows = np.split(np.arange(sum(samples))[::-1], np.cumsum(samples)[:-1])
    shards = Shards(np.arange(10, 10 + len(samples)), tuple(rows))
    return backend(data, Mlp(sizes), shards, local, int(changes.pop("seed", 3)))  # type: ignore[arg-type,call-overload]


def one_round(backend: Backend, model: np.ndarray, index: int = 1, wants: tuple[str, ...] = ()):
    ids = backend.shards.ids
    return backend.train(model, ids, index, backend.local.rates(index, np.zeros(len(ids))), wants)


# --- the plain loop against formulas


def test_one_step_of_softmax_regression_by_hand() -> None:
    data = Data(*[Split(np.array([[2.0, -1.0]], np.float32), np.array([1]))] * 3, classes=2)
    local = LocalTraining(epochs=1, batch=1, rate=0.1)
    loop = Loop(data, Mlp((2, 2)), Shards(np.array([0]), (np.array([0]),)), local, 0)
    trained = one_round(loop, np.zeros(6, np.float32), wants=EVERYTHING)
    # From zero weights both classes have p = 1/2, so d loss / d scores = (1/2, -1/2) and the gradient of the weights
    # of class 0 is x / 2, of class 1 its negative. Flat: weights of class 0, of class 1, the two biases.
    gradient = [1.0, -0.5, -1.0, 0.5, 0.5, -0.5]
    np.testing.assert_allclose(trained.signals["gradient"], [gradient], rtol=1e-6)
    np.testing.assert_allclose(trained.models, [np.array(gradient) * -0.1], rtol=1e-6)
    assert trained.local_steps.tolist() == [1]
    for name in ("loss", "loss_rms", "train_loss"):
        assert trained.signals[name] == pytest.approx([log(2)])


@BOTH
def test_answers_about_a_model_whose_scores_are_known(backend: type[Backend]) -> None:
    # With weights of zero the biases are the scores, so every sample has the probabilities 1/2, 1/4, 1/4.
    model = np.zeros(2 * 3 + 3, np.float32)
    model[-3:] = np.log([0.5, 0.25, 0.25])
    y = np.array([0, 0, 1, 2, 2])
    split = Split(np.ones((5, 2), np.float32), y)
    data = Data(split, split, Split(split.x[:3], y[:3]), classes=3)
    shards = Shards(np.array([4, 9]), (np.array([0, 1, 2]), np.array([3, 4])))
    made = backend(data, Mlp((2, 3)), shards, LocalTraining(), 0)
    ids = np.array([9, 4])
    two, four = log(2), log(4)
    np.testing.assert_allclose(made.probe(model, "loss", ids, 1), [four, (2 * two + four) / 3], rtol=1e-6)
    np.testing.assert_allclose(made.probe(model, "accuracy", ids, 1), [0, 2 / 3])
    signals = made.train(model, ids, 1, np.full((2, 5), 0.1), ("loss_rms",)).signals
    np.testing.assert_allclose(signals["loss_rms"], [four, sqrt((2 * two**2 + four**2) / 3)], rtol=1e-6)
    score = made.evaluate(model, "test")
    assert (score.loss, score.accuracy) == (pytest.approx((2 * two + four) / 3), pytest.approx(2 / 3))
    np.testing.assert_array_equal(score.recall, [1, 0, np.nan])
    assert made.evaluate(model, "validation").accuracy == pytest.approx(2 / 5)


def mean_loss(flat: np.ndarray, sizes: tuple[int, ...], x: np.ndarray, y: np.ndarray) -> float:
    """Written out in float64, for finite differences."""
    at, inner = 0, x.astype(np.float64)
    for depth, (n, m) in enumerate(pairwise(sizes)):
        weights, at = flat[at : at + n * m].reshape(m, n), at + n * m
        biases, at = flat[at : at + m], at + m
        inner = inner @ weights.T + biases
        if depth < len(sizes) - 2:
            inner = np.where(inner > 0, inner, 0)
    return float(np.mean([np.log(np.sum(np.exp(row))) - row[k] for row, k in zip(inner, y, strict=True)]))


def slope(flat: np.ndarray, sizes: tuple[int, ...], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The gradient by central differences."""
    out = np.empty(len(flat))
    for i in range(len(flat)):
        step = np.zeros(len(flat))
        step[i] = 1e-6
        out[i] = (mean_loss(flat + step, sizes, x, y) - mean_loss(flat - step, sizes, x, y)) / 2e-6
    return out


@pytest.mark.parametrize(
    "local",
    [
        LocalTraining(epochs=2, batch=4, rate=0.3),
        LocalTraining(epochs=2, batch=4, rate=0.2, momentum=0.9, weight_decay=0.05, proximal=0.5),
        LocalTraining(epochs=3, batch=4, rate=0.3, decay=0.5, decay_per="epoch", momentum=0.5),
    ],
)
def test_the_loop_trains_as_the_formulas_say(local: LocalTraining) -> None:
    sizes = (3, 4, 2)
    loop = federation(Loop, sizes, [6], local)
    start = loop.init()
    own = loop.samples(10)
    weights, velocity = start.astype(np.float64), np.zeros(len(start))
    losses = []
    for step, rows in enumerate(loop.schedule(10, 1)):
        losses.append(mean_loss(weights, sizes, own.x[rows], own.y[rows]))
        gradient = slope(weights, sizes, own.x[rows], own.y[rows])
        gradient += local.weight_decay * weights + local.proximal * (weights - start)
        velocity = local.momentum * velocity + gradient
        # 6 samples in mini-batches of 4: two steps an epoch.
        rate = local.rate * (local.decay ** (step // 2) if local.decay_per == "epoch" else 1)
        weights = weights - rate * velocity
    trained = one_round(loop, start, wants=("train_loss", "gradient"))
    np.testing.assert_allclose(trained.models[0], weights, atol=2e-5)
    assert trained.signals["train_loss"][0] == pytest.approx(np.mean(losses), abs=1e-5)
    np.testing.assert_allclose(
        trained.signals["gradient"][0], slope(start.astype(np.float64), sizes, own.x, own.y), atol=1e-5
    )


# --- the batched backend against the loop

TRAININGS = {
    "plain": LocalTraining(epochs=5, batch=16, rate=0.1),
    "one epoch": LocalTraining(epochs=1, batch=16, rate=0.1),
    "momentum": LocalTraining(epochs=4, batch=16, rate=0.05, momentum=0.9),
    "decay": LocalTraining(epochs=4, batch=16, rate=0.1, weight_decay=0.02),
    "proximal": LocalTraining(epochs=4, batch=16, rate=0.1, proximal=0.3),
    "all of it": LocalTraining(
        epochs=4, batch=16, rate=0.05, momentum=0.7, weight_decay=0.02, proximal=0.3, decay=0.8, decay_per="epoch"
    ),
    "equal steps": LocalTraining(epochs=2, batch=16, rate=0.1, equal_steps=True, decay=0.5, decay_per="epoch"),
    "large batch": LocalTraining(epochs=6, batch=500, rate=0.1),
}
SAMPLES = {
    "alike": [48] * 4,
    "partial batches": [50, 33, 17],
    "very unequal": [5, 90, 1, 40, 300, 41, 16],
    "alone": [37],
}


@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize("local", TRAININGS.values(), ids=TRAININGS)
@pytest.mark.parametrize("hidden", [(), (12,), (9, 7)])
def test_batched_agrees_with_the_loop(local: LocalTraining, samples: list[int], hidden: tuple[int, ...]) -> None:
    sizes = (40, *hidden, 4)
    loop, batched = (federation(backend, sizes, samples, local) for backend in (Loop, Batched))
    model = loop.init()
    np.testing.assert_array_equal(batched.init(), model)
    expected, got = (one_round(backend, model, 2, EVERYTHING) for backend in (loop, batched))
    assert np.abs(expected.models - model).max() > 0.01  # they went somewhere
    np.testing.assert_allclose(got.models, expected.models, atol=2e-6)
    assert got.local_steps.tolist() == expected.local_steps.tolist()
    assert set(got.signals) == set(EVERYTHING)
    for name in EVERYTHING:
        np.testing.assert_allclose(got.signals[name], expected.signals[name], atol=1e-5, err_msg=name)


def test_both_forms_of_the_first_layer_were_in_those_tests() -> None:
    used = {
        group.spanned
        for local in TRAININGS.values()
        for group in group_clients(SAMPLES["very unequal"], local, 300, (40, 12, 4))
    }
    assert used == {True, False}


def test_a_client_that_decays_its_own_rate_keeps_it_in_a_group() -> None:
    local = LocalTraining(epochs=3, batch=8, rate=0.1, decay=0.5, decay_per="participation")
    pair = [federation(backend, (20, 6, 3), [30, 25, 31], local) for backend in (Loop, Batched)]
    model = pair[0].init()
    rates = local.rates(5, np.array([0, 3, 1]))
    expected, got = (backend.train(model, backend.shards.ids, 5, rates, ()).models for backend in pair)
    np.testing.assert_allclose(got, expected, atol=2e-6)
    slow, fast = np.abs(got - model).max(axis=1)[[1, 0]]
    assert slow < fast / 2  # at an eighth of the rate


def test_many_rounds_of_averaging_stay_together() -> None:
    local = LocalTraining(epochs=3, batch=10, rate=0.05, momentum=0.5)
    pair = [federation(backend, (30, 8, 4), [40, 25, 60], local) for backend in (Loop, Batched)]
    models = [backend.init() for backend in pair]
    for index in range(1, 16):
        models = [one_round(b, m, index).models.mean(axis=0) for b, m in zip(pair, models, strict=True)]
    np.testing.assert_allclose(models[1], models[0], atol=2e-5)
    first, last = (pair[0].evaluate(model, "test").accuracy for model in (pair[0].init(), models[0]))
    assert last > 0.9 > first


@pytest.mark.parametrize("shape", [(64,), (1, 8, 8), (3, 4, 4)])
def test_augmented_training_agrees(shape: tuple[int, ...]) -> None:
    local = LocalTraining(epochs=3, batch=8, rate=0.05, momentum=0.5, augment="crop-flip")
    sizes = (int(np.prod(shape)), 6, 3)
    loop, batched = (federation(backend, sizes, [20, 13, 1], local, shape=shape) for backend in (Loop, Batched))
    model = loop.init()
    expected = one_round(loop, model).models
    np.testing.assert_allclose(one_round(batched, model).models, expected, atol=2e-6)
    loop.local = replace(local, augment="none")
    assert np.abs(one_round(loop, model).models - expected).max() > 1e-3


@BOTH
def test_a_client_learns_the_same_alone_and_in_company(backend: type[Backend]) -> None:
    made = federation(backend, (30, 8, 4), [40, 25, 60, 3], TRAININGS["all of it"])
    model, rates = made.init(), made.local.rates(1, np.zeros(4))
    together = made.train(model, made.shards.ids, 1, rates, EVERYTHING)
    backwards = made.train(model, made.shards.ids[::-1], 1, rates, EVERYTHING)
    np.testing.assert_array_equal(backwards.models[::-1], together.models)
    for row, client in enumerate(made.shards.ids):
        alone = made.train(model, np.array([client]), 1, rates[:1], EVERYTHING)
        np.testing.assert_allclose(alone.models[0], together.models[row], atol=1e-6)
        for name in EVERYTHING:
            np.testing.assert_allclose(alone.signals[name][0], together.signals[name][row], atol=1e-6)


@BOTH
def test_same_seed_same_floats_and_nothing_given_is_changed(backend: type[Backend]) -> None:
    runs = []
    for seed in (3, 3, 4):
        made = federation(backend, (30, 8, 4), [40, 25], TRAININGS["all of it"], seed=seed)
        model = made.init()
        before, data = model.copy(), made.data.train.x.copy()
        runs.append(one_round(made, model).models)
        np.testing.assert_array_equal(model, before)
        np.testing.assert_array_equal(made.data.train.x, data)
        again = one_round(made, model).models  # also when something was kept from before
        np.testing.assert_array_equal(again, runs[-1])
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


@BOTH
def test_a_client_without_samples_returns_the_model_as_it_came(backend: type[Backend]) -> None:
    made = federation(backend, (30, 8, 4), [40, 0, 25], TRAININGS["all of it"])
    model = made.init()
    trained = one_round(made, model, wants=EVERYTHING)
    np.testing.assert_array_equal(trained.models[1], model)
    assert trained.local_steps.tolist() == [12, 0, 8]
    for name in EVERYTHING:
        assert np.isnan(trained.signals[name][1]).all()
        assert np.isfinite(trained.signals[name][[0, 2]]).all()
    for name in ("loss", "accuracy", "batch_loss", "gradient"):
        assert np.isnan(made.probe(model, name, np.array([11]), 1)).all()
    nobody = made.train(model, np.array([], np.int64), 1, made.local.rates(1, np.array([])), EVERYTHING)
    assert nobody.models.shape == (0, len(model))
    assert nobody.signals["gradient"].shape == (0, len(model))


@BOTH
def test_a_rate_far_too_high_ends_in_numbers_that_are_not_finite_without_a_warning(backend: type[Backend]) -> None:
    made = federation(backend, (30, 8, 4), [40, 25], LocalTraining(epochs=3, rate=1e30))
    models = one_round(made, made.init(), wants=EVERYTHING).models
    assert not np.isfinite(models).any(axis=1).all()
    made.evaluate(models[0], "test")


# --- probes


@BOTH
def test_batch_loss_is_the_loss_on_one_random_mini_batch(backend: type[Backend]) -> None:
    made = federation(backend, (5, 3), [8, 40], LocalTraining(batch=10))
    model = made.init()
    first, again, later = (made.probe(model, "batch_loss", made.shards.ids, index) for index in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    # A client with fewer samples than a mini-batch is measured on all of them.
    assert first[0] == pytest.approx(made.probe(model, "loss", np.array([10]), 1)[0])
    assert later[0] == pytest.approx(first[0])
    assert later[1] != first[1]
    rows, own = made.probe_batch(11, 1), made.samples(11)
    assert len(set(rows.tolist())) == 10
    assert first[1] == pytest.approx(mean_loss(model.astype(np.float64), (5, 3), own.x[rows], own.y[rows]), rel=1e-5)


@BOTH
def test_what_is_not_a_probe_is_refused_and_foreign_wants_are_passed_over(backend: type[Backend]) -> None:
    made = federation(backend, (5, 3), [8], LocalTraining())
    with pytest.raises(MissingSignal, match="'los'; did you mean 'loss'"):
        made.probe(made.init(), "los", np.array([10]), 1)
    with pytest.raises(InputError, match="unknown client 99"):
        made.probe(made.init(), "loss", np.array([99]), 1)
    assert set(one_round(made, made.init(), wants=("loss", "duration", "update")).signals) == {"loss"}


def test_scores_of_many_rows_are_those_of_each_row() -> None:
    made = federation(Batched, (5, 6, 3), [8], LocalTraining())
    model = made.init()
    x = np.random.default_rng(1).normal(size=(9000, 5)).astype(np.float32)  # more than is scored at a time
    scores = made.logits(model, x)
    assert scores.shape == (9000, 3)
    for row in (0, 4095, 4096, 8999):
        np.testing.assert_allclose(scores[row], made.logits(model, x[row : row + 1])[0], atol=1e-6)


def test_an_empty_split_has_no_score() -> None:
    made = federation(Loop, (5, 3), [8], LocalTraining())
    made.data = replace(made.data, validation=Split(np.empty((0, 5), np.float32), np.empty(0, np.int64)))
    score = made.evaluate(made.init(), "validation")
    assert np.isnan([score.loss, score.accuracy, *score.recall]).all()


# --- first weights, augmentation, choice of a backend


def test_first_weights_fill_their_range_and_biases_are_zero() -> None:
    model = federation(Loop, (100, 50, 4), [8], LocalTraining()).init()
    weights, biases = model[:5000], model[5000:5050]
    assert not biases.any()
    # Uniform within 0.1: of 5000 draws none is above, and all below 0.099 has a chance of 0.99**5000, about 1e-22.
    assert 0.099 < np.abs(weights).max() <= 0.1
    # The mean has a standard deviation of 0.1 / sqrt(3 * 5000) = 0.0008: six of them, a chance of 2e-9.
    assert abs(weights.mean()) < 0.005


def test_crop_and_flip_on_a_picture_of_nine_pixels() -> None:
    picture = np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)
    many = np.repeat(picture, 4, axis=0)
    # A margin of one pixel: (1, 1) is where the picture was; (0, 1) shows the zeros above it; (2, 2) those beyond.
    moves = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 0], [2, 2, 1]])
    expected = [
        [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
        [[3, 2, 1], [6, 5, 4], [9, 8, 7]],
        [[0, 0, 0], [1, 2, 3], [4, 5, 6]],
        [[0, 6, 5], [0, 9, 8], [0, 0, 0]],
    ]
    np.testing.assert_array_equal(crop_flip(many, moves)[:, 0], expected)
    np.testing.assert_array_equal(crop_flip(many.reshape(4, 9), moves).reshape(4, 3, 3), expected)


def test_moves_reach_every_place_and_mirror_about_half() -> None:
    moves = draw_moves(20_000, (3, 32, 32), stream(0))
    # 81 places, each missed with a chance of (80/81)**20000, about 1e-108.
    assert len({(down, right) for down, right, _ in moves.tolist()}) == 81
    assert moves[:, :2].min() == 0 and moves[:, :2].max() == 8
    # 20,000 fair coins: a deviation of 0.02 is 5.7 standard deviations, a chance of 2e-8.
    assert abs(moves[:, 2].mean() - 0.5) < 0.02


def test_flat_rows_are_square_pictures_and_anything_else_is_refused() -> None:
    assert image_shape((784,)) == (1, 28, 28)
    assert image_shape((3072,)) == (3, 32, 32)
    assert image_shape((28, 20)) == (1, 28, 20)
    with pytest.raises(UsageError, match=r"shape \(561,\)"):
        image_shape((561,))


@pytest.mark.parametrize(("name", "kind"), [("auto", Batched), ("numpy", Batched), ("loop", Loop)])
def test_a_backend_by_name(name: str, kind: type[Backend]) -> None:
    made = federation(Loop, (5, 3), [8], LocalTraining())
    assert type(make_backend(name, made.data, made.model, made.shards, made.local, 0)) is kind


@pytest.mark.parametrize(
    ("name", "model", "local", "words"),
    [
        ("nunpy", Mlp((5, 3)), LocalTraining(), "unknown backend 'nunpy'; did you mean 'numpy'?"),
        ("numpy", Module(dict), LocalTraining(), "'numpy' cannot train a torch module; use backend 'torch' or 'auto'"),
        ("loop", Module(dict), LocalTraining(), "'loop' cannot train a torch module"),
        ("numpy", Mlp((6, 3)), LocalTraining(), "the Mlp takes 6 inputs, but a sample has 5"),
        ("numpy", Mlp((5, 4)), LocalTraining(), "the Mlp gives 4 scores for 3 classes"),
        ("numpy", Mlp((5,)), LocalTraining(), "at least two layer sizes"),
        ("numpy", Mlp((5, 3)), LocalTraining(augment="crop-flip"), "needs images"),
    ],
)
def test_impossible_combinations_are_refused_in_one_sentence(
    name: str, model: Mlp | Module, local: LocalTraining, words: str
) -> None:
    made = federation(Loop, (5, 3), [8], LocalTraining())
    with pytest.raises((UsageError, InputError), match=r"^[^\n]+$") as caught:
        make_backend(name, made.data, model, made.shards, local, 0)
    assert words in str(caught.value)
