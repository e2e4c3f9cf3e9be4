"""Where the papers are and which of their tables were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from callup.core.errors import InputError, suggest
from callup.experiments.reproduce.reading import read_table
from callup.experiments.reproduce.tables import Table

_TOURNAMENT = "tournament"  # its files are no tables; see callup.experiments.tournament
_PACKAGE = Path(__file__).resolve().parents[2]


def papers_folder(given: Path | None = None) -> Path:
    """The folder named, or `papers/` here, in the package or in the checkout the package was installed from."""
    places = [given] if given else [Path("papers"), _PACKAGE / "papers", _PACKAGE.parents[1] / "papers"]
    for place in places:
        if any(place.glob("*/*.toml")):
            return place
    raise InputError(f"no tables in {places[0]}; run inside a checkout of callup, or name the folder with --papers")


def find_tables(folder: Path, asked: Sequence[str] = ()) -> list[Table]:
    """The tables named as PAPER or PAPER/TABLE, all of them when none is named."""
    files = [path for path in folder.glob("*/*.toml") if path.parent.name != _TOURNAMENT]
    known = {f"{path.parent.name}/{path.stem}": path for path in sorted(files, key=_order)}
    if not asked:
        return [read_table(path) for path in known.values()]
    papers = sorted({name.partition("/")[0] for name in known})
    wanted: dict[str, Path] = {}
    for name in asked:
        paper, slash, _ = name.strip("/").partition("/")
        if paper not in papers:
            raise InputError(f"unknown paper '{paper}'{suggest(paper, papers)}")
        if slash and name not in known:
            raise InputError(f"unknown table '{name}'{suggest(name, [k for k in known if k.startswith(paper + '/')])}")
        wanted |= {
            key: path for key, path in known.items() if key == name or (not slash and key.startswith(paper + "/"))
        }
    return [read_table(path) for path in wanted.values()]


def _order(path: Path) -> tuple[str, str, int, str]:
    """By paper; tables before figures and studies; by number, so that 10 comes after 9."""
    kind, _, number = path.stem.partition("-")
    digits = "".join(c for c in number.partition("-")[0] if c.isdigit())
    return path.parent.name, {"table": "0", "figure": "1"}.get(kind, "2"), int(digits or 0), path.stem
