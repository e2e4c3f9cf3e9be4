"""Methods from files of one's own: a file is run once in a process, and what it adds is there by name.

Files are named by people alone: on the command line, or in the environment, from which workers have it too. The spec of
a stored run never names one, so reading what somebody else sent runs no code.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from callup.core.errors import InputError

VARIABLE = "CALLUP_PLUGINS"
"""Files to read, separated as paths are in PATH."""

_modules: dict[Path, str] = {}


def load(path: Path) -> str:
    """Runs the file, unless it was run before; the name of its module."""
    where = path.resolve()
    if where in _modules:
        return _modules[where]
    if not where.is_file():
        raise InputError(f"there is no file {path}")
    name = f"callup_plugin_{len(_modules)}_{where.stem}"
    spec = importlib.util.spec_from_file_location(name, where)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    _modules[where], sys.modules[name] = name, module  # first: a dataclass looks its module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del _modules[where], sys.modules[name]
        raise InputError(f"{path}{_line(error, where)}: {type(error).__name__}: {error}") from error
    return name


def share(path: Path) -> None:
    """Has worker processes read the file as well."""
    known = os.environ.get(VARIABLE, "").split(os.pathsep)
    if str(path.resolve()) not in known:
        os.environ[VARIABLE] = os.pathsep.join([*filter(None, known), str(path.resolve())])


def load_shared() -> None:
    """Every file that the environment names."""
    for name in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        load(Path(name))


def _line(error: Exception, where: Path) -> str:
    """Where in the file it went wrong."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f", line {error.lineno}"
    number, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(where):
            number = trace.tb_lineno
        trace = trace.tb_next
    return f", line {number}" if number else ""
