"""What the documentation shows is run: every Python block of a page, in order, in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^( *)```python\n(.*?)^ *```", re.M | re.S)


def blocks(page: Path) -> list[str]:
    return [textwrap.dedent(found.group(2)) for found in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def test_pages_with_code_are_found() -> None:
    assert [p.name for p in PAGES if blocks(p)] == ["README.md", "CONTRIBUTING.md", "add-a-selector.md"]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.name)
def test_page_runs(page: Path, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks(page)), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr


def test_readme_shows_code_early_and_keeps_it_short() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    start = lines.index("```python")
    assert start < 15
    assert lines.index("```", start) - start - 1 <= 12
