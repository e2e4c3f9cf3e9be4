"""Tables from their TOML files, with one clear sentence for a file that cannot be read."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from callup.core.errors import InputError, UsageError
from callup.core.spec import build
from callup.experiments.reproduce.published import read_published
from callup.experiments.reproduce.tables import Claim, Contradiction, Environment, Measure, Scale, Table, Way


def read_table(path: Path) -> Table:
    """A table from its TOML and the CSV of the same name. A figure has no rows of its own."""
    values = _read(path)
    rows = path.with_suffix(".csv")
    drawn = path.stem.startswith("figure") and not rows.exists()
    try:
        made: Table = build(
            Table,
            "table",
            {
                **{k: v for k, v in values.items() if k not in (*_LISTS, "scales")},
                "paper": path.parent.name,
                "name": path.stem,
                "published": () if drawn else read_published(rows),
                **{
                    part: tuple(_part(cls, item, part) for item in values.get(part, [])) for part, cls in _LISTS.items()
                },
                "scales": {
                    name: _part(Scale, {**item, "name": name}, f"scales.{name}")
                    for name, item in values.get("scales", {}).items()
                },
            },
        )
    except UsageError as error:
        raise InputError(f"{path}: {error}") from error
    return made


def read_toml(path: Path, what: str = "file") -> dict[str, Any]:
    """What a file holds; a missing or damaged one is refused in a sentence."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"no such {what}: {path}") from error
    except (OSError, ValueError, RecursionError) as error:  # also numbers of thousands of digits and endless brackets
        raise InputError(f"{path} is damaged: {error}") from error


def _read(path: Path) -> dict[str, Any]:
    """The TOML; one that extends another starts from that one and replaces what it names, tables key by key."""
    values = read_toml(path, "table")
    other = values.pop("extends", None)
    if other is None:
        return values
    whole = _read(path.with_name(f"{other}.toml"))
    for gone in ("contradictions", "claims", "findings"):
        whole.pop(gone, None)
    both = {k: {**whole[k], **v} for k, v in values.items() if isinstance(v, dict) and isinstance(whole.get(k), dict)}
    return {**whole, **values, **both}


_LISTS = {
    "environments": Environment,
    "methods": Way,
    "measures": Measure,
    "contradictions": Contradiction,
    "claims": Claim,
}


def _part(cls: type, item: Mapping[str, Any], what: str) -> Any:
    """One entry of a list; in environments and methods, whatever is no field of theirs is a setting of the run."""
    if cls in (Environment, Way):
        own = set(cls.__dataclass_fields__)
        item = {
            **{k: v for k, v in item.items() if k in own},
            "settings": {k: v for k, v in item.items() if k not in own},
        }
    return build(cls, what, item)
