"""How a client trains: one description, one schedule of mini-batches and one learning-rate rule for all backends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from callup.core.errors import UsageError, suggest
from callup.core.types import check_k

Augment = Literal["none", "crop-flip"]
DecayPer = Literal["round", "epoch", "participation"]


@dataclass(frozen=True)
class LocalTraining:
    """Mini-batch SGD on the client's own samples, from the global model."""

    epochs: int = 5
    batch: int = 50
    rate: float = 0.05
    momentum: float = 0.0
    weight_decay: float = 0.0
    augment: Augment = "none"
    decay: float = 1.0
    """The rate is multiplied by this ..."""
    decay_per: DecayPer = "round"
    """... after each round, each local epoch (it carries over between rounds), or each time the client takes part."""
    decay_every: int = 1
    """... or only after every so many of them."""
    rate_floor: float = 0.0
    equal_steps: bool = False
    """All clients take as many steps as the largest one needs for its epochs (Fed-CBS)."""
    proximal: float = 0.0
    """FedProx's mu: adds mu/2 ||w - w_t||^2 to the local objective."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "decay_every"):
            check_k(getattr(self, name), f"local training: {name}")
        for name, known in (("augment", get_args(Augment)), ("decay_per", get_args(DecayPer))):
            if getattr(self, name) not in known:
                raise UsageError(
                    f"local training: {name} is '{getattr(self, name)}'{suggest(getattr(self, name), known)}"
                )
        for name in ("rate", "decay"):
            if not 0 < getattr(self, name) < math.inf:
                raise UsageError(f"local training: {name} must be above 0, got {getattr(self, name)}")
        for name in ("momentum", "weight_decay", "rate_floor", "proximal"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UsageError(f"local training: {name} must not be negative, got {getattr(self, name)}")
        if self.momentum >= 1:
            raise UsageError(f"local training: momentum must be below 1, got {self.momentum}")

    def steps(self, size: int, largest: int) -> int:
        """How many mini-batches a client of this size trains on."""
        return self.epochs * math.ceil((largest if self.equal_steps else size) / self.batch) if size else 0

    def batches(self, size: int, largest: int, rng: np.random.Generator) -> list[np.ndarray]:
        """The schedule: positions in the client's samples for each step, a fresh shuffle for each pass."""
        left, out = self.steps(size, largest), []
        while left > 0:
            order = rng.permutation(size)
            starts = range(0, size, self.batch)
            out += [order[i : i + self.batch] for i in starts][:left]
            left -= len(starts)
        return out

    def rates(self, index: int, participations: np.ndarray) -> np.ndarray:
        """Learning rate of each client (row) in each local epoch (column) of round `index`, counted from 1."""
        epoch = np.arange(self.epochs)
        before = {
            "round": np.full((len(participations), self.epochs), index - 1),
            "epoch": np.tile((index - 1) * self.epochs + epoch, (len(participations), 1)),
            "participation": np.tile(np.asarray(participations)[:, None], (1, self.epochs)),
        }[self.decay_per]
        return np.maximum(self.rate * self.decay ** (before // self.decay_every), self.rate_floor)
