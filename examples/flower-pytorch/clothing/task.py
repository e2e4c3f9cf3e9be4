"""Ten kinds of clothing in 14 x 14 pixels, and a small convolutional network."""

from __future__ import annotations

import functools

import numpy as np
import torch
from flwr.app import ArrayRecord
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from callup import stream
from callup.partition.scheme import PARTITIONS
from callup.simulation.tasks.fashion14 import Fashion14Mlp

CLASSES = 10
Samples = tuple[Tensor, Tensor]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 36, 32), nn.ReLU(),
            nn.Linear(32, CLASSES),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)  # type: ignore[no-any-return]


def net_of(arrays: ArrayRecord) -> Net:
    net = Net()
    net.load_state_dict(arrays.to_torch_state_dict())
    return net


def first_model(seed: int) -> ArrayRecord:
    torch.manual_seed(seed)
    return ArrayRecord(Net().state_dict())


@functools.cache
def _pictures() -> tuple[Samples, Samples]:
    """Training pictures and held-out ones; they travel with Callup. Put your own data here."""
    data = Fashion14Mlp().load().data
    return _samples(data.train.x, data.train.y), _samples(data.validation.x, data.validation.y)


def _samples(x: np.ndarray, y: np.ndarray) -> Samples:
    return torch.tensor(x, dtype=torch.float32).reshape(-1, 1, 14, 14), torch.tensor(y, dtype=torch.int64)


@functools.cache
def load(client: int, clients: int, partition: str) -> Samples:
    """What one client holds; every client computes the same split and takes its own part."""
    x, y = _pictures()[0]
    scheme = PARTITIONS.make(partition, clients=clients)
    rows = torch.tensor(scheme.split(y.numpy(), CLASSES, stream(0, "partition")).rows[client])
    return x[rows], y[rows]


def held_out() -> Samples:
    return _pictures()[1]


def train(net: Net, samples: Samples, epochs: int, rate: float, seed: int) -> tuple[float, int]:
    """Plain SGD; the mean loss and the number of steps."""
    x, y = samples
    optimiser = torch.optim.SGD(net.parameters(), lr=rate)
    order, losses = torch.Generator().manual_seed(seed), []
    for _ in range(epochs):
        for rows in torch.randperm(len(y), generator=order).split(32):
            loss = cross_entropy(net(x[rows]), y[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
    return float(np.mean(losses)), len(losses)


@torch.no_grad()
def losses(net: Net, samples: Samples) -> np.ndarray:
    """Of each sample."""
    return np.asarray(cross_entropy(net(samples[0]), samples[1], reduction="none").numpy())


@torch.no_grad()
def logits(net: Net, samples: Samples) -> np.ndarray:
    return np.asarray(net(samples[0]).numpy())
