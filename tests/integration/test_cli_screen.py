"""On a real terminal the race is drawn in place, stdout stays pure, and NO_COLOR is respected."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest

COLOUR = re.compile(r"\x1b\[[0-9;]*38;[0-9;]+m")
OPTIONS = ["--scenario", "skewed", "--rounds", "40", "--seeds", "1", "--jobs", "1", "--format", "json"]


def race_on_a_terminal(folder: Path, **environment: str) -> tuple[str, str]:
    """What a small race writes to a terminal of 80 x 24 on stderr, and what to stdout."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    known = {
        key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "LINES", "COLORTERM")
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "callup", "race", "random", "fed-cbs", *OPTIONS, "--out", str(folder)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env={**known, "TERM": "xterm-256color", **environment},
    )
    os.close(theirs)
    drawn: list[bytes] = []
    reader = threading.Thread(target=read_all, args=(ours, drawn))
    reader.start()
    out, _ = process.communicate(timeout=100)
    reader.join(timeout=10)
    os.close(ours)
    assert process.returncode == 0
    return b"".join(drawn).decode(), out


def read_all(terminal: int, into: list[bytes]) -> None:
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # the other end was closed: how Linux says that this is all
            return
        if not chunk:
            return
        into.append(chunk)


@pytest.mark.parametrize("coloured", [True, False])
def test_the_race_is_drawn_in_place(coloured: bool, tmp_path: Path) -> None:
    drawn, out = race_on_a_terminal(tmp_path / "race", **({} if coloured else {"NO_COLOR": "1"}))
    assert len(json.loads(out)["runs"]) == 2
    assert bool(COLOUR.search(drawn)) == coloured
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn)
    for part in ("Skewed labels", "random", "fed-cbs", "★", "■ called now", "of 2 runs", "left"):
        assert part in plain
    assert max(len(line) for line in re.split(r"[\r\n]+", plain)) <= 80
    # It is wiped away in the end: as many lines up as were drawn, the last thing written.
    assert re.search(r"(\x1b\[1A\x1b\[2K){8,}$", drawn)
