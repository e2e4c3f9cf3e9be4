"""Everything that is measured, one after the other: `make bench`, on a machine with nothing else to do (20 minutes).

The environments of other simulators are made first, in .bench, if they are not there. A part that fails is named at
the end and leaves the others alone; what it stored before stays. `--trial` takes few repeats, to see that all works.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PARTS = {
    "peers.py": ["--trial"],
    "backends.py": ["2"],
    "cnn.py": ["2"],
    "lstm.py": ["1"],
    "races.py": ["2"],
    "selection.py": ["random", "fed-cbs"],
}
"""Scripts in order, those that want the quietest machine first, and what makes each a trial."""
FULL = {"selection.py": ["--growth"]}
"""What a full run asks of a script."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trial", action="store_true", help="few repeats, to see that all of it works")
    trial = parser.parse_args().trial
    failed = []
    try:
        for script, few in PARTS.items():
            print(f"\n--- {script}", flush=True)
            begun = time.perf_counter()
            words = few if trial else FULL.get(script, [])
            if subprocess.run([sys.executable, str(HERE / script), *words], check=False).returncode:
                failed.append(script)
            print(f"--- {script} took {time.perf_counter() - begun:.0f} s", flush=True)
    finally:  # also when it was stopped: the pages tell what there is
        subprocess.run([sys.executable, str(HERE / "performance_page.py")], check=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
