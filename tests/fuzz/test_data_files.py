"""Whatever a trace or a data set holds, reading it ends in a result or in one of our own errors, within its own size.

CALLUP_FUZZ sets how many cases each reader gets.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callup.cli.audit_input import read_federation
from callup.core.errors import CallupError
from callup.privacy.ledger import Ledger
from callup.simulation.data.cifar10 import read_binary_batch, read_python_batch
from callup.simulation.data.idx import read_idx
from callup.simulation.data.npz import open_npz
from callup.simulation.data.pickles import parse_pickle
from callup.simulation.data.stl10 import read_binary
from callup.simulation.data.text.by_user import read_by_user
from callup.simulation.data.text.leaf import read_leaf
from callup.simulation.data.text.stack_exchange import read_stack_exchange
from callup.simulation.data.text.yelp import read_yelp
from callup.simulation.latency_trace import read_paces
from callup.simulation.trace import read_trace

CASES = int(os.environ.get("CALLUP_FUZZ", "60"))
fuzzed = settings(
    max_examples=CASES,
    deadline=None,
    derandomize=CASES <= 1000,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


ENDLESS = st.sampled_from([b"9" * 5000, b"[" * 5000, b"{" * 5000, b"1e999", b"-", b"0x" + b"f" * 5000, b"\0"])


@st.composite
def changed(draw: st.DrawFn, content: bytes) -> bytes:
    """The content with bytes changed, added, taken away or cut off; or something else altogether."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=200))
    made = bytearray(content)
    for _ in range(draw(st.integers(1, 5))):
        place = draw(st.integers(0, max(min(len(made), 400) - 1, 0)))  # headers are at the front
        what = draw(st.sampled_from(["change", "add", "take", "cut"]))
        if what == "change" and made:
            made[place] = draw(st.integers(0, 255))
        elif what == "add":
            made[place:place] = draw(st.binary(min_size=1, max_size=12) | ENDLESS)
        elif what == "take":
            del made[place : place + draw(st.integers(1, 40))]
        else:
            del made[place:]
    return bytes(made)


def npz() -> bytes:
    file = io.BytesIO()
    np.savez(file, x=np.zeros((4, 3), np.uint8), y=np.arange(4))
    return file.getvalue()


def read_npz(path: Path) -> Any:
    with open_npz(path) as archive:
        return archive.array("x", "u1", (None, 3)), archive.array("y", "iu", (None,))


def npy_in_zip_python_objects() -> bytes:
    """What numpy would need pickle for: the header says objects."""
    return npz().replace(b"'|u1'", b"'|O '")


IDX = struct.pack(">BBBBI", 0, 0, 8, 1, 5) + bytes(5)
PICKLE = b"\x80\x02}q\x00(U\x04dataq\x01U\x05labelsq\x02]q\x03(K\x06K\x09eu."
POSTS = b'{"user_id": "u", "text": "words of one", "stars": 3}\n{"user_id": "v", "text": "more words", "stars": 1}\n'
LEAF = json.dumps({"users": ["a"], "num_samples": [1], "user_data": {"a": {"x": ["text of a"], "y": ["t"]}}}).encode()
XML = b'<?xml version="1.0"?>\n<posts>\n<row Id="1" PostTypeId="1" OwnerUserId="3" Body="words" />\n</posts>\n'
READERS: dict[str, tuple[str, bytes, Callable[[Path], Any]]] = {
    "availability trace": (
        "t.json",
        b'{"clients": {"0": [[1, 5], [9, 9]], "3": [[2, 2]]}}',
        lambda p: read_trace(str(p)),
    ),
    "availability by round": ("t.json", b'{"rounds": {"1": [0, 3], "2": []}}', lambda p: read_trace(str(p))),
    "latency trace": (
        "t.json",
        b'{"seconds_per_step": {"0": 0.02}, "factors": {"0": [1, 1.5], "1": [2, 3]}}',
        lambda p: read_paces(str(p)),
    ),
    "npz": ("x.npz", npz(), read_npz),
    "npz of objects": ("x.npz", npy_in_zip_python_objects(), read_npz),
    "idx": ("labels", IDX, lambda p: read_idx(p, 1)),
    "idx, packed": ("labels.gz", gzip.compress(IDX, mtime=0), lambda p: read_idx(p, 1)),
    "cifar, binary": ("data_batch_1.bin", bytes(2 * 3073), read_binary_batch),
    "cifar, pickled": ("data_batch_1", PICKLE, read_python_batch),
    "label counts, CSV": ("x.csv", b"client,a,b\n1,20,3\n7,0,4\n", read_federation),
    "labels of samples, CSV": ("x.csv", b"client,label,count\n1,cat,3\n7,dog,4\n", read_federation),
    "label counts, JSON": ("x.json", b'{"ids": [1, 7], "label_counts": [[20, 3], [0, 4]]}', read_federation),
    "privacy ledger": (
        "x.release",
        b'{"client": 3, "version": "2026-11", "kind": "counts", "epsilon": 0.5}\n{"released": [3, 4]}\n',
        lambda p: (Ledger(p.parent, 3).spent, Ledger(p.parent, 3).versions),
    ),
    "posts by user": ("x.jsonl", POSTS, lambda p: list(read_by_user(p))),
    "yelp": ("x.json", POSTS, lambda p: list(read_yelp(p))),
    "leaf": ("x.json", LEAF, lambda p: list(read_leaf(p))),
    "stack exchange": ("Posts.xml", XML, lambda p: list(read_stack_exchange(p))),
}


@pytest.mark.parametrize("kind", READERS)
@fuzzed
@given(data=st.data())
def test_a_reader(kind: str, data: st.DataObject, tmp_path: Path) -> None:
    name, content, read = READERS[kind]
    path = tmp_path / name
    path.write_bytes(data.draw(changed(content)))
    try:
        read(path)
    except CallupError as error:
        assert str(error)


@fuzzed
@given(data=st.data())
def test_two_files_that_belong_together(data: st.DataObject, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(data.draw(changed(bytes(27648))))
    (tmp_path / "y.bin").write_bytes(data.draw(changed(b"\x01")))
    try:
        read_binary(tmp_path / "x.bin", tmp_path / "y.bin")
    except CallupError as error:
        assert ".bin" in str(error)


@fuzzed
@given(content=st.binary(max_size=60).map(lambda tail: b"\x80\x02" + tail))
def test_any_bytes_as_a_pickle(content: bytes) -> None:
    """The parser's own promise: plain values or a ValueError."""
    with contextlib.suppress(ValueError):
        parse_pickle(content)


DEEP = st.integers(1, 200_000).map(lambda depth: b"[" * depth)


@fuzzed
@given(content=DEEP)
def test_brackets_without_end(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(content)
    for read in (read_trace, read_paces):
        with pytest.raises(CallupError):
            read(str(tmp_path / "t.json"))
