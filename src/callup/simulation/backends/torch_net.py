"""A torch module seen as a flat vector: parameters and float buffers, in the order of its state_dict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from callup.core.errors import InputError
from callup.simulation.local import LocalTraining
from callup.simulation.task import Mlp, Model, WordLstm


def import_torch() -> Any:
    """torch, or one sentence on how to get it."""
    try:
        import torch
    except ImportError as error:
        raise InputError("the torch backend needs torch, which is not here: pip install callup[torch]") from error
    return torch


def maker(model: Model) -> Callable[[], Any]:
    """The function that makes the module; it can be sent to another process if the task's own can."""
    if isinstance(model, WordLstm):
        raise InputError("a next-word model has a torch backend of its own, words.torch_words")
    return partial(make_mlp, model.sizes) if isinstance(model, Mlp) else model.make


def make_mlp(sizes: tuple[int, ...]) -> Any:
    """The same network, and the same flat vector, as the numpy backends have."""
    nn = import_torch().nn
    parts = [nn.Flatten()]
    for fan_in, fan_out in pairwise(sizes):
        parts += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    return nn.Sequential(*parts[:-1])


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one thread, and afterwards on as many as before: sums then do not depend on the machine's cores."""
    torch = import_torch()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def seeded(rng: np.random.Generator) -> Iterator[None]:
    """Torch's global generator seeded from ours, and put back afterwards."""
    torch = import_torch()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**63)))
        yield


class Net:
    """One module, filled again and again from flat vectors."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.torch = import_torch()
        self.module = make()
        if not isinstance(self.module, self.torch.nn.Module):
            raise InputError(f"the model's function must make a torch.nn.Module, got {type(self.module).__name__}")
        # Tied weights are listed once for each name; they are one tensor and count once.
        tensors = {id(t): t for t in self.module.state_dict(keep_vars=True).values()}.values()
        self._floats = [t for t in tensors if t.is_floating_point()]
        # Counters and the like start the same for every client, whoever was trained here before.
        self._others = [(t, t.detach().clone()) for t in tensors if not t.is_floating_point()]
        self.parameters = [p for p in self.module.parameters() if p.requires_grad]

    def load(self, flat: np.ndarray) -> None:
        """Fills the module; a copy, so that the vector stays as it is."""
        parts = self.torch.from_numpy(flat.astype(np.float32)).split([t.numel() for t in self._floats])
        with self.torch.no_grad():
            for tensor, part in zip(self._floats, parts, strict=True):
                tensor.copy_(part.view_as(tensor))
            for tensor, first in self._others:
                tensor.copy_(first)

    def flat(self) -> np.ndarray:
        return self._joined([t.detach() for t in self._floats])

    def gradient(self) -> np.ndarray:
        """As long as the flat vector: zero for buffers and for weights that the loss does not reach."""
        found = [t.grad if t.grad is not None else self.torch.zeros_like(t) for t in self._floats]
        return self._joined([grad.detach() for grad in found])

    def mean_squares(self) -> float:
        """Sum over the parameters that the loss reaches of their mean squared gradient."""
        return float(sum(p.grad.double().square().mean() for p in self.parameters if p.grad is not None))

    def forget_gradient(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    def _joined(self, tensors: list[Any]) -> np.ndarray:
        joined: np.ndarray = self.torch.cat([t.reshape(-1).float() for t in tensors]).numpy()
        return joined


class Sgd:
    """v <- momentum v + g + decay w + mu (w - w_t);  w <- w - rate v.

    Written out because torch.optim loads torch's compiler when first used, two seconds in every worker.
    """

    def __init__(self, net: Net, local: LocalTraining) -> None:
        self._torch, self._local = net.torch, local
        self._parts = [(p, p.detach().clone(), net.torch.zeros_like(p)) for p in net.parameters]

    def descend(self, rate: float) -> None:
        local = self._local
        with self._torch.no_grad():
            for weights, start, velocity in self._parts:
                if weights.grad is None:
                    continue  # the loss does not reach it
                velocity.mul_(local.momentum).add_(weights.grad)
                if local.weight_decay:
                    velocity.add_(weights, alpha=local.weight_decay)
                if local.proximal:
                    velocity.add_(weights - start, alpha=local.proximal)
                weights.add_(velocity, alpha=-rate)
