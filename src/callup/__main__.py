"""`python -m callup` is the command `callup`."""

from __future__ import annotations

import sys

from callup.cli.main import run

if __name__ == "__main__":
    sys.exit(run())
