"""The trials of the short battery, in the order in which they are held."""

from __future__ import annotations

from callup.experiments.selftest.contract import contract
from callup.experiments.selftest.crash import crash
from callup.experiments.selftest.determinism import determinism
from callup.experiments.selftest.files import files
from callup.experiments.selftest.finding import Trial
from callup.experiments.selftest.liars import liars
from callup.experiments.selftest.replies import replies

TRIALS = [
    Trial(
        "contract", "Every method returns the right number of distinct, available clients and keeps its rules", contract
    ),
    Trial("determinism", "The same rounds give the same choices on every machine", determinism),
    Trial("crash", "A run killed at any moment goes on as if nothing had happened", crash),
    Trial("liars", "Lying clients never win more places than the guard promises", liars),
    Trial("replies", "With overcommit=auto k clients reply in 99 rounds of 100", replies),
    Trial("files", "A hostile file runs no code and is refused by name", files),
]
