"""STL-10: few colour photographs, FedEMD's world of little data."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from callup.simulation.data.datasets import stl10
from callup.simulation.data.images import Images, Labelled
from callup.simulation.data.splits import own_test_set, three_splits
from callup.simulation.local import LocalTraining
from callup.simulation.networks import blocks
from callup.simulation.task import TASKS, Data, Loaded, Module, Task

_SIDE = 48


@TASKS.add("stl10-cnn", paper="Coates, Ng, Lee, AISTATS 2011")
@dataclass(frozen=True)
class Stl10Cnn(Task):
    """Ten kinds of things in 48 x 48 colour pixels, three layers of 5 x 5 filters with batch norm; needs torch.

    Published pictures of 96 x 96 are halved by averaging. From the published files 5,000 pictures less `validation`
    are for training and 8,000 for the test; from the reduced file of 3,996, which has no test set, `test` of them.

    Differs from the paper: FedEMD says only that its network is light-weight; this one has 16, 32 and 64 filters, one
    block more than its code has for 28 x 28 pixels. For its local training see fashion-cnn.
    """

    validation: int = 500
    test: int = 800
    """Held out where the data has no test set."""

    def load(self) -> Loaded:
        model = Module(functools.partial(blocks, 3, _SIDE, (16, 32, 64)))
        return Loaded(_data(self.validation, self.test), model, LocalTraining(epochs=1, batch=10, rate=0.02))


@functools.cache
def _data(validation: int, test: int) -> Data:
    found = stl10()
    small = Images(halved(found.train), None if found.test is None else halved(found.test))
    # Means and deviations of red, green and blue over the 3,996 pictures of the reduced file.
    mean, deviation = (0.4476, 0.4402, 0.4069), (0.2539, 0.2500, 0.2649)
    return three_splits(own_test_set(small, "stl10", test), "stl10", validation, mean, deviation)


def halved(part: Labelled) -> Labelled:
    """Pictures of 48 x 48: larger ones by the mean of every two by two pixels."""
    if part.x.shape[-1] == _SIDE:
        return part
    count, channels, side, _ = part.x.shape
    quads = part.x.reshape(count, channels, side // 2, 2, side // 2, 2)
    return Labelled(np.rint(quads.mean(axis=(3, 5), dtype=np.float32)).astype(np.uint8), part.y)
