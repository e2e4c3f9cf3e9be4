"""CIFAR-10: small colour photographs; the small CNN of FedACS and Fed-CBS, and the VGG of FedCM."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from callup.core.types import check_k
from callup.simulation.data.datasets import cifar10, cifar10_labels
from callup.simulation.data.splits import held_for_validation, three_splits
from callup.simulation.local import LocalTraining
from callup.simulation.networks import Norm, vgg11
from callup.simulation.task import TASKS, Data, Holdings, Loaded, Module, Task


@TASKS.add("cifar10-cnn", paper="Krizhevsky, technical report, 2009")
@dataclass(frozen=True)
class Cifar10Cnn(Task):
    """Ten kinds of things in 32 x 32 colour pixels, layers of 6 and 16 filters and of 120 and 84 units; needs torch.

    5,000 of the 50,000 training pictures are held out for validation. Each colour is standardised over the dataset,
    so a border of zeros, as cropping adds, has the mean colour. In memory the pictures take 0.7 GB.

    Differs from the paper: the default rate suits runs of a few hundred rounds. Fed-CBS trains with rate=0.01,
    decay=0.9992 and equal_steps over 3,000 rounds; FedACS with batch=400, rate=0.1, momentum=0.5, decay=0.9993,
    decay_per=epoch and augment=crop-flip.
    """

    validation: int = 5000

    def load(self) -> Loaded:
        local = LocalTraining(epochs=5, batch=50, rate=0.05, weight_decay=5e-4)
        return Loaded(_data(self.validation), Module(make_cnn), local)

    def holdings(self) -> Holdings:
        return _holdings(self.validation)


@TASKS.add("vgg11", paper="Simonyan and Zisserman, ICLR 2015")
@dataclass(frozen=True)
class Cifar10Vgg11(Task):
    """CIFAR-10 with the eleven-layer VGG that FedCM trains, eight layers of filters and three of units; needs torch.

    `width` is the number of filters in the first layer; the others follow. A round of FedCM's world, 8 clients of 2,250
    pictures and 5 epochs, takes one core about 45 seconds at width 8, two minutes at 16 and half an hour at 64, full
    size. Pictures are those of cifar10-cnn.

    norm=none is the published network. With norm=batch the running means and variances are averaged like weights, over
    clients that see different classes, which is a known harm. First weights are He et al.'s.

    Differs from the paper: FedCM gives neither width, normalisation nor learning rate; momentum 0.9, weight decay 5e-4
    and augment=crop-flip are what is usual where it says momentum, weight decay and standard augmentation.
    """

    width: int = 8
    norm: Norm = "none"
    validation: int = 5000

    def __post_init__(self) -> None:
        check_k(self.width, "vgg11: width")

    def load(self) -> Loaded:
        local = LocalTraining(epochs=5, batch=50, rate=0.02, momentum=0.9, weight_decay=5e-4, augment="crop-flip")
        return Loaded(_data(self.validation), Module(functools.partial(vgg11, self.width, self.norm)), local)

    def holdings(self) -> Holdings:
        return _holdings(self.validation)


def _holdings(validation: int) -> Holdings:
    labels = cifar10_labels()
    return Holdings(labels[~held_for_validation(labels, "cifar10", validation)], 10)


@functools.cache
def _data(validation: int) -> Data:
    # Means and deviations of red, green and blue over the published training set.
    mean, deviation = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
    return three_splits(cifar10(), "cifar10", validation, mean, deviation)


def make_cnn() -> Any:
    """Two convolutions of 5 x 5 with pooling, then three linear layers."""
    from torch import nn

    return nn.Sequential(
        *(nn.Conv2d(3, 6, kernel_size=5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, kernel_size=5), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Flatten(),
        *(nn.Linear(16 * 5 * 5, 120), nn.ReLU()),
        *(nn.Linear(120, 84), nn.ReLU()),
        nn.Linear(84, 10),
    )
