"""What every selector chooses when fed the same rounds: one digest for each method and seed, on any machine.

The federation is made up from integers alone, so that whatever differs between two machines comes from a selector.
Run as a program it prints the digests as JSON.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable

import numpy as np

from callup.core.catalogue import SELECTORS
from callup.core.index import Ids
from callup.testing.driver import Driver
from callup.testing.federation import Federation, supplies
from callup.testing.variants import variants

_CLIENTS, _K, _ROUNDS = 60, 6, 12


def selection_digest(spec: str, seed: int, *, shuffled: bool = False) -> str:
    """Twelve rounds, a third of the clients away and every seventh reply lost; the digest of who was called when."""
    selector = SELECTORS.make(spec)
    world = Federation.of(_CLIENTS)
    driver = Driver(
        selector,
        world,
        supplies(selector.needs)[0],
        k=_K,
        seed=seed,
        online=lambda index, ids: ids[(ids + index) % 3 != 0],
        replies=lambda index, ids: ids[(ids + index) % 7 != 0],
        shuffled=shuffled,
    )
    digest = hashlib.sha256()
    for selection in driver.start().play(range(1, _ROUNDS + 1)):
        digest.update(_written(selection.ids))
    return digest.hexdigest()[:16]


def selection_digests(seeds: Iterable[int], *, shuffled: bool = False) -> dict[str, str]:
    """For every selector and each of its presets and variants: `"spec seed"` to digest."""
    return {
        f"{spec} {seed}": selection_digest(spec, seed, shuffled=shuffled)
        for card in SELECTORS.cards()
        for spec in variants(card)
        for seed in seeds
    }


def _written(ids: Ids) -> bytes:
    return np.asarray([len(ids), *ids], "<i8").tobytes()


if __name__ == "__main__":
    json.dump(selection_digests(range(2), shuffled="shuffled" in sys.argv[1:]), sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")
