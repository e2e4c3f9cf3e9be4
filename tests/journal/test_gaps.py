"""Where rounds cannot be computed again, a damaged one costs itself alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from callup.journal.entries import Entry
from callup.journal.journal import Journal, Pace
from callup.journal.log import NAME, read_log


def entry(number: int) -> Entry:
    return Entry(number, {"record": number})


def state() -> dict[str, np.ndarray]:
    return {"model": np.zeros(3)}


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Six rounds with a snapshot after each; a byte of round 3 is flipped."""
    place = 0
    with Journal(tmp_path, pace=Pace(rounds=1)) as journal:
        journal.begin({})
        for number in range(1, 7):
            before = (tmp_path / NAME).stat().st_size
            journal.append(entry(number))
            journal.snapshot(number, state)
            if number == 3:
                place = (before + (tmp_path / NAME).stat().st_size) // 2
    content = bytearray((tmp_path / NAME).read_bytes())
    content[place] ^= 8
    (tmp_path / NAME).write_bytes(content)
    return tmp_path


def test_the_others_stay_and_the_run_goes_on(damaged: Path) -> None:
    with Journal(damaged) as journal:
        found = journal.resume(gaps=True)
        assert [each.number for each in found.entries] == [1, 2, 4, 5, 6]
        assert found.snapshot_round == 6
        assert "sound up to round 2; of what follows 3 rounds are kept, the others are lost" in found.notes[0]
        journal.append(entry(7))
    # From now on the log is whole, and the same is found without a word.
    with Journal(damaged) as journal:
        found = journal.resume(gaps=True)
        assert [each.number for each in found.entries] == [1, 2, 4, 5, 6, 7]
        assert found.notes == []
    assert read_log(damaged).whole
    assert [path.name for path in damaged.glob("*.damaged-*")] == [f"{NAME}.damaged-1"]


def test_a_runtime_that_can_compute_again_begins_before_the_damage(damaged: Path) -> None:
    with Journal(damaged) as journal:
        found = journal.resume()
        assert [each.number for each in found.entries] == [1, 2]
        assert found.snapshot_round == 0


def test_a_damaged_last_round_is_only_cut_off(damaged: Path) -> None:
    with Journal(damaged) as journal:
        journal.resume(gaps=True)
    (damaged / NAME).write_bytes((damaged / NAME).read_bytes()[:-3])
    with Journal(damaged) as journal:
        found = journal.resume(gaps=True)
        assert [each.number for each in found.entries] == [1, 2, 4, 5]
        assert found.snapshot_round == 5
