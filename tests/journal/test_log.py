"""The round log: what is cut, flipped, doubled or taken away is noticed, and every sound round before it is told."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import numpy as np
import pytest

from callup.core.errors import InputError
from callup.core.randomness import stream
from callup.journal.appending import Log
from callup.journal.entries import Entry, read_entry
from callup.journal.frames import HEAD
from callup.journal.log import NAME, HeadLost, read_log


def entry(number: int) -> Entry:
    return Entry(number, {"note": f"round {number}"}, {"values": np.arange(number, dtype=np.float64)})


def written(folder: Path, rounds: int) -> list[int]:
    """A log of so many rounds; where its head and each round end."""
    log = Log.begun(folder, Entry(0, {"schema": 1}))
    ends = [(folder / NAME).stat().st_size]
    for number in range(1, rounds + 1):
        log.append(entry(number))
        ends.append((folder / NAME).stat().st_size)
    log.close()
    return ends


def numbers(folder: Path) -> list[int]:
    return [found.number for found in read_log(folder).entries]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    written(tmp_path, 3)
    story = read_log(tmp_path)
    assert story.whole
    assert story.head.facts == {"schema": 1}
    for number, found in enumerate(story.entries, 1):
        assert found.facts == {"note": f"round {number}"}
        assert found.arrays["values"].tolist() == list(range(number))


def test_cut_at_every_byte_of_the_last_three_rounds(tmp_path: Path) -> None:
    ends = written(tmp_path, 5)
    content = (tmp_path / NAME).read_bytes()
    for size in range(ends[2], ends[5]):
        (tmp_path / NAME).write_bytes(content[:size])
        whole = sum(end <= size for end in ends) - 1
        story = read_log(tmp_path)
        assert [found.number for found in story.entries] == list(range(1, whole + 1))
        assert story.torn == size - ends[whole]
        assert not story.damaged


def test_every_byte_flipped(tmp_path: Path) -> None:
    """Whichever byte of rounds 2 to 4 changes, the rounds before it are told and its own is not."""
    ends = written(tmp_path, 4)
    content = (tmp_path / NAME).read_bytes()
    for place in range(ends[1], ends[4]):
        damaged = bytearray(content)
        damaged[place] ^= 0x41
        (tmp_path / NAME).write_bytes(damaged)
        hit = next(number for number, end in enumerate(ends) if place < end)
        story = read_log(tmp_path)
        assert [found.number for found in story.entries] == list(range(1, hit))
        assert not story.whole
        # The rounds after the damaged one are found again, however it was damaged.
        assert [found.number for found in story.after] == list(range(hit + 1, 5))


def test_a_round_taken_out_doubled_or_moved_shows(tmp_path: Path) -> None:
    ends = written(tmp_path, 3)
    content = (tmp_path / NAME).read_bytes()
    head, *rounds = (content[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True))
    for changed in ([rounds[0], rounds[2]], [rounds[0], rounds[0], rounds[1], rounds[2]], [rounds[1], rounds[0]]):
        (tmp_path / NAME).write_bytes(head + b"".join(changed))
        assert not read_log(tmp_path).whole
    # From another run, of the same number and with sound checksums, but not after this round.
    other = tmp_path / "other"
    other.mkdir()
    Log.begun(other, Entry(0, {"schema": 1, "name": "other"})).close()
    story = read_log(other)
    log = Log.continued(other, story)
    log.append(entry(1))
    log.close()
    foreign = (other / NAME).read_bytes()[story.end :]
    (tmp_path / NAME).write_bytes(head + foreign)
    assert read_log(tmp_path).entries == []


def test_going_on_after_a_torn_round(tmp_path: Path) -> None:
    ends = written(tmp_path, 3)
    alone = (tmp_path / NAME).read_bytes()
    os.truncate(tmp_path / NAME, ends[3] - 5)
    log = Log.continued(tmp_path, read_log(tmp_path))
    log.append(entry(3))
    log.close()
    assert (tmp_path / NAME).read_bytes() == alone
    assert not list(tmp_path.glob("*.damaged-*"))


def test_going_on_after_a_damaged_round_keeps_the_damaged_log(tmp_path: Path) -> None:
    ends = written(tmp_path, 4)
    alone = (tmp_path / NAME).read_bytes()
    damaged = bytearray(alone)
    damaged[ends[1] + HEAD + 3] ^= 1
    (tmp_path / NAME).write_bytes(damaged)
    log = Log.continued(tmp_path, read_log(tmp_path))
    for number in (2, 3, 4):
        log.append(entry(number))
    log.close()
    assert (tmp_path / NAME).read_bytes() == alone
    assert (tmp_path / f"{NAME}.damaged-1").read_bytes() == damaged


@pytest.mark.parametrize("content", [b"", b"CUJ1", b"\0" * 100, stream(0, "noise").bytes(70_000)])
def test_no_head_no_log(content: bytes, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(HeadLost, match="its head cannot be read"):
        read_log(tmp_path)


def test_a_log_that_does_not_begin_with_its_head(tmp_path: Path) -> None:
    ends = written(tmp_path, 2)
    (tmp_path / NAME).write_bytes((tmp_path / NAME).read_bytes()[ends[0] :])
    with pytest.raises(HeadLost):
        read_log(tmp_path)


def test_a_small_entry_cannot_unpack_into_a_large_one() -> None:
    """300 MB of zeros pack into 300 kB; they are not unpacked."""
    bomb = b"\1" + zlib.compress(b"\0" * (300 << 20))  # packed without what usual entries refer to, which is as good
    assert len(bomb) < 1 << 20
    with pytest.raises(InputError, match="does not end where it should"):
        read_entry(1, bomb)


@pytest.mark.parametrize("content", [b"", b"\0", b"\1", b"\2abc", b"\1not packed", b"\0" + b"\xff" * 50])
def test_content_that_is_no_entry(content: bytes) -> None:
    with pytest.raises(InputError, match="entry 7 of the journal is damaged"):
        read_entry(7, content)


def test_an_entry_in_another_frame_is_refused() -> None:
    with pytest.raises(InputError, match="bears another number"):
        read_entry(4, entry(3).content())


def test_a_large_entry_is_stored_unpacked() -> None:
    large = Entry(1, {}, {"zeros": np.zeros(9 << 20)})  # 72 MB
    content = large.content()
    assert len(content) > 72 << 20
    assert read_entry(1, content).arrays["zeros"].shape == (9 << 20,)
