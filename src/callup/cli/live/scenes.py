"""The board as a picture that fits the terminal: tables of methods, and below them the clients being called."""

from __future__ import annotations

from callup.cli.live.board import Board
from callup.cli.live.canvas import Canvas, Line, cut, left, right
from callup.cli.live.crowd import crowds
from callup.cli.live.lanes import Row, Scene
from callup.cli.live.wording import bar, clock, percent, rounds, spark
from callup.cli.terminal import clean

_WIDEST, _LONGEST_NAME = 110, 26
_AROUND = 3
"""Lines of a table that are not methods: its title, the column names and a blank line below."""


def picture(board: Board, width: int, height: int) -> Canvas:
    """The scenario now running and its clients; the others in full where there is room, else in a line each."""
    width = min(width, _WIDEST)
    current = board.current
    others = [scene for scene in board.scenes.values() if scene is not current]
    room = height - 2 - 2 * len(others)  # the status and the cursor; a line and a blank one for each of the others
    shown = max(1, min(len(current.rows), room - _AROUND))
    clients = crowds(board.stage, width, room - shown - _AROUND)
    room -= shown + _AROUND + len(clients)
    lines: list[Line] = []
    for scene in board.scenes.values():
        extra = len(scene.rows) + _AROUND - 2
        if scene is current:
            lines += _table(scene, shown, width)
        elif extra <= room:
            lines += _table(scene, len(scene.rows), width)
            room -= extra
        else:
            lines += [_brief(scene), []]
    return Canvas([*lines, *clients, _status(board, width)])


def _table(scene: Scene, shown: int, width: int) -> list[Line]:
    name = min(max(len(clean(name)) for name in scene.rows), _LONGEST_NAME)
    curve = 16 if width >= 96 else 8 if width >= 72 else 0
    length = max(8, width - name - curve - 38)
    target = "" if scene.target is None else f"to {100 * scene.target:.3g} %"
    heading = f"  {left('method', name + length + 2)}{right('rounds', 10)}{right('accuracy', 10)}  "
    top = max((max(row.curve) for row in scene.rows.values() if row.curve), default=0.0)
    leader = scene.leader
    rows = [_row(row, row is leader, name, length, curve, top) for row in _first(scene, shown)]
    title: Line = [(cut(clean(scene.title), width), "bold")]
    return [title, [(f"{heading}{' ' * curve}{right(target, 9)}", "dim")], *rows, []]


def _first(scene: Scene, shown: int) -> list[Row]:
    """All rows in their order; when they do not fit, the leader and those that run go before the rest."""
    rows = list(scene.rows.values())
    if len(rows) <= shown:
        return rows
    leader = scene.leader
    chosen = sorted(rows, key=lambda row: (row is not leader, not row.running))[:shown]
    return [row for row in rows if any(row is one for one in chosen)]


def _row(row: Row, leads: bool, name: int, length: int, curve: int, top: float) -> Line:
    style = "bold" if leads else ""
    values, done = row.curve, row.done
    full, rest = bar(done / row.rounds, length)
    failed = any(lane.state == "failed" for lane in row.lanes)
    there = rounds(row.to_target) if row.to_target is not None or row.ended else ""
    return [
        ("★ ", "bold yellow") if leads else ("✗ " if failed else "  ", "red"),
        (f"{left(clean(row.name), name)}  ", style),
        (full, "green" if row.ended else "cyan"),
        (rest, "bright_black"),
        (right(f"{done}/{row.rounds}", 10), "dim"),
        (right(percent(values[-1]) if values else "", 10), style),
        (f"  {left(spark(values, curve, top), curve)}", "cyan"),
        (right(there, 9), style),
    ]


def _brief(scene: Scene) -> Line:
    """A scenario in one line: over, or still to come."""
    title, leader = clean(scene.title.partition(":")[0]), scene.leader
    if leader is None:
        return [(title, "bold"), ("  to come", "dim")]
    when = f" in {rounds(leader.to_target)} rounds" if leader.to_target is not None else ""
    return [(title, "bold"), (f"  ★ {clean(leader.name)}", "bold yellow"), (f" {percent(leader.curve[-1])}{when}", "")]


def _status(board: Board, width: int) -> Line:
    runs, to_go = len(board.lanes), board.left
    parts = [
        f"{100 * board.share:.0f} %",
        f"{board.ended} of {runs} run{'s' if runs > 1 else ''}",
        f"{clock(board.elapsed)} gone",
        "starting" if to_go is None else f"about {clock(to_go)} left",
        "Ctrl-C stops",
    ]
    # Room for the ^C that the terminal prints where the cursor stands: it must not begin another line.
    return [(cut(" · ".join(parts), width - 4), "dim")]
