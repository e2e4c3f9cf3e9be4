"""Modules for the torch tests, in a file of their own so that worker processes can import them."""

from __future__ import annotations

import multiprocessing
import os

import torch
from torch import nn


def make_cnn() -> nn.Module:
    """Everything that could go wrong in two small layers: batch norm's buffers, dropout's randomness."""
    return nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(4 * 3 * 3, 3),
    )


def make_plain_cnn() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4 * 3 * 3, 3))


def make_wrong_width() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 5))


def make_wrong_input() -> nn.Module:
    return nn.Linear(63, 3)


class _DiesInTraining(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training and multiprocessing.parent_process() is not None:
            os._exit(7)
        return self.layer(x.flatten(1))


class _RaisesInTraining(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            raise ValueError("the third row is odd\nand more")
        return self.layer(x.flatten(1))


def make_dying() -> nn.Module:
    return _DiesInTraining()


def make_raising() -> nn.Module:
    return _RaisesInTraining()
