"""Nothing that comes from a file reaches the terminal raw."""

from __future__ import annotations

import pytest

from callup.cli.terminal import clean


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("fed-cbs:sharp", "fed-cbs:sharp"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;new title\x07name", "name"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("two\nlines\r\n", "two lines"),
        ("bell\x07", "bell"),
        ("\x9b2Jgone", "2Jgone"),
        ("txt\u202egnp", "txt gnp"),
        ("\x1b", ""),
        ("Größe α ★", "Größe α ★"),
    ],
)
def test_clean(raw: str, shown: str) -> None:
    assert clean(raw) == shown
