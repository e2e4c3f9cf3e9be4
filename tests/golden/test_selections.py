"""The same rounds give the same choices under other BLAS kernels, without vector instructions, with other threads,
hash seeds and orders of clients: each environment is a process of its own, and all must print the golden digests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import callup.testing.digests
from callup.core.catalogue import SELECTORS
from callup.testing.digests import selection_digest

GOLDEN = Path(callup.testing.digests.__file__).with_name("golden.json")
NO_VECTORS = "AVX512_SPR AVX512_ICL AVX512_SKX AVX512F AVX2 FMA3 X86_V4 X86_V3"
MATRIX: dict[str, dict[str, str]] = {
    "as it comes": {},
    "no vector instructions": {"NPY_DISABLE_CPU_FEATURES": NO_VECTORS},
    "another BLAS kernel": {"OPENBLAS_CORETYPE": "Nehalem"},
    "one thread, hash seed 0": {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
    "many threads, hash seed 1, a third BLAS kernel": {
        "OPENBLAS_NUM_THREADS": "4",
        "OMP_NUM_THREADS": "4",
        "PYTHONHASHSEED": "1",
        "OPENBLAS_CORETYPE": "Haswell",
    },
    "clients in another order": {},
}


def digests(name: str) -> dict[str, str]:
    arguments = ["shuffled"] if "order" in name else []
    # A feature this processor does not have cannot be switched off, and numpy says so in a warning.
    command = [sys.executable, "-W", "ignore", "-m", "callup.testing.digests", *arguments]
    done = subprocess.run(command, env={**os.environ, **MATRIX[name]}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", MATRIX)
def test_every_choice_is_the_golden_one(name: str) -> None:
    golden, found = json.loads(GOLDEN.read_text()), digests(name)
    assert found.keys() == golden.keys(), "methods were added or renamed: run `make golden` and look at the difference"
    changed = {key: (golden[key], found[key]) for key in golden if golden[key] != found[key]}
    assert not changed, f"other clients are chosen than before ({name}): {changed}"


def test_the_environments_do_change_the_arithmetic() -> None:
    """Else the matrix shows nothing: a plain matrix product differs in its last bits with the BLAS kernel."""
    program = (
        "import numpy as np; a = np.random.default_rng(0).normal(size=(64, 640)).astype(np.float32);"
        "print((a @ a.T).tobytes().hex()[:4000])"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, **MATRIX[name]}, capture_output=True, check=True
        ).stdout
        for name in ("another BLAS kernel", "as it comes")
    }
    assert len(seen) == 2


def test_a_digest_tells_seeds_and_methods_apart() -> None:
    assert len({selection_digest("random", seed) for seed in range(5)}) == 5
    assert selection_digest("random", 0) != selection_digest("fed-cbs", 0)


def test_there_are_digests_of_every_selector() -> None:
    named = {key.split(" ")[0].split(":")[0] for key in json.loads(GOLDEN.read_text())}
    assert named == {card.name for card in SELECTORS.cards()}
    assert len(np.unique(list(json.loads(GOLDEN.read_text()).values()))) > 20
