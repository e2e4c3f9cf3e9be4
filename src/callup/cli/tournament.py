"""`callup reproduce tournament`: every method in every world, until the rule of the tournament asks for no more."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from callup.cli.terminal import print_json, say, suggest_next

if TYPE_CHECKING:
    from callup.experiments.reproduce.store import Shelf
    from callup.experiments.tournament.board import Board


@dataclass(frozen=True)
class Task:
    """What was asked for on the command line."""

    names: list[str]
    scale: str
    jobs: int
    list_them: bool
    dry_run: bool
    stored: bool
    out: Path
    as_json: bool


@dataclass(frozen=True)
class Owner:
    """Where finished cells go: the file of their world."""

    paper: str
    name: str

    @property
    def address(self) -> str:
        return f"{self.paper}/{self.name}"


def show_tournament(asked: Task, papers: Path, shelf: Shelf) -> None:
    from callup.experiments.tournament.cup import FOLDER
    from callup.experiments.tournament.entry import boards

    found = boards(papers, asked.names, asked.scale, shelf.of(FOLDER))
    if asked.list_them:
        _print_worlds(found, asked)
        return
    if asked.dry_run:
        _print_plan(found, asked)
        return
    failures = [] if asked.stored else _play(found, asked, shelf)
    _print_results(found, asked, failures)
    for failure in failures[1:]:
        say(f"error: {failure}")
    if failures:
        raise failures[0]


def _play(found: list[Board], asked: Task, shelf: Shelf) -> list[Any]:
    """Runs what the rule asks for, and asks again: who is still in is known only after the first seeds."""
    from callup.cli.reproduce import run_cells
    from callup.experiments.tournament.cup import FOLDER

    made_by = " ".join(["callup reproduce", *asked.names, f"--scale {asked.scale}"])
    tried: set[str] = set()
    failures: list[Any] = []
    while True:
        places = {cell.key: (world, cell) for board in found for world, cell in board.open()}
        todo = [(Owner(FOLDER, world), cell) for key, (world, cell) in places.items() if key not in tried]
        if not todo:
            return failures
        tried |= {cell.key for _, cell in todo}
        failures += run_cells(todo, asked.jobs, shelf, made_by)


def _print_worlds(found: list[Board], asked: Task) -> None:
    lines = []
    for board in found:
        for world in board.cup.worlds:
            wanted = board.wanted(world)
            stored = len(wanted) - len(board.open(world))
            lines.append(
                {
                    "world": f"{board.cup.address}/{world.name}",
                    "title": world.title,
                    "places": len(world.places),
                    "cells": len(wanted),
                    "stored": stored,
                }
            )
    if asked.as_json:
        print_json({"success": True, "scale": asked.scale, "worlds": lines})
        return
    width = max(len(str(line["world"])) for line in lines)
    for line in lines:
        done = f"{line['stored']}/{line['cells']} cells"
        print(f"{line['world']:<{width}}  {line['places']:>3} places  {done:>14}  {line['title']}")


def _print_plan(found: list[Board], asked: Task) -> None:
    """Later seeds hang on the rule; half of the methods are taken to be out where it has not spoken yet."""
    from callup.experiments.reproduce.progress import duration, estimate

    first = {cell.key: cell for board in found for _, cell in board.open()}
    likely = {cell.key: cell for board in found for cell in board.likely()}
    now, whole = (estimate(list(cells.values()), asked.jobs) for cells in (first, likely))
    if asked.as_json:
        plan = {"cells": len(first), "seconds": round(now), "likely_cells": len(likely), "likely_seconds": round(whole)}
        print_json({"success": True, **plan})
    elif not likely:
        print("nothing left to run")
    else:
        print(f"{len(first)} cells to run on {asked.jobs} cores: about {duration(now)}")
        if len(likely) > len(first):
            print(f"and what they ask for after that, {len(likely)} in all if half is out: about {duration(whole)}")


def _print_results(found: list[Board], asked: Task, failures: list[Any]) -> None:
    from callup.cli.tournament_view import print_boards
    from callup.experiments.tournament.comparison import comparison
    from callup.experiments.tournament.cup import MAIN
    from callup.experiments.tournament.page import page, tables_of

    asked.out.mkdir(parents=True, exist_ok=True)
    files = []
    for board in found:
        files.append(asked.out / f"{board.cup.name}.md")
        body = page(board) if board.cup.name == MAIN else comparison(board)
        text = "\n".join([f"# {board.cup.title}\n", *body])
        files[-1].write_text(text.rstrip() + "\n", encoding="utf-8")
    if asked.as_json:
        places = {name: [_plain(asdict(line)) for line in lines] for b in found for name, lines in tables_of(b).items()}
        told = {"files": [str(file) for file in files], "failures": [str(failure) for failure in failures]}
        print_json({"success": not failures, **told, "places": places})
        return
    print_boards(found)
    for file in files:
        print(file)
    suggest_next("callup reproduce tournament --scale small --dry-run")


def _plain(value: Any) -> Any:
    """JSON has no infinity: an interval that is open has no end."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
