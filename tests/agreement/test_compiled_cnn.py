"""The compiled kernels against torch: gradients in double precision, local training, and who is given to whom."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from callup.core.errors import InputError, UsageError  # noqa: E402
from callup.partition.scheme import Shards  # noqa: E402
from callup.simulation.backends.base import Backend, Trained  # noqa: E402
from callup.simulation.backends.choose import make_backend  # noqa: E402
from callup.simulation.backends.compiled.plan import Filters, Plan, read_plan  # noqa: E402
from callup.simulation.backends.torch import Torch  # noqa: E402
from callup.simulation.local import LocalTraining  # noqa: E402
from callup.simulation.task import Data, Mlp, Module, Split  # noqa: E402

EVERYTHING = ("loss", "loss_rms", "accuracy", "train_loss", "gradient")
ALL_OF_IT = LocalTraining(
    epochs=3, batch=10, rate=0.05, momentum=0.7, weight_decay=0.02, proximal=0.3, decay=0.8, decay_per="epoch"
)
needs_numba = pytest.mark.skipif("not __import__('importlib.util').util.find_spec('numba')", reason="numba is not here")


def make_small() -> nn.Module:
    """Two colours, 12 x 12; nothing here divides by anything else."""
    return nn.Sequential(
        *(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(3, 5, 2), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Flatten(),
        *(nn.Linear(20, 7), nn.ReLU()),
        nn.Linear(7, 3),
    )


def make_normed() -> nn.Module:
    return nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(300, 3))


def pictures(samples: int) -> Data:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 2, 12, 12))

    def split(size: int) -> Split:
        y = rng.integers(0, 3, size)
        return Split((centres[y] + rng.normal(size=(size, 2, 12, 12))).astype(np.float32), y)

    return Data(split(samples), split(30), split(300), 3)


Make = Callable[..., Backend]


@pytest.fixture
def make() -> Iterator[Make]:
    opened: list[Backend] = []

    def made(name: str, local: LocalTraining = ALL_OF_IT, **more: Any) -> Backend:
        samples = more.pop("samples", [25, 13, 0, 1, 150])
        rows = np.split(np.arange(sum(samples)), np.cumsum(samples)[:-1])
        shards = Shards(np.arange(10, 10 + len(samples)), tuple(rows))
        model = more.pop("model", Module(make_small))
        opened.append(make_backend(name, pictures(sum(samples)), model, shards, local, 3, **more))
        return opened[-1]

    yield made
    for backend in opened:
        backend.close()


def one_round(backend: Backend, model: np.ndarray) -> Trained:
    ids = backend.shards.ids
    return backend.train(model, ids, 1, backend.local.rates(1, np.zeros(len(ids))), EVERYTHING)


def flat_of(tensors: Any) -> np.ndarray:
    return np.concatenate([tensor.detach().numpy().ravel() for tensor in tensors])


def in_double(module: nn.Module, x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Loss and gradient as torch finds them with twice the digits."""
    module = module.double()
    loss = nn.functional.cross_entropy(module(torch.tensor(x, dtype=torch.float64)), torch.tensor(y))
    return loss.item(), flat_of(torch.autograd.grad(loss, list(module.parameters())))


def network(channels: int, height: int, width: int, *filters: tuple[int, int]) -> nn.Module:
    """Convolutions of (filters, size) each, a hidden layer of 6 and 4 classes."""
    parts: list[nn.Module] = []
    for out, size in filters:
        parts += [nn.Conv2d(channels, out, size), nn.ReLU(), nn.MaxPool2d(2)]
        channels, height, width = out, (height - size + 1) // 2, (width - size + 1) // 2
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(channels * height * width, 6), nn.ReLU(), nn.Linear(6, 4))


@needs_numba
@pytest.mark.parametrize("samples", [1, 8, 13])
@pytest.mark.parametrize(
    ("image", "filters"),
    [
        ((3, 32, 32), [(6, 5), (16, 5)]),
        ((1, 13, 10), [(7, 3), (4, 2)]),  # an odd last line and column that pooling leaves out
        ((2, 19, 17), [(1, 1), (3, 2), (5, 1)]),
        ((4, 16, 11), [(2, 7)]),
    ],
)
def test_gradients_are_those_of_torch(image: tuple[int, int, int], filters: list[Any], samples: int) -> None:
    from callup.simulation.backends.compiled.network import Network

    with torch.random.fork_rng():
        torch.manual_seed(1)
        module = network(*image, *filters)
    rng = np.random.default_rng(2)
    plan = read_plan(module, image)
    assert plan is not None
    flat = flat_of(module.parameters())
    compiled = Network(plan, 16)
    # The second mini-batch meets what the first has left in the working memory.
    for size in (16, samples):
        x, y = rng.normal(size=(size, *image)).astype(np.float32), rng.integers(0, 4, size)
        loss, gradient = compiled.loss_and_gradient(flat, x, y)
        scores = compiled.logits(flat, x)
    expected_loss, expected = in_double(module, x, y)
    assert loss == pytest.approx(expected_loss, rel=1e-5)
    np.testing.assert_allclose(gradient, expected, atol=2e-6)
    assert np.abs(expected[: filters[0][0]]).max() > 1e-4  # the error reaches the first filters
    np.testing.assert_allclose(scores, module(torch.tensor(x, dtype=torch.float64)).detach().numpy(), atol=1e-5)


@needs_numba
def test_of_equal_pixels_the_first_wins_as_in_torch() -> None:
    from callup.simulation.backends.compiled.network import Network

    module = network(2, 8, 8, (2, 1))
    with torch.no_grad():
        module[0].weight[:] = torch.tensor([[1.0, 1.0], [-1.0, -1.0]]).view(2, 2, 1, 1)
        module[0].bias[:] = 1.5
    plan = read_plan(module, (2, 8, 8))
    assert plan is not None
    # 0 + 2 = 1 + 1: nearly every four has equal sums of unlike pixels, so it matters which of them is taken.
    x = np.random.default_rng(0).integers(0, 3, (12, 2, 8, 8)).astype(np.float32)
    y = np.arange(12) % 4
    gradient = Network(plan, 12).loss_and_gradient(flat_of(module.parameters()), x, y)[1]
    np.testing.assert_allclose(gradient, in_double(module, x, y)[1], atol=1e-6)


@needs_numba
@pytest.mark.parametrize(
    "local",
    [
        LocalTraining(epochs=3, batch=10, rate=0.1),
        ALL_OF_IT,
        LocalTraining(epochs=1, batch=10, rate=0.05, equal_steps=True),
        LocalTraining(epochs=2, batch=10, rate=0.1, augment="crop-flip"),
        LocalTraining(epochs=2, batch=140, rate=0.1),
    ],
)
def test_training_agrees_with_the_torch_backend(make: Make, local: LocalTraining) -> None:
    by_torch, compiled = make("torch", local), make("compiled", local)
    assert type(by_torch) is not type(compiled)
    model = by_torch.init()
    np.testing.assert_array_equal(compiled.init(), model)
    expected, got = one_round(by_torch, model), one_round(compiled, model)
    assert np.abs(expected.models[0] - model).max() > 0.01
    np.testing.assert_array_equal(got.models[2], model)  # it holds no samples
    np.testing.assert_allclose(got.models, expected.models, atol=1e-5)
    assert got.local_steps.tolist() == expected.local_steps.tolist()
    assert set(got.signals) == set(EVERYTHING)
    for name in EVERYTHING:
        np.testing.assert_allclose(got.signals[name], expected.signals[name], atol=1e-5, err_msg=name)
    for name in ("loss", "accuracy", "batch_loss", "gradient"):
        answers = [made.probe(model, name, np.array([14, 12, 10]), 1) for made in (by_torch, compiled)]
        np.testing.assert_allclose(answers[1], answers[0], atol=1e-5, err_msg=name)
        assert len(compiled.probe(model, name, np.array([], np.int64), 1)) == 0
    for split in ("validation", "test"):
        scores = [made.evaluate(expected.models[0], split) for made in (by_torch, compiled)]
        assert scores[1].loss == pytest.approx(scores[0].loss, rel=1e-5)
        assert scores[1].accuracy == scores[0].accuracy
        np.testing.assert_array_equal(scores[1].recall, scores[0].recall)
    held = by_torch.data.validation
    pulls = [made.class_gradients(expected.models[:2], held) for made in (by_torch, compiled)]
    np.testing.assert_allclose(pulls[1], pulls[0], rtol=1e-4)


@needs_numba
def test_any_number_of_workers_gives_the_same_floats(make: Make) -> None:
    alone, *others = (make("compiled", workers=workers) for workers in (1, 2, 3))
    model = alone.init()
    expected = one_round(alone, model)
    for spread in others:
        got = one_round(spread, model)
        np.testing.assert_array_equal(got.models, expected.models)
        for name in EVERYTHING:
            np.testing.assert_array_equal(got.signals[name], expected.signals[name])
        assert spread.evaluate(model, "test").loss == alone.evaluate(model, "test").loss
        ids = alone.shards.ids[::-1]
        np.testing.assert_array_equal(spread.probe(model, "loss", ids, 2), alone.probe(model, "loss", ids, 2))


@needs_numba
def test_an_unknown_client_is_named_and_the_next_round_goes_on(make: Make) -> None:
    backend = make("compiled", workers=2)
    model = backend.init()
    for _ in range(3):  # more often than there are workers
        with pytest.raises(InputError, match="unknown client 99"):
            backend.probe(model, "loss", np.array([10, 99, 11]), 1)
    assert np.isfinite(backend.probe(model, "loss", np.array([10, 11]), 1)).all()


@needs_numba
def test_a_diverged_client_is_told_by_its_model(make: Make) -> None:
    backend = make("compiled", LocalTraining(epochs=3, batch=10, rate=1e30))
    models = one_round(backend, backend.init()).models
    assert not np.isfinite(models[0]).all()
    np.testing.assert_array_equal(models[2], backend.init())
    # One filter's NaN passes ReLU and pooling and reaches every score, as in torch.
    broken, x = backend.init(), backend.data.test.x[:9]
    broken[0] = np.nan
    assert np.isnan(make("torch").logits(broken, x)).all()
    assert np.isnan(backend.logits(broken, x)).all()


def test_a_plan_is_the_network_in_numbers() -> None:
    first, second = Filters(2, 12, 12, 3, 3), Filters(3, 5, 5, 5, 2)
    assert read_plan(make_small(), (2, 12, 12)) == Plan((first, second), (20, 7, 3))


def changed(change: Callable[[list[nn.Module]], object]) -> nn.Module:
    parts = list(make_small())
    change(parts)
    return nn.Sequential(*parts)


@pytest.mark.parametrize(
    "module",
    [
        make_normed(),
        nn.Sequential(nn.Flatten(), nn.Linear(288, 3)),
        nn.ModuleList(make_small()),
        changed(lambda parts: parts.__setitem__(0, nn.Conv2d(2, 3, 3, padding=1))),
        changed(lambda parts: parts.__setitem__(0, nn.Conv2d(2, 3, 3, padding="same"))),
        changed(lambda parts: parts.__setitem__(0, nn.Conv2d(2, 3, 3, stride=2))),
        changed(lambda parts: parts.__setitem__(0, nn.Conv2d(2, 3, 3, dilation=2))),
        changed(lambda parts: parts.__setitem__(0, nn.Conv2d(2, 3, (3, 2)))),
        changed(lambda parts: parts.__setitem__(0, nn.Conv2d(2, 3, 3, bias=False))),
        changed(lambda parts: parts.__setitem__(0, nn.Conv2d(2, 2, 3, groups=2))),
        changed(lambda parts: parts.__setitem__(2, nn.MaxPool2d(3))),
        changed(lambda parts: parts.__setitem__(2, nn.MaxPool2d(2, ceil_mode=True))),
        changed(lambda parts: parts.__setitem__(2, nn.AvgPool2d(2))),
        changed(lambda parts: parts.__setitem__(1, nn.Tanh())),
        changed(lambda parts: parts.__setitem__(7, nn.Linear(20, 7, bias=False))),
        changed(lambda parts: parts.insert(7, nn.Dropout(0.5))),
        changed(lambda parts: parts.append(nn.ReLU())),
        changed(lambda parts: parts[9].weight.requires_grad_(False)),
    ],
    ids=lambda module: type(module).__name__,
)
def test_anything_else_has_no_plan(module: nn.Module) -> None:
    assert read_plan(module, (2, 12, 12)) is None


@needs_numba
def test_auto_compiles_what_it_can_and_leaves_the_rest_to_torch(make: Make) -> None:
    assert type(make("auto")).__name__ == "Compiled"
    assert type(make("auto", model=Module(make_normed))) is Torch
    with pytest.raises(UsageError, match="this model is another; use backend 'torch' or 'auto'"):
        make("compiled", model=Module(make_normed))
    with pytest.raises(UsageError, match="'compiled' trains convolutional networks only"):
        make("compiled", model=Mlp((288, 3)))


def test_without_numba_auto_is_torch_and_compiled_says_how_to_get_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    assert type(make("auto")) is Torch
    with pytest.raises(InputError, match=r"pip install callup\[fast\]"):
        make("compiled")


@needs_numba
def test_torch_randomness_is_left_alone(make: Make) -> None:
    before = torch.random.get_rng_state()
    backend = make("compiled", workers=2)
    one_round(backend, backend.init())
    assert torch.equal(torch.random.get_rng_state(), before)
