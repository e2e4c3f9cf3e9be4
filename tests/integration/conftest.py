"""Modules beside the tests can be imported by them."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
with warnings.catch_warnings():
    # The typer that Flower asks for uses names that newer versions of click have deprecated; it says so once, here.
    warnings.simplefilter("ignore", DeprecationWarning)
    import typer  # noqa: F401
