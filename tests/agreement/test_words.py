"""Next-word models: numpy against plain torch, step for step, and the corners of mini-batches that ask for nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from callup.core.errors import InputError, UsageError  # noqa: E402
from callup.partition.scheme import Shards  # noqa: E402
from callup.simulation.backends.base import Backend, Trained  # noqa: E402
from callup.simulation.backends.choose import make_backend  # noqa: E402
from callup.simulation.backends.words.distinct import Distinct  # noqa: E402
from callup.simulation.backends.words.torch_words import make_module  # noqa: E402
from callup.simulation.local import LocalTraining  # noqa: E402
from callup.simulation.task import Data, Split, WordLstm  # noqa: E402

EVERYTHING = ("loss", "loss_rms", "accuracy", "train_loss", "gradient")
PLAIN = LocalTraining(epochs=2, batch=8, rate=0.8, decay=0.7, decay_per="epoch")
ALL_OF_IT = replace(PLAIN, momentum=0.7, weight_decay=0.02, proximal=0.3)
SMALL = WordLstm(words=31, embedding=6, hidden=5, layers=2)
SIZES = [21, 0, 1, 30]
"""Samples of clients 10, 11, 12 and 13; the last mini-batch of a client may be short."""
Make = Callable[..., Backend]


def texts(words: int, samples: int = sum(SIZES), length: int = 7) -> Data:
    """Few words are frequent, as in any text, and some are not asked; the 22nd sample is alone and asks one."""
    rng = np.random.default_rng(0)
    law = 1 / np.arange(1, words + 1)

    def split(size: int) -> Split:
        x, y = (rng.choice(words, (size, length), p=law / law.sum()) for _ in range(2))
        y[rng.random(y.shape) < 0.2] = -1
        return Split(x, y)

    train = split(samples)
    train.y[21] = [-1, -1, 4, -1, -1, -1, -1]
    return Data(train, split(20), split(70), 1)


@pytest.fixture
def make() -> Iterator[Make]:
    opened: list[Backend] = []

    def made(name: str, local: LocalTraining = PLAIN, model: WordLstm = SMALL, **more: Any) -> Backend:
        rows = np.split(np.arange(sum(SIZES)), np.cumsum(SIZES)[:-1])
        shards = Shards(np.arange(10, 14), tuple(rows))
        data = more.pop("data", None) or texts(model.words)
        opened.append(make_backend(name, data, model, shards, local, 3, **more))
        return opened[-1]

    yield made
    for backend in opened:
        backend.close()


def one_round(backend: Backend, model: np.ndarray, wants: tuple[str, ...] = EVERYTHING) -> Trained:
    ids = backend.shards.ids
    return backend.train(model, ids, 1, backend.local.rates(1, np.zeros(len(ids))), wants)


@pytest.mark.parametrize("local", [PLAIN, ALL_OF_IT], ids=["plain", "momentum, decay and proximal"])
@pytest.mark.parametrize(
    "model",
    # A vocabulary larger than the blocks in which scores are made, and no multiple of them.
    [SMALL, WordLstm(1203, 9, 4, 1), WordLstm(12, 3, 7, 3)],
    ids=["two layers", "many words", "three layers"],
)
def test_local_training_takes_the_same_steps(make: Make, local: LocalTraining, model: WordLstm) -> None:
    fast, plain = make("numpy", local, model), make("torch", local, model)
    start = fast.init()
    assert np.array_equal(start, plain.init())
    got, expected = one_round(fast, start), one_round(plain, start)
    moved = np.abs(expected.models - start).max(axis=1)
    assert moved[1] == 0 and (moved[[0, 2, 3]] > 0.01).all()
    assert np.abs(got.models - expected.models).max() < 1e-5
    assert got.local_steps.tolist() == expected.local_steps.tolist() == [6, 0, 2, 8]
    for name in EVERYTHING:
        assert np.isnan(got.signals[name][1]).all()
        np.testing.assert_allclose(got.signals[name], expected.signals[name], rtol=1e-4, atol=1e-6, err_msg=name)


def test_probes_and_scores_are_the_same(make: Make) -> None:
    fast, plain = make("numpy", workers=2), make("torch")
    model = fast.init() * 3
    for name in ("loss", "accuracy", "batch_loss", "gradient"):
        answers = (backend.probe(model, name, backend.shards.ids, 2) for backend in (fast, plain))
        np.testing.assert_allclose(*answers, rtol=1e-4, atol=1e-6, err_msg=name)
    held = fast.data.test
    assert fast.scores(model, held).shape == (len(held.targets), SMALL.words)
    np.testing.assert_allclose(fast.scores(model, held), plain.scores(model, held), atol=1e-5)
    for split in ("validation", "test"):
        got, expected = fast.evaluate(model, split), plain.evaluate(model, split)
        assert got.accuracy == expected.accuracy and abs(got.loss - expected.loss) < 1e-5
        assert len(got.recall) == len(expected.recall) == 0


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_without_a_test_set_there_is_no_score(make: Make, name: str) -> None:
    data = texts(SMALL.words)
    backend = make(name, data=replace(data, test=Split(data.test.x[:0], data.test.y[:0])))
    score = backend.evaluate(backend.init(), "test")
    assert np.isnan(score.loss) and np.isnan(score.accuracy)


def test_gradient_is_that_of_torch_in_double_precision(make: Make) -> None:
    fast = make("numpy")
    model, held = fast.init() * 2, fast.data.train
    module = make_module(SMALL).double()
    at = 0
    for parameter in module.parameters():
        parameter.data.copy_(torch.from_numpy(model[at : at + parameter.numel()]).view_as(parameter))
        at += parameter.numel()
    scores = module(torch.from_numpy(held.x)).flatten(0, 1)
    torch.nn.functional.cross_entropy(scores, torch.from_numpy(held.y).flatten(), ignore_index=-1).backward()
    expected = np.concatenate([p.grad.numpy().ravel() for p in module.parameters()])
    got = fast.gradient(model, held)  # type: ignore[attr-defined]
    assert at == len(model) and np.abs(got - expected).max() < 1e-6 < np.abs(expected).max()


def test_scores_too_large_for_their_exponentials(make: Make) -> None:
    """exp(89) is no float32 any more; scores here reach several hundred."""
    fast, plain = make("numpy", replace(PLAIN, rate=0.01)), make("torch", replace(PLAIN, rate=0.01))
    model = fast.init()
    model[-SMALL.words * (SMALL.hidden + 1) :] = np.random.default_rng(1).normal(
        0, 200, SMALL.words * (SMALL.hidden + 1)
    )
    assert np.abs(fast.scores(model, fast.data.train)).max() > 300
    got, expected = one_round(fast, model), one_round(plain, model)
    assert np.isfinite(expected.models).all()
    np.testing.assert_allclose(got.models, expected.models, rtol=1e-4, atol=1e-3)
    for name in ("loss", "loss_rms", "train_loss", "accuracy"):
        np.testing.assert_allclose(got.signals[name], expected.signals[name], rtol=1e-4, err_msg=name)


@pytest.mark.parametrize("local", [PLAIN, ALL_OF_IT], ids=["plain", "momentum, decay and proximal"])
def test_any_number_of_workers_gives_the_same_floats(make: Make, local: LocalTraining) -> None:
    alone, two, three = (make("numpy", local, workers=workers) for workers in (1, 2, 3))
    model = alone.init()
    expected = one_round(alone, model)
    for backend in (two, three, two):  # and again: nothing is left over from the round before
        got = one_round(backend, model)
        assert np.array_equal(got.models, expected.models)
        for name in EVERYTHING:
            assert np.array_equal(got.signals[name], expected.signals[name], equal_nan=True)
    assert two.evaluate(model, "test").loss == alone.evaluate(model, "test").loss


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_a_text_that_asks_for_nothing_teaches_nothing(make: Make, name: str) -> None:
    data = texts(SMALL.words)
    data.train.y[:21] = -1
    backend = make(name, data=data)
    model = backend.init()
    trained = one_round(backend, model)
    assert np.array_equal(trained.models[0], model) and trained.local_steps[0] == 6
    assert all(np.isnan(trained.signals[signal][0]).all() for signal in EVERYTHING)
    assert (trained.models[3] != model).any()


def test_rows_of_words_that_do_not_occur_stay_as_they_are(make: Make) -> None:
    """The embedding of a word moves only if the client reads the word."""
    backend = make("numpy")
    model = backend.init()
    trained = one_round(backend, model, ())
    for client, row in ((10, 0), (13, 3)):
        read = np.unique(backend.samples(client).x)
        moved = (trained.models[row] != model)[: SMALL.words * SMALL.embedding].reshape(SMALL.words, -1).any(axis=1)
        assert 0 < len(read) < SMALL.words and np.flatnonzero(moved).tolist() == read.tolist()


def test_sums_over_equal_words() -> None:
    rng = np.random.default_rng(0)
    words, rows = rng.integers(0, 9, 40) * 3, rng.integers(0, 100, (40, 2)).astype(np.float32)
    distinct = Distinct.of(words)
    assert distinct.found.tolist() == sorted(set(words.tolist()))
    assert np.array_equal(distinct.found[distinct.place], words)
    expected = np.zeros((27, 2), np.float32)
    for word, row in zip(words, rows, strict=True):
        expected[word] += row
    assert np.array_equal(distinct.summed(rows), expected[distinct.found])


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_data_the_model_does_not_fit(make: Make, name: str) -> None:
    good = texts(SMALL.words)
    too_high, too_low, shorter = (Split(good.test.x.copy(), good.test.y.copy()) for _ in range(3))
    too_high.x[3, 2] = SMALL.words
    too_low.y[0, 0] = -2
    bad = {
        "outside 0 to 30": too_high,
        "ask for word -2": too_low,
        "as long in x as in y": Split(shorter.x[:, :3], shorter.y),
        "rows of word numbers": Split(good.test.x.astype(np.float32), good.test.y),
    }
    for words, split in bad.items():
        with pytest.raises(InputError, match=words):
            make(name, data=replace(good, test=split))
    with pytest.raises(InputError, match="at least 1"):
        make(name, model=WordLstm(31, 6, 0, 2))


def test_what_cannot_be_had_is_refused(make: Make) -> None:
    for name in ("loop", "compiled"):
        with pytest.raises(UsageError, match="cannot train a next-word model"):
            make(name)
    with pytest.raises(UsageError, match="texts cannot be cropped"):
        make("numpy", replace(PLAIN, augment="crop-flip"))
    with pytest.raises(InputError, match="texts have no classes"):
        make("numpy").class_gradients(np.zeros((1, 5)), texts(31).validation)
