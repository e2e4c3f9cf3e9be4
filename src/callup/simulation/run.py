"""What a run leaves behind: one record a round, readable without the tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from callup.core.clients import Clients


@dataclass
class Ledger:
    """What was sent and done, in one round or in all."""

    messages: int = 0
    bytes_down: int = 0
    bytes_up: int = 0
    probes: int = 0
    local_steps: int = 0

    def add(self, other: Ledger) -> None:
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True)
class RoundRecord:
    """One round: who was asked, who was used, how good the model is now. None where nothing was measured."""

    index: int
    available: int
    asked: list[int]
    used: list[int]
    kept: list[int]
    failed: dict[str, str]
    """Client id (as text, for JSON) to reason."""
    digest: str
    """Of the selection: the same digest means the same clients in the same order."""
    qcid: float | None = None
    """Class imbalance of those used (Fed-CBS's measure, on true labels)."""
    class_counts: list[int] = field(default_factory=list)
    """Samples of each class held by those used."""
    accuracy: float | None = None
    """On the test set, as are `loss` and `recall`."""
    loss: float | None = None
    recall: list[float | None] | None = None
    validation_accuracy: float | None = None
    validation_loss: float | None = None
    notes: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    """Simulated length of the round."""
    clock: float = 0.0
    """Simulated time at its end."""
    ledger: Ledger = field(default_factory=Ledger)
    abandoned: bool = False
    """Fewer good replies than the quorum: the model stayed as it was."""
    guard: list[str] = field(default_factory=list)
    """What the guard did in this round and on what evidence, in sentences."""


@dataclass(frozen=True)
class Run:
    """Settings, the federation as it truly was, the history and the last model."""

    settings: Mapping[str, Any]
    """All that is needed to run it again, plain values only."""
    clients: Clients
    """True sizes and label counts, whatever the selector was allowed to see."""
    history: tuple[RoundRecord, ...]
    model: np.ndarray
    states: Mapping[str, Mapping[str, np.ndarray]]
    """What the selector, the average and the filter had learned by the end."""

    def save(self, folder: str | Path) -> Path:
        """Writes the run directory: config.toml, events.jsonl, clients and end state as safetensors."""
        from callup.simulation.store import save_run

        return save_run(self, Path(folder))
