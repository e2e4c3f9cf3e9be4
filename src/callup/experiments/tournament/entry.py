"""From what somebody types to the boards that are meant: the tournament, single worlds of it, another cup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from callup.core.errors import InputError, UsageError, suggest
from callup.experiments.reproduce.store import Results
from callup.experiments.tournament.board import Board
from callup.experiments.tournament.cup import FOLDER, HELD_OUT, MAIN, Cup, read_cup
from callup.experiments.tournament.extra_time import LongBoard
from callup.experiments.tournament.worlds import World


def is_tournament(asked: Sequence[str]) -> bool:
    """Whether the tournament was asked for; it does not mix with the tables of papers."""
    meant = [name.strip("/").partition("/")[0] == FOLDER for name in asked]
    if any(meant) and not all(meant):
        raise UsageError("the tournament is run by itself; name it or the tables of papers, not both")
    return any(meant)


def boards(papers: Path, asked: Sequence[str], scale: str, results: Results) -> list[Board]:
    """One for each cup named: `tournament`, `tournament/WORLD`, `tournament/held-out`, `tournament/CUP[/WORLD]`."""
    folder = papers / FOLDER
    if not (folder / f"{MAIN}.toml").exists():
        raise InputError(
            f"no tournament in {papers}; run inside a checkout of callup, or name the folder with --papers"
        )
    wanted: dict[str, list[str]] = {}
    for name in asked:
        file, world = _split(folder, name)
        wanted.setdefault(file, []).append(world)
    found: list[Board] = []
    for file, worlds in wanted.items():
        cup = read_cup(folder, file)
        chosen = cup if "" in worlds else replace(cup, worlds=_chosen(cup, worlds))
        found.append(LongBoard(at_scale(chosen, scale), results))
    return found


def at_scale(cup: Cup, scale: str) -> Cup:
    """`small` is the tournament's own size; `check` is its trial: a few tiny runs, seconds in all."""
    if scale == "small":
        return cup
    if scale != "check":
        raise UsageError(f"the tournament has no --scale {scale}: its own size is small, and check is a trial")
    trial = cup.check
    worlds = [world for world in cup.worlds if world.name in trial.worlds]
    if not worlds:
        raise UsageError(f"--scale check plays {', '.join(trial.worlds) or 'nothing'} alone; use --scale small")
    methods = tuple(method for method in cup.methods if method.name in (cup.baseline, *trial.methods))
    champion = cup.champion if cup.champion in trial.methods else ""
    tiny = tuple(replace(world, environments=world.environments[:1], presets={}) for world in worlds)
    return replace(
        cup,
        worlds=tiny,
        known=tiny,
        methods=methods,
        champion=champion,
        first=1,
        seeds=3,
        periods=0,
        fixed=trial.settings,
    )


def _split(folder: Path, name: str) -> tuple[str, str]:
    _, _, rest = name.strip("/").partition("/")
    first, _, second = rest.partition("/")
    if first and (folder / f"{first}.toml").exists():
        return first, second
    return MAIN, rest


def _chosen(cup: Cup, asked: Sequence[str]) -> tuple[World, ...]:
    known = [world.name for world in cup.worlds]
    draws = {world.held_out for world in cup.worlds if world.held_out}
    for name in asked:
        if name == HELD_OUT and name not in draws:
            raise InputError("no held-out worlds were drawn yet; see papers/tournament/README.md")
        if name not in (*known, *draws):
            raise InputError(f"unknown world '{name}'{suggest(name, [*known, *draws])}")
    return tuple(world for world in cup.worlds if world.name in asked or world.held_out in asked)
