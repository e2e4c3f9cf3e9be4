"""The torch backend against the plain loop, against torch written out, and against itself over processes."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterator
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from callup.core.errors import CallupError, InputError  # noqa: E402
from callup.partition.scheme import Shards  # noqa: E402
from callup.simulation.backends import crew  # noqa: E402
from callup.simulation.backends.base import Backend, Trained  # noqa: E402
from callup.simulation.backends.choose import make_backend  # noqa: E402
from callup.simulation.backends.loop import Loop  # noqa: E402
from callup.simulation.backends.shared_data import Places, SharedData  # noqa: E402
from callup.simulation.backends.torch import Torch  # noqa: E402
from callup.simulation.local import LocalTraining  # noqa: E402
from callup.simulation.task import Data, Mlp, Model, Module, Split  # noqa: E402

EVERYTHING = ("loss", "loss_rms", "accuracy", "train_loss", "gradient")
PLAIN = LocalTraining(epochs=3, batch=8, rate=0.1)
ALL_OF_IT = LocalTraining(
    epochs=3, batch=8, rate=0.05, momentum=0.7, weight_decay=0.02, proximal=0.3, decay=0.8, decay_per="epoch"
)


def pictures(samples: int) -> Data:
    """8 x 8 pixels in 3 classes; more test pictures than are scored at a time."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 1, 8, 8))

    def split(size: int) -> Split:
        y = rng.integers(0, 3, size)
        return Split((centres[y] + rng.normal(size=(size, 1, 8, 8))).astype(np.float32), y)

    return Data(split(samples), split(30), split(2100), 3)


Make = Callable[..., Backend]


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes backends over clients 10, 11, ... and closes them in the end."""
    opened: list[Backend] = []

    def made(kind: type[Backend], model: Model, local: LocalTraining = ALL_OF_IT, **more: Any) -> Backend:
        samples = more.pop("samples", [20, 13, 5])
        rows = np.split(np.arange(sum(samples)), np.cumsum(samples)[:-1])
        shards = Shards(np.arange(10, 10 + len(samples)), tuple(rows))
        opened.append(kind(pictures(sum(samples)), model, shards, local, more.pop("seed", 3), **more))
        return opened[-1]

    yield made
    for backend in opened:
        backend.close()


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import torch_models

    return torch_models


def one_round(backend: Backend, model: np.ndarray, index: int = 1, wants: tuple[str, ...] = EVERYTHING) -> Trained:
    ids = backend.shards.ids
    return backend.train(model, ids, index, backend.local.rates(index, np.zeros(len(ids))), wants)


@pytest.mark.parametrize(
    "local",
    [
        PLAIN,
        ALL_OF_IT,
        LocalTraining(epochs=2, batch=8, rate=0.1, equal_steps=True),
        LocalTraining(epochs=2, batch=8, rate=0.1, augment="crop-flip"),
    ],
)
@pytest.mark.parametrize("hidden", [(), (7, 5)])
def test_an_mlp_in_torch_agrees_with_the_loop(make: Make, local: LocalTraining, hidden: tuple[int, ...]) -> None:
    loop, backend = (make(kind, Mlp((64, *hidden, 3)), local, samples=[20, 0, 13, 1]) for kind in (Loop, Torch))
    model = loop.init()
    np.testing.assert_array_equal(backend.init(), model)
    expected, got = one_round(loop, model), one_round(backend, model)
    assert np.abs(expected.models[0] - model).max() > 0.01
    np.testing.assert_array_equal(got.models[1], model)  # it holds no samples
    np.testing.assert_allclose(got.models, expected.models, atol=2e-6)
    assert got.local_steps.tolist() == expected.local_steps.tolist()
    assert set(got.signals) == set(EVERYTHING)
    for name in EVERYTHING:
        np.testing.assert_allclose(got.signals[name], expected.signals[name], atol=1e-5, err_msg=name)
    for name in ("loss", "accuracy", "batch_loss", "gradient"):
        answers = [backend.probe(model, name, np.array([13, 10]), 1) for backend in (loop, backend)]
        np.testing.assert_allclose(answers[1], answers[0], atol=1e-5, err_msg=name)
    for split in ("validation", "test"):
        scores = [made.evaluate(expected.models[0], split) for made in (loop, backend)]
        assert scores[1].loss == pytest.approx(scores[0].loss, rel=1e-5)
        assert scores[1].accuracy == scores[0].accuracy
        np.testing.assert_array_equal(scores[1].recall, scores[0].recall)


def test_a_cnn_trains_as_torch_written_out(make: Make, models: Any) -> None:
    local = LocalTraining(epochs=2, batch=8, rate=0.1, momentum=0.9, weight_decay=0.01)
    backend = make(Torch, Module(models.make_plain_cnn), local)
    start = backend.init()
    trained = one_round(backend, start)
    for row, client in enumerate(backend.shards.ids):
        own = backend.samples(client)
        x, y = torch.tensor(own.x), torch.tensor(own.y)
        net = models.make_plain_cnn()
        torch.nn.utils.vector_to_parameters(torch.tensor(start), net.parameters())
        loss = torch.nn.functional.cross_entropy(net(x), y)
        gradient = torch.autograd.grad(loss, list(net.parameters()))
        sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
        losses = []
        for rows in backend.schedule(client, 1):
            sgd.zero_grad()
            step = torch.nn.functional.cross_entropy(net(x[rows]), y[rows])
            step.backward()
            sgd.step()
            losses.append(step.item())
        after = torch.nn.utils.parameters_to_vector(net.parameters()).detach().numpy()
        np.testing.assert_allclose(trained.models[row], after, atol=1e-6)
        assert trained.signals["loss"][row] == pytest.approx(loss.item(), rel=1e-5)
        assert trained.signals["train_loss"][row] == pytest.approx(np.mean(losses), rel=1e-5)
        flat = np.concatenate([part.numpy().ravel() for part in gradient])
        np.testing.assert_allclose(trained.signals["gradient"][row], flat, atol=1e-6)


def test_batch_norm_travels_with_the_model_and_counters_do_not(make: Make, models: Any) -> None:
    backend = make(Torch, Module(models.make_cnn), PLAIN)
    start = backend.init()
    # 36 + 4 of the filters; scale, shift, mean and variance of 4 channels; 36 x 3 + 3 of the last layer.
    assert len(start) == 40 + 4 * 4 + 111
    mean, variance = slice(48, 52), slice(52, 56)
    np.testing.assert_array_equal(start[mean], 0)
    np.testing.assert_array_equal(start[variance], 1)
    trained = one_round(backend, start)
    assert (trained.models[:, mean] != 0).any(axis=1).all()
    assert not trained.signals["gradient"][:, 48:56].any()  # statistics have no gradient
    # Scores are taken in evaluation mode: with other statistics they differ, and they do not change when asked twice.
    x, moved = backend.data.test.x[:9], start.copy()
    moved[variance] = 4
    assert np.abs(backend.logits(moved, x) - backend.logits(start, x)).max() > 0.01
    np.testing.assert_array_equal(backend.logits(start, x), backend.logits(start, x))


def test_two_workers_give_the_same_floats_as_none_and_leave_nothing_behind(
    make: Make, models: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Places] = []

    class Noted(SharedData):
        def __init__(self, data: Data) -> None:
            super().__init__(data)
            kept.append(self.places)

    monkeypatch.setattr(crew, "SharedData", Noted)
    alone, spread = (
        make(Torch, Module(models.make_cnn), workers=workers, samples=[20, 13, 0, 5]) for workers in (1, 2)
    )
    model = alone.init()
    np.testing.assert_array_equal(spread.init(), model)
    for index in (1, 2):  # in the second round workers have other clients behind them
        expected, got = one_round(alone, model, index), one_round(spread, model, index)
        np.testing.assert_array_equal(got.models, expected.models)
        np.testing.assert_array_equal(got.local_steps, expected.local_steps)
        for name in EVERYTHING:
            np.testing.assert_array_equal(got.signals[name], expected.signals[name])
        model = expected.models.mean(axis=0)
    ids = alone.shards.ids[::-1]
    np.testing.assert_array_equal(spread.probe(model, "loss", ids, 3), alone.probe(model, "loss", ids, 3))
    scores = [backend.evaluate(model, "test") for backend in (alone, spread)]
    assert (scores[0].loss, scores[0].accuracy) == (scores[1].loss, scores[1].accuracy)
    assert len(multiprocessing.active_children()) == 2
    with pytest.raises(InputError, match="unknown client 99"):
        spread.probe(model, "loss", np.array([99]), 3)
    assert not multiprocessing.active_children()  # a run that fails sends its workers home
    assert len(kept) == 1
    for place in kept[0].arrays.values():
        with pytest.raises(FileNotFoundError):
            SharedMemory(place.block)


def test_a_worker_that_dies_is_named_and_the_others_end(make: Make, models: Any) -> None:
    backend = make(Torch, Module(models.make_dying), PLAIN, workers=2)
    with pytest.raises(CallupError, match="a worker ended unexpectedly with exit code 7"):
        one_round(backend, backend.init())
    assert not multiprocessing.active_children()


def test_neither_torch_randomness_nor_its_threads_are_changed_for_others(make: Make, models: Any) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    backend = make(Torch, Module(models.make_cnn), PLAIN)
    first = one_round(backend, backend.init())
    backend.evaluate(backend.init(), "validation")
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.get_num_threads() == 3
    torch.set_num_threads(threads)
    torch.manual_seed(6)
    again = make(Torch, Module(models.make_cnn), PLAIN)
    np.testing.assert_array_equal(one_round(again, again.init()).models, first.models)
    other = make(Torch, Module(models.make_cnn), PLAIN, seed=4)
    assert not np.array_equal(other.init(), backend.init())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("make_wrong_width", r"the model gives scores of shape (1, 5) for one sample; expected (1, 3)"),
        ("make_wrong_input", "the model failed on given samples: RuntimeError"),
        ("dict", "the model's function must make a torch.nn.Module, got dict"),
    ],
)
def test_a_module_that_does_not_fit_is_refused_at_once(make: Make, models: Any, name: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        make(Torch, Module(getattr(models, name, dict)))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_a_module_raises_becomes_one_sentence(make: Make, models: Any) -> None:
    backend = make(Torch, Module(models.make_raising))
    with pytest.raises(InputError, match=r"on client 10 in round 4: ValueError: the third row is odd$"):
        one_round(backend, backend.init(), 4)


def test_a_function_that_cannot_be_sent_needs_one_worker(make: Make, models: Any) -> None:
    def local_function() -> Any:
        return models.make_plain_cnn()

    assert len(make(Torch, Module(local_function), workers=1).init()) == 151
    with pytest.raises(InputError, match="define it with `def` at the top of a module, or use workers = 1"):
        make(Torch, Module(local_function), workers=2)


def test_without_torch_one_sentence_says_how_to_get_it(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"pip install callup\[torch\]"):
        make(Torch, Mlp((64, 3)))


def test_auto_is_torch_for_a_module(make: Make, models: Any) -> None:
    loop = make(Loop, Mlp((64, 3)))
    for name in ("auto", "torch"):
        made = make_backend(name, loop.data, Module(models.make_cnn), loop.shards, PLAIN, 0)
        assert type(made) is Torch
    assert type(make_backend("torch", loop.data, loop.model, loop.shards, PLAIN, 0)) is Torch
