"""What a client has released and what it cost, on disk: a data version is released once and never again.

Noise drawn twice for the same data averages away, so epsilon holds only if nobody can ask again. The ledger is the
client's own. It holds noised counts, never true ones.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from callup.core.errors import InputError, UsageError
from callup.privacy.counts import whole_counts
from callup.privacy.fingerprints import check_bits, randomised
from callup.privacy.modes import check_epsilon
from callup.privacy.release import accounted_epsilon, noised


class Ledger:
    """A folder with one file for each data version. A file is made before the noise is drawn and only once.

    budget: the most epsilon all versions together may cost; versions may share records, so epsilons add up.
    """

    def __init__(self, folder: Path, client: int, budget: float | None = None) -> None:
        self._folder, self._client = Path(folder), client
        self._budget = None if budget is None else check_epsilon(budget)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def release(self, version: str, counts: Sequence[float] | np.ndarray, epsilon: float) -> np.ndarray:
        """Noised counts of this data version. A second call for the same version is refused."""
        whole = whole_counts(counts, self._client)
        # What OpenDP itself says it costs; without OpenDP it ends here, and nothing is spent.
        return self._once("counts", version, accounted_epsilon(epsilon), lambda: noised(whole, epsilon))

    def release_bits(self, version: str, fingerprint: np.ndarray, epsilon: float) -> np.ndarray:
        """A fingerprint with randomised bits, once for a data version."""
        check_bits(fingerprint)
        return self._once("bits", version, check_epsilon(epsilon), lambda: randomised(fingerprint, epsilon))

    def holds(self, version: str, kind: str = "counts") -> bool:
        """Whether a release of this data version was begun."""
        return self._path(version, kind).exists()

    def released(self, version: str, kind: str = "counts") -> np.ndarray:
        """What was released for this data version, to be sent again as it was; kind: counts or bits."""
        path = self._path(version, kind)
        if not self.holds(version, kind):
            raise InputError(f"client {self._client}: data version '{version}' was not released yet")
        lines = _read(path)
        if len(lines) < 2:
            raise InputError(
                f"client {self._client}: the release of data version '{version}' was cut off and counts as spent"
            )
        return np.array(lines[1]["released"], np.int64)

    def _once(self, kind: str, version: str, epsilon: float, draw: Callable[[], np.ndarray]) -> np.ndarray:
        path = self._path(version, kind)
        if not path.exists():
            self._check_budget(epsilon)
        try:
            # Exclusive: of two processes that race, one gets the file. What was begun counts as spent, also after a
            # crash: better to lose a release than to make two.
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError as error:
            raise InputError(
                f"client {self._client}: data version '{version}' was released before; send the same release again, "
                f"or release a new data version when the data has changed"
            ) from error
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            _write(file, {"client": self._client, "version": version, "kind": kind, "epsilon": epsilon})
            self._check_budget(0.0)  # another process may have begun a release since
            released = draw()
            _write(file, {"released": released.tolist()})
        _sync(self._folder)
        return released

    def _check_budget(self, more: float) -> None:
        spent = self.spent
        if self._budget is not None and spent + more > self._budget * (1 + 1e-12):
            raise InputError(
                f"client {self._client}: the budget of epsilon {self._budget:g} does not allow this release: "
                f"{spent:g} is spent and {more:g} is asked for"
            )

    @property
    def spent(self) -> float:
        """Epsilon of all releases together."""
        return float(sum(float(lines[0]["epsilon"]) for lines in self._entries()))

    @property
    def versions(self) -> list[str]:
        return sorted(str(lines[0]["version"]) for lines in self._entries())

    def _entries(self) -> Iterator[list[dict[str, Any]]]:
        for path in sorted(self._folder.glob("*.release")):
            lines = _read(path)
            if not lines:
                raise InputError(
                    f"{path} was cut off before it said what it cost; nothing more is released from this ledger"
                )
            if lines[0]["client"] != self._client:
                raise InputError(f"{self._folder} is the ledger of client {lines[0]['client']}, not of {self._client}")
            yield lines

    def _path(self, version: str, kind: str) -> Path:
        if not isinstance(version, str) or not version.strip():
            raise UsageError(f"a data version is a name such as '2026-11', got {version!r}")
        return self._folder / f"{hashlib.sha256(f'{kind} {version}'.encode()).hexdigest()[:32]}.release"


def _write(file: Any, entry: dict[str, Any]) -> None:
    file.write(json.dumps(entry) + "\n")
    file.flush()
    os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """The new file's name is on disk too, before the release leaves."""
    if os.name != "posix":
        return  # a folder cannot be opened there
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file; a last one that was cut off is left out. What says nothing of its cost is damaged."""
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
        for cost in lines[:1]:
            if not (float(cost["epsilon"]) >= 0 and isinstance(cost["version"], str) and "client" in cost):
                raise ValueError("its first line does not tell what was released")
        for release in lines[1:2]:
            np.array(release["released"], np.int64)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise InputError(f"{path} is damaged: {error}") from error
    return lines
