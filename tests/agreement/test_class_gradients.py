"""Pulls of each class on a model: by hand, by finite differences, and every backend against the plain loop."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from callup.core.errors import InputError
from callup.partition.scheme import Shards
from callup.simulation.backends.base import Backend
from callup.simulation.backends.batched import Batched
from callup.simulation.backends.loop import Loop
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Mlp, Model, Module, Split

BOTH = pytest.mark.parametrize("kind", [Loop, Batched])


def held(classes: int, shape: tuple[int, ...], each: tuple[int, ...], seed: int = 0) -> Split:
    """So many samples of each class, in mixed order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(classes), each))
    return Split(rng.normal(size=(len(y), *shape)).astype(np.float32), y)


def made(kind: type[Backend], model: Model, classes: int, shape: tuple[int, ...], **more: Any) -> Backend:
    few = held(classes, shape, (2,) * classes)
    shards = Shards(np.array([0]), (np.arange(len(few)),))
    return kind(Data(few, few, few, classes), model, shards, LocalTraining(), 0, **more)


def models_for(sizes: tuple[int, ...], n: int = 4) -> np.ndarray:
    count = sum((a + 1) * b for a, b in pairwise(sizes))
    return np.random.default_rng(1).normal(scale=0.5, size=(n, count)).astype(np.float32)


@BOTH
def test_softmax_regression_by_hand(kind: type[Backend]) -> None:
    # From zero weights both classes have p = 1/2. On class 0 the errors are (-1/2, 1/2), on class 1 (1/2, -1/2): with
    # the mean input m the gradient of the weights is -m/2, m/2 and of the biases -1/2, 1/2, up to signs.
    split = Split(np.array([[2.0, 4.0], [1.0, 0.0], [3.0, 0.0]], np.float32), np.array([1, 0, 0]))
    pulls = made(kind, Mlp((2, 2)), 2, (2,)).class_gradients(np.zeros((1, 6), np.float32), split)
    # Class 0: m = (2, 0), mean of (1, 0, 1, 0) is 1/2, and 1/4. Class 1: m = (2, 4), mean of (1, 4, 1, 4), and 1/4.
    np.testing.assert_allclose(pulls, [[0.5 + 0.25, 2.5 + 0.25]], rtol=1e-6)


def loss(flat: np.ndarray, sizes: tuple[int, ...], x: np.ndarray, label: int) -> float:
    at, inner = 0, x.astype(np.float64)
    for depth, (n, m) in enumerate(pairwise(sizes)):
        weights, at = flat[at : at + n * m].reshape(m, n), at + n * m
        inner = inner @ weights.T + flat[at : at + m]
        at += m
        if depth < len(sizes) - 2:
            inner = np.maximum(inner, 0)
    return float(np.mean(np.log(np.exp(inner).sum(axis=1)) - inner[:, label]))


@BOTH
def test_against_finite_differences(kind: type[Backend]) -> None:
    sizes, split = (3, 4, 5, 3), held(3, (3,), (4, 1, 6))
    models = models_for(sizes, 2)
    found = made(kind, Mlp(sizes), 3, (3,)).class_gradients(models, split)
    ends = np.cumsum([part for n, m in pairwise(sizes) for part in (n * m, m)])
    for row, model in enumerate(models.astype(np.float64)):
        for label in range(3):
            x, gradient = split.x[split.y == label], np.empty(len(model))
            for i in range(len(model)):
                step = np.zeros(len(model))
                step[i] = 1e-5
                gradient[i] = (loss(model + step, sizes, x, label) - loss(model - step, sizes, x, label)) / 2e-5
            expected = sum(np.mean(part**2) for part in np.split(gradient, ends[:-1]))
            assert found[row, label] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("sizes", [(6, 3), (6, 8, 3), (6, 5, 7, 3)])
def test_batched_is_the_loop(sizes: tuple[int, ...]) -> None:
    split, models = held(3, (6,), (32, 7, 1)), models_for(sizes, 5)
    loop, batched = (made(kind, Mlp(sizes), 3, (6,)).class_gradients(models, split) for kind in (Loop, Batched))
    assert loop.shape == (5, 3)
    np.testing.assert_allclose(batched, loop, rtol=1e-5)


@BOTH
def test_a_class_that_is_learned_pulls_no_more(kind: type[Backend]) -> None:
    # The bias of class 2 is so high that its samples are certain and all others are wrong.
    model = np.zeros((1, 6 * 3 + 3), np.float32)
    model[0, -1] = 40
    pulls = made(kind, Mlp((6, 3)), 3, (6,)).class_gradients(model, held(3, (6,), (5, 5, 5)))[0]
    assert pulls[2] < 1e-20
    assert pulls[:2].min() > 0.1


@BOTH
def test_no_models_and_a_missing_class(kind: type[Backend]) -> None:
    backend = made(kind, Mlp((6, 3)), 3, (6,))
    assert backend.class_gradients(np.empty((0, 21), np.float32), held(3, (6,), (1, 1, 1))).shape == (0, 3)
    with pytest.raises(InputError, match="none of class 1"):
        backend.class_gradients(models_for((6, 3)), held(3, (6,), (2, 0, 2)))


# --- torch


@pytest.fixture
def torch_models(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import torch_models

    yield torch_models


def test_torch_is_the_loop_on_an_mlp(torch_models: Any) -> None:
    from callup.simulation.backends.torch import Torch

    sizes, split = (6, 8, 3), held(3, (6,), (32, 7, 1))
    models = models_for(sizes)
    loop, torch = (made(kind, Mlp(sizes), 3, (6,)).class_gradients(models, split) for kind in (Loop, Torch))
    np.testing.assert_allclose(torch, loop, rtol=1e-5)


def test_torch_counts_each_tensor_once_and_no_buffers(torch_models: Any) -> None:
    import torch

    from callup.simulation.backends.torch import Torch

    split = held(3, (1, 8, 8), (4, 3, 5))
    backend = made(Torch, Module(torch_models.make_cnn), 3, (1, 8, 8))
    found = backend.class_gradients(backend.init()[None], split)
    module = torch_models.make_cnn()
    names = [name for name, tensor in module.state_dict().items() if tensor.is_floating_point()]
    flat, at, filled = torch.from_numpy(backend.init()), 0, module.state_dict()
    for name in names:
        filled[name] = flat[at : at + filled[name].numel()].view_as(filled[name])
        at += filled[name].numel()
    module.load_state_dict(filled)
    module.eval()
    for label in range(3):
        module.zero_grad()
        scores = module(torch.from_numpy(split.x[split.y == label]))
        torch.nn.functional.cross_entropy(scores, torch.full((len(scores),), label)).backward()
        expected = sum(float(p.grad.square().mean()) for p in module.parameters())
        assert found[0, label] == pytest.approx(expected, rel=1e-5)


def test_torch_over_processes_gives_the_same_numbers(torch_models: Any) -> None:
    from callup.simulation.backends.torch import Torch

    split = held(3, (1, 8, 8), (4, 3, 5))
    alone, crew = (made(Torch, Module(torch_models.make_cnn), 3, (1, 8, 8), workers=n) for n in (1, 2))
    try:
        models = alone.init() + np.random.default_rng(0).normal(scale=0.1, size=(3, len(alone.init())))
        models = models.astype(np.float32)
        np.testing.assert_array_equal(crew.class_gradients(models, split), alone.class_gradients(models, split))
    finally:
        crew.close()
