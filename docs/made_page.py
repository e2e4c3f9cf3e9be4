"""The command line of a page made from stored results: write it, or with `--check` say whether it is up to date."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path


def main(page: Path, render: Callable[[], str]) -> int:
    parser = argparse.ArgumentParser(description=f"Writes {page.name} from the stored results.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if the page is not up to date")
    checking = parser.parse_args().check
    text = render()
    if not checking:
        page.write_text(text, encoding="utf-8")
        return 0
    same = page.exists() and page.read_text(encoding="utf-8") == text
    if not same:
        sys.stderr.write(f"{page.name} is not up to date: run python {sys.argv[0]}\n")
    return 0 if same else 1
