"""Who takes part: the script of each, what its environment holds, and how that environment is made."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from work import FOLDER, WORKS

ROOT = FOLDER.parent
CALLUP = "Callup"


class Failed(Exception):
    """An environment that could not be made, or a script that did not answer; the text says why."""


@dataclass(frozen=True)
class Contestant:
    """`home` is the environment's folder, `words` are further words for the script."""

    script: str
    home: str
    packages: tuple[str, ...]
    words: tuple[str, ...] = ()
    works: tuple[str, ...] = tuple(WORKS)
    variables: dict[str, str] = field(default_factory=dict)
    launcher: tuple[str, ...] = ()
    """What stands between python and the script."""
    threads: tuple[int, ...] = (1, 2)
    """How many are tried."""

    @property
    def python(self) -> Path:
        return FOLDER / self.home / "bin" / "python"

    def install(self) -> None:
        """Makes the environment, unless it is there with the same packages; Callup's own may need others by now."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        ours = project["dependencies"] if "-e" in self.packages else []
        label, wanted = FOLDER / self.home / "packages.txt", "\n".join([*self.packages, *ours])
        if label.exists() and label.read_text() == wanted:
            return
        print(f"making .bench/{self.home} with {', '.join(self.packages)} ...", flush=True)
        pip = [str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for command in (
            [sys.executable, "-m", "venv", str(FOLDER / self.home)],
            # The constraints name a torch without CUDA.
            [*pip, "-c", "constraints.txt", *self.packages],
        ):
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            if done.returncode:
                raise Failed(f"cannot be installed: {last_line(done.stderr)}")
        label.write_text(wanted)


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["no reason given"])[-1]


# Without these Flower and ray report to their makers, and Flower installs what an app asks for.
OFFLINE = {
    "FLWR_HOME": str(FOLDER / "flower" / "home"),
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
}
OURS = ("callup_backend.py", "callup", ("-e", ".[fast]"))
CONTESTANTS = {
    CALLUP: Contestant(*OURS),
    "Callup, everyone called before": Contestant(*OURS, words=("again",), works=("mlp",)),
    "plain torch loop": Contestant("plain_torch.py", "torch", ("torch", "numpy")),
    "pfl": Contestant("pfl_simulation.py", "pfl", ("pfl==0.6.0", "torch")),
    "pfl, two processes": Contestant(
        *("pfl_simulation.py", "pfl", ("pfl==0.6.0", "torch")),
        launcher=("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"),
        threads=(1,),
    ),
    "FedJAX": Contestant("fedjax_simulation.py", "fedjax", ("fedjax==0.0.17", "jax", "jaxlib")),
    "Flower simulation engine": Contestant(
        "flower_simulation.py", "flower", ("flwr[simulation]==1.41.0", "torch"), variables=OFFLINE
    ),
}


def environment(contestant: Contestant, started: float) -> dict[str, str]:
    """Of the process; worker processes of ray find the modules by PYTHONPATH."""
    own = {"PYTHONPATH": str(Path(__file__).parent), "BENCH_STARTED": str(started)}
    return {**os.environ, **contestant.variables, **own}
