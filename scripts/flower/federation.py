"""A real Flower federation on this machine: a SuperLink and some SuperNodes, started and stopped by process id.

python scripts/flower/federation.py examples/flower-quickstart --nodes 3 --run-config 'selector="fed-cbs"'
python scripts/flower/federation.py examples/flower-quickstart --nodes 3 --tls
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from certificates import make_certificates, make_node_key

# Nothing is fetched and nothing is reported: a federation that is tried out at home stays at home.
QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
}
_BIN = Path(sys.executable).parent


class Federation:
    """Use it as a context: whatever it started has ended when it is left."""

    def __init__(
        self,
        nodes: int = 3,
        *,
        tls: bool = False,
        simulation: bool = False,
        database: bool = False,
        folder: Path | None = None,
    ) -> None:
        self._made = tempfile.TemporaryDirectory(prefix="federation-") if folder is None else None
        self.folder = Path(self._made.name) if self._made is not None else folder or Path()
        self.nodes, self.tls, self.simulation = nodes, tls, simulation
        self.database = self.folder / "superlink.db" if database else None
        self.port = free_port()
        self.superlink: subprocess.Popen[bytes] | None = None
        self.supernodes: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Federation:
        try:
            self._prepare()
            self.start_superlink()
            for number in range(0 if self.simulation else self.nodes):
                if self.tls:
                    self.register(number)
                self.start_node(number)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _prepare(self) -> None:
        safe = 'root-certificates = "' + str(self.folder / "ca.crt") + '"' if self.tls else "insecure = true"
        home = self.folder / "cli"
        home.mkdir(parents=True)
        (home / "config.toml").write_text(
            f'[superlink]\ndefault = "here"\n[superlink.here]\naddress = "127.0.0.1:{self.port}"\n{safe}\n'
        )
        if self.tls:
            make_certificates(self.folder)

    def start_superlink(self) -> None:
        safe = ["--insecure"]
        if self.tls:
            files = {"--ssl-ca-certfile": "ca.crt", "--ssl-certfile": "server.pem", "--ssl-keyfile": "server.key"}
            safe = [part for option, name in files.items() for part in (option, str(self.folder / name))]
            safe.append("--enable-supernode-auth")
        more = ["--simulation"] if self.simulation else []
        more += ["--database", str(self.database)] if self.database else []
        self.superlink = self._start(
            "superlink",
            "flower-superlink",
            *safe,
            *more,
            "--disable-runtime-dependency-installation",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
        )
        self._wait_for_port()

    def register(self, number: int) -> None:
        """Makes a key for a node and tells the SuperLink to let it in."""
        key = self.folder / f"key{number}"
        make_node_key(key)
        self.flwr("supernode", "register", f"{key}.pub", "here", "--name", f"client-{number}")

    def start_node(self, number: int, key: Path | None = None) -> None:
        safe = ["--insecure"]
        if self.tls:
            key = key or self.folder / f"key{number}"
            safe = ["--root-certificates", str(self.folder / "ca.crt"), "--auth-supernode-private-key", str(key)]
        self.supernodes[number] = self._start(
            f"node{number}",
            "flower-supernode",
            *safe,
            "--superlink",
            f"127.0.0.1:{self.port}",
            "--host",
            "127.0.0.1",
            "--port",
            str(free_port()),
            "--node-config",
            f"partition-id={number} num-partitions={self.nodes}",
        )

    def run(self, app: Path, seconds: float, federation_config: str = "", **config: Any) -> str:
        """Runs an app to its end and returns how it ended, e.g. finished:completed."""
        return self.wait(self.submit(app, federation_config, **config), seconds)

    def submit(self, app: Path, federation_config: str = "", **config: Any) -> int:
        values = " ".join(f"{name.replace('_', '-')}={json.dumps(value)}" for name, value in config.items())
        more = ["--run-config", values] if values else []
        more += ["--federation-config", federation_config] if federation_config else []
        told = self.flwr("run", str(app), "here", "--format", "json", *more)
        return int(json.loads(told[told.index("{") :])["run-id"])

    def wait(self, run: int, seconds: float) -> str:
        """`flwr run` says nothing of how a run ends: it has to be asked for."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            status = self.status(run)
            if status.startswith("finished"):
                return status
            time.sleep(3.0)  # each question starts a process
        return f"still {self.status(run)} after {seconds:g} s"

    def status(self, run: int) -> str:
        told = self.flwr("list", "here", "--run-id", str(run), "--format", "json")
        return str(json.loads(told[told.index("{") :])["runs"][0]["status"])

    def flwr(self, *words: str) -> str:
        done = subprocess.run(
            [str(_BIN / "flwr"), *words], env=self._environment("cli"), capture_output=True, text=True, timeout=300
        )
        if done.returncode:
            raise RuntimeError(f"flwr {' '.join(words)} failed:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def log(self, name: str) -> str:
        """What a process has said: superlink, node0, node1, ..."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def kill_node(self, number: int) -> None:
        """SIGKILL, as a power cut would."""
        end(self.supernodes.pop(number), signal.SIGKILL)

    def kill_superlink(self) -> None:
        if self.superlink is not None:
            end(self.superlink, signal.SIGKILL)
            self.superlink = None

    def server_app(self) -> int | None:
        """The process id of the running ServerApp: a child of the SuperLink."""
        return None if self.superlink is None else _descendant(self.superlink.pid, b"serverapp")

    def stop(self) -> None:
        running = [*self.supernodes.values(), *([self.superlink] if self.superlink else [])]
        for process in running:
            _send(process, signal.SIGTERM)
        for process in running:
            end(process, signal.SIGTERM)
        self.supernodes, self.superlink = {}, None
        if self._made is not None:
            self._made.cleanup()

    def _start(self, name: str, program: str, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            # A session of its own: its children end with it.
            return subprocess.Popen(
                [str(_BIN / program), *words],
                env=self._environment(name),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _environment(self, name: str) -> dict[str, str]:
        home = self.folder / name
        home.mkdir(exist_ok=True)
        path = f"{_BIN}{os.pathsep}{os.environ.get('PATH', '')}"
        return {**os.environ, **QUIET, "FLWR_HOME": str(home), "PATH": path, "OMP_NUM_THREADS": "1"}

    def _wait_for_port(self, seconds: float = 120.0) -> None:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.superlink is not None and self.superlink.poll() is not None:
                break
            time.sleep(0.2)
        raise RuntimeError(f"the SuperLink did not come up:\n{self.log('superlink')[-2000:]}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def end(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """Ends a process and the children in its session; by force if it takes longer than ten seconds."""
    _send(process, how)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)
    _send(process, signal.SIGKILL)  # also the children that are left
    process.wait(10)


def _send(process: subprocess.Popen[bytes], sign: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, sign)


def _descendant(pid: int, word: bytes) -> int | None:
    """A process below this one whose command line holds the word."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            line = stat.with_name("cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if parent == pid:
            if word in line:
                return int(stat.parent.name)
            if (below := _descendant(int(stat.parent.name), word)) is not None:
                return below
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("app", type=Path, help="directory of a Flower app")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--tls", action="store_true", help="TLS, and nodes that must be registered by key")
    parser.add_argument("--run-config", default="", help="as for flwr run")
    given = parser.parse_args()
    with Federation(given.nodes, tls=given.tls) as federation:
        for name, process in [("SuperLink", federation.superlink), *federation.supernodes.items()]:
            sys.stdout.write(f"{name}: process {process.pid if process else '?'}\n")
        sys.stdout.flush()
        more = ["--run-config", given.run_config] if given.run_config else []
        subprocess.run(
            [str(_BIN / "flwr"), "run", str(given.app), "here", "--stream", *more],
            env=federation._environment("cli"),
            check=False,
        )


if __name__ == "__main__":
    main()
