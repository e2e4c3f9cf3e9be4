"""The same rounds give the same choices as on the machine where the golden digests were written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import callup.testing.digests
from callup.experiments.selftest.finding import Seen

_ENVIRONMENTS: dict[str, dict[str, str]] = {
    "as it comes": {},
    "one thread, another BLAS kernel": {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Nehalem"},
    "no vector instructions, clients in another order": {
        "NPY_DISABLE_CPU_FEATURES": "AVX512_SPR AVX512_ICL AVX512_SKX AVX512F AVX2 FMA3 X86_V4 X86_V3",
        "PYTHONHASHSEED": "1",
    },
}


def determinism(folder: Path) -> Seen:  # noqa: ARG001
    """Each environment in a process of its own; every method, preset and variant, two seeds."""
    golden = json.loads(Path(callup.testing.digests.__file__).with_name("golden.json").read_text(encoding="utf-8"))
    cases, failures = 0, []
    for name, variables in _ENVIRONMENTS.items():
        command = [sys.executable, "-W", "ignore", "-m", "callup.testing.digests"]
        command += ["shuffled"] if "order" in name else []
        done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        cases += len(golden)
        failures += [f"{key} ({name})" for key in golden if found.get(key) != golden[key]]
    return Seen(f"{cases} digests in {len(_ENVIRONMENTS)} environments, {len(failures)} differ", cases, tuple(failures))
