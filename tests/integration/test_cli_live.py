"""The board keeps the score, the picture fits the terminal, and logs get plain lines."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import pytest
from rich.console import Console

from callup.cli.live.board import Board
from callup.cli.live.crowd import EARLIER, JUST, NEVER_YET, NOW, crowds
from callup.cli.live.lines import INTERVAL, Lines
from callup.cli.live.scenes import picture
from callup.cli.live.wording import clock, rounds, spark
from callup.core.clients import Clients
from callup.experiments.grid import Cell
from callup.simulation.run import RoundRecord
from callup.simulation.settings import Settings


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def cell(selector: str, seed: int = 0, scenario: str = "One", length: int = 10) -> Cell:
    settings = Settings(selector=selector, seed=seed, scenario=scenario, rounds=length, target=0.5, k=2)
    return Cell(f"{scenario}/{selector}-{seed}", settings)


def record(index: int, accuracy: float | None = None, asked: Sequence[int] = (10, 11)) -> RoundRecord:
    return RoundRecord(index, 5, list(asked), list(asked), list(asked), {}, "digest", accuracy=accuracy)


def federation(n: int = 6) -> Clients:
    return Clients(range(10, 10 + n), label_counts=np.eye(3)[np.arange(n) % 3] * 5)


def drawn(board: Board, width: int, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=False)
    console.print(picture(board, width, height))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


def play(board: Board, one: Cell, accuracies: Sequence[float], finish: bool = True) -> None:
    board.started(one, federation())
    for index, accuracy in enumerate(accuracies, 1):
        board.round(one, record(index, accuracy, asked=(10, 11)))
    if finish:
        board.finished(one)


def test_the_first_to_the_target_leads_even_when_another_ends_higher() -> None:
    fast, high = cell("fast"), cell("high")
    board = Board([fast, high])
    play(board, fast, [0.5, 0.6])
    play(board, high, [0.4, 0.9])
    scene = board.scenes["One"]
    assert scene.rows["fast"].to_target == 1
    assert scene.rows["high"].to_target == 2
    assert scene.leader is scene.rows["fast"]


def test_without_anyone_at_the_target_the_highest_accuracy_leads() -> None:
    low, high = cell("low"), cell("high")
    board = Board([low, high])
    play(board, low, [0.1])
    play(board, high, [0.2])
    scene = board.scenes["One"]
    assert scene.leader is scene.rows["high"]
    assert scene.rows["high"].to_target is None


def test_seeds_are_averaged_where_they_have_been() -> None:
    first, second = cell("a", 0), cell("a", 1)
    board = Board([first, second])
    play(board, first, [0.2, 0.4])
    play(board, second, [0.4], finish=False)
    row = board.scenes["One"].rows["a"]
    assert row.curve == pytest.approx([0.3, 0.4])  # round 1: (0.2 + 0.4) / 2; round 2: one seed so far
    assert (row.done, row.rounds) == (3, 20)


def test_a_seed_that_ended_short_of_the_target_leaves_the_method_without_a_mean() -> None:
    first, second = cell("a", 0), cell("a", 1)
    board = Board([first, second])
    play(board, first, [0.6])
    assert board.scenes["One"].rows["a"].to_target == 1
    play(board, second, [0.1])
    assert board.scenes["One"].rows["a"].to_target is None


def test_time_left_follows_the_pace_since_the_first_round() -> None:
    now = Clock()
    one = cell("a", length=10)
    board = Board([one], clock=now)
    now.now = 100.0  # a slow start counts for nothing
    board.started(one, federation())
    assert board.left is None
    board.round(one, record(1))
    now.now = 102.0
    board.round(one, record(2))
    # 2 of 10 rounds in 2 seconds: 8 are left.
    assert board.left == pytest.approx(8.0)


def test_clients_light_up_and_fade() -> None:
    one = cell("a")
    board = Board([one])
    board.started(one, federation(4))
    board.round(one, record(1, asked=(10,)))
    board.round(one, record(2, asked=(11,)))
    board.round(one, record(3, asked=(12,)))
    heading, marks, legend, blank = crowds(board.stage, 40, 10)
    assert "".join(text for text, _ in heading).strip() == "a  seed 0, round 3"
    # Classes are 0, 1, 2, 0, so the clients stand in the order 10, 13, 11, 12.
    assert [text.strip() for text, _ in marks if text.strip()] == [EARLIER, NEVER_YET, JUST, NOW]
    assert NOW in legend[0][0]
    assert blank == []


def test_a_large_federation_shares_marks_and_keeps_its_bounds() -> None:
    one = cell("a")
    board = Board([one])
    board.started(one, federation(10_000))
    board.round(one, record(1, asked=(10, 5000, 10_009)))
    for width, height in ((100, 40), (80, 24), (40, 12)):
        lines = drawn(board, width, height)
        assert len(lines) < height
        assert max(map(len, lines)) <= width
    assert any("a mark: 20 clients" in line for line in drawn(board, 100, 40))


@pytest.mark.parametrize("methods", [1, 6, 25])
@pytest.mark.parametrize(("width", "height"), [(200, 60), (100, 40), (80, 24), (70, 16)])
def test_the_picture_fits(methods: int, width: int, height: int) -> None:
    names = [f"method-{number}" for number in range(methods)]
    cells = [cell(name, seed, scenario) for scenario in ("One", "Two: more") for seed in (0, 1) for name in names]
    board = Board(cells)
    for number, one in enumerate(cells):
        play(board, one, [0.1, 0.4 + 0.01 * (number % methods)], finish=number % 7 != 0)
        if number % methods == 0 or one is cells[-1]:
            lines = drawn(board, width, height)
            assert len(lines) < height
            assert max(map(len, lines)) <= width
    assert "of" in lines[-1]
    assert "left" in lines[-1]


def test_the_leader_and_the_status_are_always_shown() -> None:
    names = [f"method-{number}" for number in range(25)]
    cells = [cell(name) for name in names]
    board = Board(cells)
    for one in cells:
        play(board, one, [0.9 if one.settings.selector == "method-20" else 0.2])
    lines = drawn(board, 80, 24)
    assert any("★" in line and "method-20" in line for line in lines)
    assert "25 of 25 runs" in lines[-1]


def test_names_are_cleaned_before_they_are_drawn() -> None:
    one = cell("a\x1b[31mb", scenario="title\x1b]0;x\x07")
    board = Board([one])
    board.started(one, federation())
    assert not any("\x1b" in line for line in drawn(board, 80, 24))


def test_lines_one_for_each_finished_run_and_one_at_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    now = Clock()
    first, second = cell("a"), cell("b")
    lines = Lines(Board([first, second], clock=now), now=now)
    with lines:
        lines.started(first, federation())
        lines.round(first, record(1, 0.3))
        assert capsys.readouterr().err == ""
        now.now = INTERVAL
        lines.round(first, record(2, 0.6))
        assert capsys.readouterr().err == "10 % done, 0:10 gone, about 1:30 left\n"
        lines.finished(first)
        assert capsys.readouterr().err == "[1/2] a, seed 0: 60.0 %, 50 % in 2 rounds, 10.0 s\n"
        lines.started(second, federation())
        lines.failed(second, "no such\x1b[31m data")
        assert capsys.readouterr().err == "[2/2] b, seed 0 failed: no such data\n"


def test_wording() -> None:
    assert [clock(s) for s in (0, 59.6, 61, 3723)] == ["0:00", "1:00", "1:01", "1:02:03"]
    assert [rounds(v) for v in (None, 12.0, 12.34)] == ["–", "12", "12.3"]
    assert spark([], 8, 1.0) == ""
    assert spark([0.0, 0.5, 1.0], 8, 1.0) == "▁▅█"
    assert len(spark([i / 99 for i in range(100)], 8, 1.0)) == 8
