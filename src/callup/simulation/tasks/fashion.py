"""Fashion-MNIST in full: 28 x 28 pixels, a small MLP as Fed-CBS uses it or a small CNN as FedEMD does."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from callup.simulation.data.datasets import fashion_mnist
from callup.simulation.data.splits import three_splits
from callup.simulation.local import LocalTraining
from callup.simulation.networks import blocks
from callup.simulation.task import TASKS, Data, Loaded, Module, Task, mlp


@TASKS.add("fashion-mlp", paper="Xiao, Rasul, Vollgraf, arXiv 1708.07747")
@dataclass(frozen=True)
class FashionMlp(Task):
    """Ten kinds of clothing in 28 x 28 pixels, one hidden layer.

    5,000 of the 60,000 training pictures are held out for validation; pixels are standardised over the dataset.
    """

    hidden: int = 64
    validation: int = 5000

    def load(self) -> Loaded:
        data = _data(self.validation).flat()
        return Loaded(data, mlp(data, self.hidden), LocalTraining(epochs=5, batch=50, rate=0.1))


@TASKS.add("fashion-cnn", paper="Xiao, Rasul, Vollgraf, arXiv 1708.07747")
@dataclass(frozen=True)
class FashionCnn(Task):
    """Ten kinds of clothing in 28 x 28 pixels, two layers of 5 x 5 filters with batch norm; needs torch.

    5,000 of the 60,000 training pictures are held out for validation; pixels are standardised over the dataset.

    Differs from the paper: FedEMD's own code trains with batches of 4 at rate 0.001 and momentum 0.9, divided by 10
    after every ten participations of a client; the default here is faster. Its setting is epochs=1, batch=4,
    rate=0.001, momentum=0.9, decay=0.1, decay_per=participation, decay_every=10, rate_floor=1e-10.
    """

    validation: int = 5000

    def load(self) -> Loaded:
        return Loaded(_data(self.validation), Module(make_cnn), LocalTraining(epochs=1, batch=20, rate=0.02))


@functools.cache
def _data(validation: int) -> Data:
    return three_splits(fashion_mnist(), "fashion-mnist", validation, mean=(0.2860,), deviation=(0.3530,))


def make_cnn() -> Any:
    """Two blocks of convolution, batch norm, ReLU and pooling with 16 and 32 filters, then one linear layer."""
    return blocks(channels=1, side=28)
