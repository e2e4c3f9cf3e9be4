"""Replies that arrive broken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.core.index import Ids
from callup.core.randomness import client_uniforms, stream
from callup.simulation.fault import FAULTS, Fault, check_chance

_KINDS = ("nan", "infinite", "huge", "bits")


@FAULTS.add("corrupted")
@dataclass(frozen=True)
class Corrupted(Fault):
    """A reply's model is broken with this chance: NaN or infinite entries, a huge one, or flipped bits.

    Flipped bits and a huge entry may leave every number finite, so a check of that alone does not find them.
    """

    chance: float = 0.05
    kind: Literal["nan", "infinite", "huge", "bits", "mixed"] = "mixed"
    entries: int = 10
    """How many of the model's numbers are hit."""

    def __post_init__(self) -> None:
        check_chance("corrupted", chance=self.chance)

    def spoil(self, models: np.ndarray, ids: Ids, index: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        luck = client_uniforms(rng, ids)
        if not (luck < self.chance).any():
            return models
        broken = models.copy()
        for row in np.flatnonzero(luck < self.chance):
            # The client's own luck decides how, so that it does not depend on who else was asked.
            own = stream(int(luck[row] * 2**53), "broken")
            kind = self.kind if self.kind != "mixed" else _KINDS[int(own.integers(len(_KINDS)))]
            where = own.integers(models.shape[1], size=self.entries)
            if kind == "bits":
                words = np.ascontiguousarray(broken[row], np.float32).view(np.uint32)
                words[where] ^= np.uint32(1) << own.integers(32, size=self.entries).astype(np.uint32)
                broken[row] = words.view(np.float32)
            else:
                broken[row, where] = {"nan": np.nan, "infinite": np.inf, "huge": 1e30}[kind]
        return broken
