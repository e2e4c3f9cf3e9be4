"""The courses of several clients side by side, as arrays, so that all of them can take a step together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.simulation.backends.course import Course


@dataclass(frozen=True)
class Timetable:
    """Arrays of (step, client, place in the mini-batch). Clients come with the most steps first.

    Those still training are then always the first so many. A mini-batch that is short leaves places unfilled, which
    count with weight zero.
    """

    rows: np.ndarray
    """Positions in the client's own samples; `blank` at unfilled places."""
    labels: np.ndarray
    weights: np.ndarray
    """1 / samples in the mini-batch; zero at unfilled places."""
    moves: np.ndarray | None
    """Crop-and-flip draws, with one more axis; None without augmentation."""
    rates: np.ndarray
    """(step, client)"""
    active: list[int]
    """How many clients, from the first, take part in each step."""

    @classmethod
    def of(cls, courses: list[Course], labels: list[np.ndarray], blank: int) -> Timetable:
        lengths = np.zeros((len(courses[0]), len(courses)), np.intp)
        rates = np.zeros(lengths.shape, np.float32)
        for client, course in enumerate(courses):
            lengths[: len(course), client] = [len(batch) for batch in course.batches]
            rates[: len(course), client] = course.rates
        filled = np.arange(lengths.max()) < lengths[:, :, None]
        visits = [np.concatenate(course.batches) for course in courses]
        moves = [np.concatenate(course.moves) for course in courses if course.moves is not None]
        return cls(
            rows=_placed(visits, filled, blank),
            labels=_placed([own[seen] for own, seen in zip(labels, visits, strict=True)], filled, 0),
            weights=(filled / np.maximum(lengths, 1)[:, :, None]).astype(np.float32),
            moves=_placed(moves, filled, 0) if moves else None,
            rates=rates,
            active=np.count_nonzero(lengths, axis=1).tolist(),
        )


def _placed(visits: list[np.ndarray], filled: np.ndarray, blank: int) -> np.ndarray:
    """What each client meets, visit after visit, at the places that are filled."""
    out = np.full((*filled.shape, *visits[0].shape[1:]), blank, np.intp)
    for client, met in enumerate(visits):
        out[:, client][filled[:, client]] = met
    return out
