"""Reads a JSON file, or says in one sentence why it cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from callup.core.errors import InputError


def read_json(file: str) -> Any:
    try:
        return json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the trace {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # broken JSON, broken UTF-8 and endless brackets alike
        raise InputError(f"{file} is not JSON: {error}") from error
