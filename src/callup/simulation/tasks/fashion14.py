"""Fashion-MNIST made small enough to travel with the package: 14 x 14 pixels, 16 shades, 12,000 pictures."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib import resources

import numpy as np

from callup.simulation.data.images import Images, Labelled, labelled
from callup.simulation.data.npz import Archive, open_npz
from callup.simulation.data.splits import three_splits
from callup.simulation.local import LocalTraining
from callup.simulation.task import TASKS, Data, Loaded, Task, mlp


@TASKS.add("fashion14-mlp", paper="Xiao, Rasul, Vollgraf, arXiv 1708.07747")
@dataclass(frozen=True)
class Fashion14Mlp(Task):
    """Ten kinds of clothing in 14 x 14 pixels, one hidden layer; needs no files, no torch and no network.

    Balanced: 1,000 of the 10,000 training pictures are held out for validation, 2,000 are for the test.
    Pixels are standardised (mean 0, deviation 1 over the dataset), which brings the first rounds forward.
    """

    hidden: int = 64
    validation: int = 1000

    def load(self) -> Loaded:
        data = _data(self.validation)
        return Loaded(data, mlp(data, self.hidden), LocalTraining(epochs=5, batch=20, rate=0.1))


@functools.cache
def _data(validation: int) -> Data:
    resource = resources.files("callup.simulation.tasks").joinpath("fashion14.npz")
    with resources.as_file(resource) as path, open_npz(path) as archive:
        images = Images(_unpacked(archive, "train"), _unpacked(archive, "test"))
    return three_splits(images, "fashion14", validation, mean=(0.2837,), deviation=(0.3296,)).flat()


def _unpacked(archive: Archive, part: str) -> Labelled:
    """Two pixels a byte, the left one in the high half; 17 times a shade of 0 to 15 is the byte it stands for."""
    pairs = archive.array(f"x4_{part}", "u1", (None, 98))
    pixels = np.stack((pairs >> 4, pairs & 15), axis=2).reshape(len(pairs), 196) * np.uint8(17)
    return labelled(pixels, archive.array(f"y_{part}", "u1", (None,)), (1, 14, 14), 10, "fashion14")
