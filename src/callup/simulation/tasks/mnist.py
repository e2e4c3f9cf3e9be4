"""MNIST: handwritten digits, 28 x 28 pixels; by writer too, which makes natural clients."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

from callup.simulation.data.datasets import mnist, mnist_writers
from callup.simulation.data.splits import three_splits
from callup.simulation.local import LocalTraining
from callup.simulation.networks import blocks
from callup.simulation.task import TASKS, Data, Loaded, Module, Task, mlp

# Over the published training set.
_MEAN, _DEVIATION = (0.1307,), (0.3081,)


@TASKS.add("mnist-mlp", paper="LeCun, Bottou, Bengio, Haffner, Proc. IEEE 1998")
@dataclass(frozen=True)
class MnistMlp(Task):
    """Ten handwritten digits in 28 x 28 pixels, one hidden layer (the setting of Fed-CBS's first figure).

    5,000 of the 60,000 training pictures, 500 of each digit, are held out for validation; pixels are standardised
    over the dataset.
    """

    hidden: int = 64
    validation: int = 5000

    def load(self) -> Loaded:
        data = _data(self.validation).flat()
        return Loaded(data, mlp(data, self.hidden), LocalTraining(epochs=5, batch=50, rate=0.1))


@TASKS.add("mnist-cnn", paper="LeCun, Bottou, Bengio, Haffner, Proc. IEEE 1998")
@dataclass(frozen=True)
class MnistCnn(Task):
    """Ten handwritten digits in 28 x 28 pixels, two layers of 5 x 5 filters with batch norm; needs torch.

    The same pictures as mnist-mlp.

    Differs from the paper: FedEMD says only that its network for each dataset is light-weight. Its code has the one
    for Fashion-MNIST, which is taken here too; for its local training see fashion-cnn.
    """

    validation: int = 5000

    def load(self) -> Loaded:
        model = Module(functools.partial(blocks, 1, 28))
        return Loaded(_data(self.validation), model, LocalTraining(epochs=1, batch=20, rate=0.02))


@TASKS.add("mnist-writers", paper="Yadav and Bottou, NeurIPS 2019")
@dataclass(frozen=True)
class MnistWriters(Task):
    """Ten handwritten digits with who wrote each one; natural clients by writer, made for the partition natural.

    Splits are by writer: those of the 10,000 test pictures (297 people) wrote no other, and for validation whole
    writers are drawn, once and for all, until they have at least `validation` pictures. About 490 of the 539 remain
    as clients, with 19 to 131 pictures each. model=cnn is the network of mnist-cnn and needs torch.

    Differs from the paper: stands in for FEMNIST, Fed-CBS's world of about 3,500 writers of 62 letters and digits.
    Fewer writers mean that 10 % of them online are about 49; the paper does not describe its network.
    """

    model: Literal["mlp", "cnn"] = "mlp"
    hidden: int = 64
    """Of model=mlp."""
    validation: int = 5000

    def load(self) -> Loaded:
        data = _by_writer(self.validation)
        if self.model == "cnn":
            return Loaded(data, Module(functools.partial(blocks, 1, 28)), LocalTraining(epochs=5, batch=20, rate=0.02))
        flat = data.flat()
        return Loaded(flat, mlp(flat, self.hidden), LocalTraining(epochs=5, batch=20, rate=0.05))


@functools.cache
def _data(validation: int) -> Data:
    return three_splits(mnist(), "mnist", validation, _MEAN, _DEVIATION)


@functools.cache
def _by_writer(validation: int) -> Data:
    images, writers = mnist_writers()
    return three_splits(images, "mnist-writers", validation, _MEAN, _DEVIATION, writers)
