"""Where data may lie: a folder you name, your cache, or where a distribution installs it. Nothing is downloaded."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from callup.core.errors import InputError
from callup.simulation.data.files import reading

T = TypeVar("T")

INSTALLED = (Path("/usr/local/share/datasets"), Path("/usr/share/datasets"))


@dataclass(frozen=True)
class Layout(Generic[T]):
    """One published form of a dataset: files that lie together, and the reader that takes their paths in order."""

    files: tuple[str, ...]
    read: Callable[[list[Path]], T]
    homes: tuple[str, ...] = ("",)
    """Sub-folders in which these file names mean this dataset; "" is the data folder itself."""
    packed: bool = False
    """Each file may be packed with gzip and then ends in .gz."""

    def candidates(self, base: Path) -> list[Path]:
        """The folders to look in below `base`; `base` itself too when it bears the name of a home."""
        inside = [base / home for home in self.homes]
        return [base, *inside] if base.name in self.homes else inside

    def paths(self, folder: Path) -> list[Path | None]:
        """Where each file is; None for those that are not there."""
        endings = ("", ".gz") if self.packed else ("",)
        return [next((p for e in endings if (p := folder / (n + e)).is_file()), None) for n in self.files]


def folders() -> list[Path]:
    """Data folders, the first to be searched first: $CALLUP_DATA, the user's cache, the distribution's."""
    found: list[Path] = []
    named = os.environ.get("CALLUP_DATA", "")
    if named:
        if not Path(named).is_dir():
            raise InputError(f"CALLUP_DATA is set to '{named}', which is not a folder; correct it or unset it")
        found.append(Path(named))
    return [*found, *_cache(), *INSTALLED]


def _cache() -> list[Path]:
    """The user's cache: $XDG_CACHE_HOME when it is an absolute path, else ~/.cache; nowhere for a user without home."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return [(named if named.is_absolute() else Path.home() / ".cache") / "callup"]
    except RuntimeError:
        return []


def load(dataset: str, layouts: tuple[Layout[T], ...], source: str) -> T:
    """The dataset from the first folder that holds all files of a layout, earlier layouts preferred."""
    bases = folders()
    incomplete = ""
    for base in bases:
        for layout in layouts:
            for folder in layout.candidates(base):
                with reading(folder):
                    paths = layout.paths(folder)
                present = [path for path in paths if path is not None]
                if len(present) == len(paths):
                    return layout.read(present)
                if present and not incomplete:
                    absent = layout.files[paths.index(None)]
                    incomplete = f" ({folder} has {present[0].name} but lacks {absent})"
    wanted = " or ".join(_shown(layout) for layout in layouts)
    looked = ", ".join(str(base) for base in bases)
    raise InputError(
        f"no data for {dataset}: looked for {wanted} in {looked}{incomplete}; get it from {source}, "
        f"and put it into one of these folders or set CALLUP_DATA to the folder that holds it"
    )


def _shown(layout: Layout[T]) -> str:
    name = layout.files[0] if len(layout.files) == 1 else f"{layout.files[0]} and {len(layout.files) - 1} more"
    home = layout.homes[0]
    return f"{home}/{name}" if home else name
