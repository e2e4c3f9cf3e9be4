"""The two networks in torch and the plain way to train them, for the loop, pfl and Flower alike."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional
from work import BATCH, EPOCHS, RATE


def make_model(work: str) -> nn.Module:
    if work == "mlp":
        return nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
    return nn.Sequential(
        *(nn.Conv2d(3, 6, kernel_size=5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, kernel_size=5), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Flatten(),
        *(nn.Linear(16 * 5 * 5, 120), nn.ReLU()),
        *(nn.Linear(120, 84), nn.ReLU()),
        nn.Linear(84, 10),
    )


@torch.no_grad()
def loss_of(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    return functional.cross_entropy(model(x), y).item()


def train(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
    """What most people write for one client: an optimiser of its own, mini-batches by index."""
    optimiser = torch.optim.SGD(model.parameters(), lr=RATE)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(y)).split(BATCH):
            optimiser.zero_grad()
            functional.cross_entropy(model(x[rows]), y[rows]).backward()
            optimiser.step()
