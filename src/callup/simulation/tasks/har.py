"""Smartphone recordings of thirty people: what somebody does, told from how their phone moves."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.core.errors import UsageError
from callup.core.randomness import stream
from callup.simulation.data.har import Recordings, activities
from callup.simulation.local import LocalTraining
from callup.simulation.task import TASKS, Data, Loaded, Split, Task, mlp

HeldOut = Literal["time", "people"]
_CLASSES = 6
_PEOPLE = 9
"""Held out of 30, as in the published split; a third of them for validation."""
# Means and deviations of the six channels over the whole dataset: accelerations in g, then turns in radians a second.
_MEAN = (0.8097, 0.0207, 0.0842, 0.0055, -0.0023, -0.0075)
_DEVIATION = (0.4139, 0.3988, 0.3453, 0.4100, 0.3924, 0.2578)


@TASKS.add("har", paper="Reyes-Ortiz et al., Neurocomputing 2016")
@dataclass(frozen=True)
class Har(Task):
    """Six activities in windows of 128 steps of six sensor channels, one hidden layer; natural clients by person.

    held_out=time: all 30 people are clients, and the last of everybody's windows of each activity are for validation
    and test. Neighbouring windows share half their steps, so one window is left out at each border. held_out=people:
    9 people drawn once and for all are for validation (3) and test (6), the other 21 are clients.
    """

    hidden: int = 64
    held_out: HeldOut = "time"
    validation: float = 0.1
    """Share of everybody's windows, for held_out=time; as is `test`."""
    test: float = 0.2

    def load(self) -> Loaded:
        data = _data(self.held_out, self.validation, self.test)
        return Loaded(data, mlp(data, self.hidden), LocalTraining(epochs=5, batch=20, rate=0.05))


@functools.cache
def _data(held_out: HeldOut, validation: float, test: float) -> Data:
    found = activities()
    place = by_people(found) if held_out == "people" else by_time(found, validation, test)
    x = (found.x - np.array(_MEAN, np.float32)) / np.array(_DEVIATION, np.float32)
    x = x.reshape(len(x), -1)

    def split(number: int) -> Split:
        part = Split(x[place == number], found.y[place == number])
        for array in (part.x, part.y):
            array.setflags(write=False)  # every run in the process shares them
        return part

    return Data(split(0), split(1), split(2), _CLASSES, owners=found.user[place == 0])


def by_time(found: Recordings, validation: float, test: float) -> np.ndarray:
    """For each window 0 for training, 1 for validation, 2 for the test, -1 for those at the borders."""
    for name, share in (("validation", validation), ("test", test)):
        if not 0 < share <= 0.4:
            raise UsageError(f"har: {name} must be a share of the windows above 0 and up to 0.4, got {share}")
    place = np.zeros(len(found.y), np.int64)
    for person in np.unique(found.user):
        for activity in range(_CLASSES):
            windows = np.flatnonzero((found.user == person) & (found.y == activity))
            first_test = len(windows) - round(test * len(windows))
            first_held = first_test - round(validation * len(windows))
            place[windows[first_test:]] = 2
            place[windows[first_held:first_test]] = 1
            for border in (first_held, first_test):
                place[windows[max(border - 1, 0) : border]] = -1
    return place


def by_people(found: Recordings) -> np.ndarray:
    """For each window 0 for training, 1 for validation, 2 for the test, by whose it is."""
    people = stream(0, "validation", "har").permutation(np.unique(found.user))[:_PEOPLE]
    place = np.zeros(len(found.y), np.int64)
    place[np.isin(found.user, people)] = 2
    place[np.isin(found.user, people[: _PEOPLE // 3])] = 1
    return place
