"""The crash part of `make battery`: kills, torn logs and flipped bytes; no history may come out differently."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from callup.experiments.crashes import drill


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="a sample that takes half a minute")
    parser.add_argument("--seeds", type=int, default=20, help="seeds for every named point")
    parser.add_argument("--kills", type=int, default=200, help="runs killed at random moments")
    parser.add_argument("--out", type=Path, help="where the result goes, as JSON")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        if asked.short:
            tally = drill(Path(home), seeds=3, points=6, kills=8)
        else:
            tally = drill(Path(home), asked.seeds, None, asked.kills)
    text = json.dumps(tally.plain(), indent=1)
    if asked.out is not None:
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.write_text(text + "\n", encoding="utf-8")
    sys.stdout.write(text + "\n")
    return 0 if tally.passed else 4


if __name__ == "__main__":
    sys.exit(main())
