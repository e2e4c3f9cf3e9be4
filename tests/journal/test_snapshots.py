"""Snapshots: two are kept, a damaged one is passed over, and what goes in comes out bit by bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from callup.core.errors import InputError
from callup.journal.snapshots import newest, read_snapshot, snapshots, write_snapshot
from callup.journal.tensors import pack, unpack

STATE = {
    "model": np.linspace(0, 1, 50, dtype=np.float32),
    "selector.schema": np.array(1),
    "selector.wins_.ids": np.arange(4),
    "empty": np.empty((0, 3)),
    "flags": np.array([True, False]),
    "every other": np.arange(10.0)[::2],
}


def test_what_is_saved_is_read_bit_by_bit(tmp_path: Path) -> None:
    write_snapshot(tmp_path, 7, STATE)
    found = read_snapshot(tmp_path / "state-000007.safetensors")
    assert found.index == 7
    assert found.arrays.keys() == STATE.keys()
    for name, array in STATE.items():
        assert found.arrays[name].dtype == array.dtype
        assert found.arrays[name].shape == array.shape
        assert found.arrays[name].tobytes() == array.tobytes()


def test_equal_states_are_equal_bytes() -> None:
    assert pack(STATE, {"a": 1, "b": 2}) == pack(dict(reversed(STATE.items())), {"a": 1, "b": 2})


def test_the_two_newest_are_kept(tmp_path: Path) -> None:
    for index in (3, 6, 9, 12):
        write_snapshot(tmp_path, index, STATE)
    assert [index for index, _ in snapshots(tmp_path)] == [12, 9]


def test_every_byte_flipped_is_noticed(tmp_path: Path) -> None:
    write_snapshot(tmp_path, 3, STATE)
    write_snapshot(tmp_path, 6, STATE)
    path = tmp_path / "state-000006.safetensors"
    content = path.read_bytes()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        path.write_bytes(damaged)
        refused: list[str] = []
        found = newest(tmp_path, 9, refused)
        assert found is not None
        assert found.index == 3, place
        assert "state-000006.safetensors cannot be used" in refused[0]


def test_cut_short_at_every_byte_is_noticed() -> None:
    content = pack(STATE, {})
    for size in range(len(content)):
        with pytest.raises(InputError, match="is damaged"):
            unpack(content[:size], "it")


def test_one_ahead_of_the_log_is_passed_over(tmp_path: Path) -> None:
    write_snapshot(tmp_path, 3, STATE)
    write_snapshot(tmp_path, 6, STATE)
    refused: list[str] = []
    found = newest(tmp_path, 5, refused)
    assert found is not None
    assert found.index == 3
    assert refused == ["state-000006.safetensors is ahead of the journal, which ends at round 5; passed over"]


def test_a_renamed_one_is_refused(tmp_path: Path) -> None:
    write_snapshot(tmp_path, 3, STATE)
    (tmp_path / "state-000003.safetensors").rename(tmp_path / "state-000009.safetensors")
    with pytest.raises(InputError, match="taken after round 3"):
        read_snapshot(tmp_path / "state-000009.safetensors")


def test_none_at_all(tmp_path: Path) -> None:
    assert newest(tmp_path, 5, []) is None
