"""Nothing in the sources or the tests loads data in a way that could run it. Read from the syntax, not from the text.

Two things are left alone. `pickletools` only takes pickles apart: the reader of CIFAR-10 parses their opcodes with it
and builds plain values. And libraries do as they like inside: numba keeps compiled code in a cache of its own,
multiprocessing passes messages between our own processes; neither reads a file that came from elsewhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "battery", "benchmarks", "docs", "examples")
MODULES = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
CALLS = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "torch.load",
    "joblib.load",
    "yaml.load",
    "yaml.unsafe_load",
    "yaml.full_load",
    "pandas.read_pickle",
    "pd.read_pickle",
    "os.system",
}


def offences(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (f"import {name.name}" for name in node.names if name.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom):
            if (node.module or "").split(".")[0] in MODULES:
                yield f"from {node.module} import ..."
            if node.module in ("torch", "yaml"):
                yield from (f"from {node.module} import load" for name in node.names if "load" in name.name)
        elif isinstance(node, ast.Call):
            if dotted(node.func) in CALLS:
                yield f"{dotted(node.func)}(...)"
            yield from (f"{word.arg}=..." for word in node.keywords if allows(word, "allow_pickle"))
        elif isinstance(node, ast.Name) and node.id in ("eval", "exec"):
            yield node.id


def allows(word: ast.keyword, name: str) -> bool:
    """Anything but a plain False."""
    return word.arg == name and not (isinstance(word.value, ast.Constant) and word.value.value is False)


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def sources() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def test_nothing_loads_what_could_run() -> None:
    shown = {
        "tests/agreement/test_private_view.py: import pickle"
    }  # that secrets refuse to be pickled; it loads nothing
    found = [
        f"{path.relative_to(ROOT)}: {what}" for path in sources() for what in offences(ast.parse(path.read_text()))
    ]
    assert set(found) - shown == set()
    assert len(sources()) > 300


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "import pickle as harmless",
        "from pickle import loads",
        "from joblib import load",
        "import dill.source",
        "torch.load('x')",
        "from torch import load",
        "numpy.load('x', allow_pickle=True)",
        "numpy.load('x', allow_pickle=wanted)",
        "eval('1')",
        "run = eval",
        "exec('1')",
        "yaml.load(text)",
        "__import__('pickle')",
    ],
)
def test_the_list_bites(line: str) -> None:
    assert list(offences(ast.parse(line)))


@pytest.mark.parametrize(
    "line",
    ["import pickletools", "module.eval()", "np.load('x', allow_pickle=False)", "json.load(file)", "re.compile('x')"],
)
def test_what_is_not_on_it(line: str) -> None:
    assert not list(offences(ast.parse(line)))
