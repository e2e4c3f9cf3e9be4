"""MNIST: handwritten digits, 28 x 28 pixels."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from callup.simulation.data.datasets import mnist
from callup.simulation.data.splits import three_splits
from callup.simulation.local import LocalTraining
from callup.simulation.task import TASKS, Data, Loaded, Task, mlp


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
        data = _data(self.validation)
        return Loaded(data, mlp(data, self.hidden), LocalTraining(epochs=5, batch=50, rate=0.1))


@functools.cache
def _data(validation: int) -> Data:
    return three_splits(mnist(), "mnist", validation, mean=(0.1307,), deviation=(0.3081,)).flat()
