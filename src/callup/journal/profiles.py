"""What the selector could see of its clients, kept beside the log so that its choices can be checked without them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.journal.disk import write_whole
from callup.journal.tensors import pack, read_tensors

_NAME = re.compile(r"profile-(\d{6,9})\.safetensors")
_IDS = "ids"


def write_profile(folder: Path, index: int, clients: Clients) -> None:
    """The table that is in force from round `index` on, whole; a later one takes its place."""
    columns = {f"column {name}": np.asarray(column) for name, column in clients.columns.items()}
    write_whole(
        folder / f"profile-{index:06d}.safetensors", pack({_IDS: clients.ids, **columns}, {"schema": 1, "round": index})
    )


def read_profiles(folder: Path) -> dict[int, Clients]:
    """Every table by its first round, in their order; the first one is that of round 1."""
    named = ((_NAME.fullmatch(path.name), path) for path in sorted(folder.glob("profile-*.safetensors")))
    return {int(match[1]): _read(path) for match, path in named if match}


def _read(path: Path) -> Clients:
    arrays, facts = read_tensors(path)
    if facts.get("schema") != 1:
        raise InputError(f"{path} has profile schema {facts.get('schema')}, this version reads 1")
    if _IDS not in arrays:
        raise InputError(f"{path} is damaged: it names no clients")
    ids = arrays.pop(_IDS)
    names = [name.removeprefix("column ") for name in arrays]
    return Clients(ids, **{name: arrays[f"column {name}"] for name in names}).only(*names)
