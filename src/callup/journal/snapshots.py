"""All that a run had learned after some round, as one file; the two newest are kept, so that one may be damaged."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from callup.core.errors import InputError
from callup.core.selector import Arrays
from callup.journal import crash
from callup.journal.disk import write_whole
from callup.journal.tensors import pack, read_tensors

KEPT = 2
SCHEMA = 1
_NAME = re.compile(r"state-(\d{6,9})\.safetensors")


@dataclass(frozen=True)
class Snapshot:
    """State after round `index`."""

    index: int
    arrays: Arrays


def write_snapshot(folder: Path, index: int, arrays: Mapping[str, np.ndarray]) -> None:
    """On disk and under its name when this returns; older ones but the last go only then."""
    content = pack(arrays, {"schema": SCHEMA, "round": index})
    write_whole(folder / f"state-{index:06d}.safetensors", content, snapshot=True)
    for _, path in snapshots(folder)[KEPT:]:
        with contextlib.suppress(OSError):
            path.unlink()
    crash.point("snapshot-kept")


def snapshots(folder: Path) -> list[tuple[int, Path]]:
    """Rounds and files, newest first."""
    named = ((_NAME.fullmatch(path.name), path) for path in folder.glob("state-*.safetensors"))
    return sorted(((int(match[1]), path) for match, path in named if match), reverse=True)


def read_snapshot(path: Path) -> Snapshot:
    """One file, with everything checked."""
    arrays, facts = read_tensors(path)
    match = _NAME.fullmatch(path.name)
    if facts.get("schema") != SCHEMA:
        raise InputError(f"{path} has snapshot schema {facts.get('schema')}, this version reads {SCHEMA}")
    if match is None or facts.get("round") != int(match[1]):
        raise InputError(f"{path} is damaged: it was taken after round {facts.get('round')}")
    return Snapshot(int(match[1]), arrays)


def newest(folder: Path, upto: int, refused: list[str]) -> Snapshot | None:
    """The newest sound snapshot of a round up to this one; why others were passed over is added to `refused`."""
    for index, path in snapshots(folder):
        if index > upto:
            refused.append(f"{path.name} is ahead of the journal, which ends at round {upto}; passed over")
            continue
        try:
            return read_snapshot(path)
        except (InputError, OSError) as error:
            refused.append(f"{path.name} cannot be used: {error}")
    return None
