"""The board as a picture that fits the terminal: tables of methods, and below them the clients being called."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from callup.cli.live.board import Board, Row, Scene
from callup.cli.live.crowd import crowds
from callup.cli.live.wording import clock, percent, rounds, spark
from callup.cli.terminal import clean

_WIDEST = 110
_AROUND = 3
"""Lines of a table that are not methods: its title, the column names and a blank line below."""


def picture(board: Board, width: int, height: int) -> RenderableType:
    """The scenario now running and its clients; the others in full where there is room, else in a line each."""
    width = min(width, _WIDEST)
    current = board.current
    others = [scene for scene in board.scenes.values() if scene is not current]
    room = height - 2 - 2 * len(others)  # the status and the cursor; a line and a blank one for each of the others
    shown = max(1, min(len(current.rows), room - _AROUND))
    room -= shown + _AROUND
    clients, lines = crowds(board.stage, width, room)
    room -= lines
    parts: list[RenderableType] = []
    for scene in board.scenes.values():
        extra = len(scene.rows) + _AROUND - 2
        if scene is current:
            parts.append(_table(scene, shown, width))
        elif extra <= room:
            parts.append(_table(scene, len(scene.rows), width))
            room -= extra
        else:
            parts += [_line(scene), Text()]
    return Group(*parts, *clients, _status(board, width))


def _table(scene: Scene, shown: int, width: int) -> RenderableType:
    name = min(max(len(clean(name)) for name in scene.rows), 26)
    curve = 16 if width >= 96 else 8 if width >= 72 else 0
    target = "" if scene.target is None else f"to {100 * scene.target:.3g} %"
    table = Table.grid(padding=(0, 2, 0, 0), expand=False)
    table.add_column(width=1)
    table.add_column(width=name, no_wrap=True, overflow="ellipsis")
    table.add_column(width=max(8, width - name - curve - 41))
    table.add_column(justify="right", width=8, no_wrap=True)
    table.add_column(justify="right", width=8, no_wrap=True)
    table.add_column(width=curve, no_wrap=True)
    table.add_column(justify="right", width=7, no_wrap=True)
    table.add_row("", "method", "", "rounds", "accuracy", "", target, style="dim")
    top = max((max(row.curve) for row in scene.rows.values() if row.curve), default=0.0)
    leader = scene.leader
    for row in _first(scene, shown):
        table.add_row(*_cells(row, row is leader, curve, top))
    title = Text(clean(scene.title), "bold", no_wrap=True, overflow="ellipsis")
    return Group(title, table, Text())


def _first(scene: Scene, shown: int) -> list[Row]:
    """All rows in their order; when they do not fit, the leader and those that run go before the rest."""
    rows = list(scene.rows.values())
    if len(rows) <= shown:
        return rows
    running = {id(row) for row in rows if any(lane.state == "running" for lane in row.lanes)}
    leader = scene.leader
    chosen = sorted(rows, key=lambda row: (row is not leader, id(row) not in running))[:shown]
    return [row for row in rows if any(row is one for one in chosen)]


def _cells(row: Row, leads: bool, curve: int, top: float) -> list[RenderableType]:
    style = "bold" if leads else ""
    done, values = row.done, row.curve
    bar = ProgressBar(row.rounds, done, complete_style="cyan", finished_style="green", style="grey23")
    failed = any(lane.state == "failed" for lane in row.lanes)
    return [
        Text("★", "bold yellow") if leads else Text("✗" if failed else "", "red"),
        Text(clean(row.name), style),
        bar,
        Text(f"{done}/{row.rounds}", "dim"),
        Text(percent(values[-1]) if values else "", style),
        Text(spark(values, curve, top), "cyan"),
        Text(rounds(row.to_target) if row.to_target is not None or row.ended else "", style),
    ]


def _line(scene: Scene) -> Text:
    """A scenario in one line: over, or still to come."""
    text = Text(clean(scene.title.partition(":")[0]), "bold", no_wrap=True, overflow="ellipsis")
    leader = scene.leader
    if leader is None:
        return text.append("  to come", "not bold dim")
    text.append(f"  ★ {clean(leader.name)}", "bold yellow")
    when = f" in {rounds(leader.to_target)} rounds" if leader.to_target is not None else ""
    return text.append(f" {percent(leader.curve[-1])}{when}", "not bold")


def _status(board: Board, width: int) -> Text:
    left = board.left
    parts = [f"{100 * board.share:.0f} %", f"{board.ended} of {len(board.lanes)} runs", f"{clock(board.elapsed)} gone"]
    parts.append("starting" if left is None else f"about {clock(left)} left")
    if width >= 76:
        parts.append("Ctrl-C stops and reports")
    return Text(" · ".join(parts), "dim", no_wrap=True, overflow="ellipsis")
