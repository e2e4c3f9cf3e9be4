"""What metrics read: the curve of a run, small enough to keep for ever."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from callup.core.errors import InputError
from callup.simulation.run import RoundRecord, Run


@dataclass(frozen=True)
class Series:
    """Accuracy wherever it was measured, the clock at these moments, recall on each class, and the mean QCID."""

    rounds: int
    """How many were played."""
    index: tuple[int, ...] = ()
    """Rounds after which the model was tested; the other columns are aligned with it."""
    accuracy: tuple[float, ...] = ()
    clock: tuple[float, ...] = ()
    """Simulated seconds; all 0 where no clock was running."""
    recall: tuple[tuple[float | None, ...], ...] = ()
    qcid: float | None = None
    """Mean over all rounds in which anybody took part."""
    validation: tuple[float, ...] = ()
    """Accuracy on held-out training data at the same moments; kept where choices are made by it, else empty."""

    def __post_init__(self) -> None:
        columns = {len(self.index), len(self.accuracy), len(self.clock)}
        optional = {len(self.recall), len(self.validation)} - {0}
        if len(columns) > 1 or optional - {len(self.index)}:
            raise InputError(
                f"the columns of a series differ in length: {len(self.index)} rounds, {len(self.accuracy)} accuracies, "
                f"{len(self.clock)} times, {len(self.recall)} recalls, {len(self.validation)} on validation data"
            )

    def plain(self) -> dict[str, Any]:
        """As JSON holds it; `from_plain` reads it back."""
        return {
            "rounds": self.rounds,
            "index": list(self.index),
            "accuracy": list(self.accuracy),
            "clock": list(self.clock),
            "recall": [list(row) for row in self.recall],
            "qcid": self.qcid,
            "validation": list(self.validation),
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Series:
        try:
            return cls(
                int(values["rounds"]),
                tuple(map(int, values["index"])),
                tuple(map(float, values["accuracy"])),
                tuple(map(float, values["clock"])),
                tuple(tuple(None if r is None else float(r) for r in row) for row in values["recall"]),
                None if values["qcid"] is None else float(values["qcid"]),
                tuple(map(float, values.get("validation", ()))),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"not a series of a run: {type(error).__name__} at {error}") from error


def series(run: Run | Series | Sequence[RoundRecord], validation: bool = False) -> Series:
    """The series of a run, of its history, or the one given; with accuracy on validation data where asked for."""
    if isinstance(run, Series):
        return run
    history = run.history if isinstance(run, Run) else run
    tested = [(r, r.accuracy) for r in history if r.accuracy is not None and math.isfinite(r.accuracy)]
    mixed = [r.qcid for r in history if r.qcid is not None]
    held_out = tuple(r.validation_accuracy for r, _ in tested if r.validation_accuracy is not None)
    recalls = tuple(tuple(r.recall) for r, _ in tested if r.recall is not None)
    return Series(
        rounds=history[-1].index if history else 0,
        index=tuple(r.index for r, _ in tested),
        accuracy=tuple(accuracy for _, accuracy in tested),
        clock=tuple(r.clock for r, _ in tested),
        recall=recalls if len(recalls) == len(tested) else (),
        qcid=math.fsum(mixed) / len(mixed) if mixed else None,
        validation=held_out if validation and len(held_out) == len(tested) else (),
    )
