"""The source of a Flower app, read and never run."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Any

from callup.core.errors import InputError

STRATEGIES = {
    "Bulyan", "FedAdagrad", "FedAdam", "FedAvg", "FedAvgM", "FedMedian", "FedProx", "FedTrimmedAvg", "FedXgbBagging",
    "FedXgbCyclic", "FedYogi", "Krum", "MultiKrum", "QFedAvg", "DifferentialPrivacyServerSideFixedClipping",
    "DifferentialPrivacyServerSideAdaptiveClipping", "DifferentialPrivacyClientSideFixedClipping",
    "DifferentialPrivacyClientSideAdaptiveClipping",
}  # fmt: skip


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path.parent} is no Flower app: there is no pyproject.toml in it") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error


def module(folder: Path, address: str) -> Path:
    """The file behind an address such as `package.server_app:app`."""
    place = address.partition(":")[0].replace(".", "/")
    for path in (folder / f"{place}.py", folder / place / "__init__.py"):
        if path.is_file():
            return path
    raise InputError(f"pyproject.toml names '{address}', but there is no {folder / place}.py")


def calls(tree: ast.Module, name: str) -> list[ast.Call]:
    """Every call of something of this name."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and called_name(node) == name]


def makes_strategy(value: ast.expr) -> bool:
    """A stock strategy, or one that is called like them."""
    return isinstance(value, ast.Call) and (
        called_name(value) in STRATEGIES or str(called_name(value)).startswith("Fed")
    )


def called_name(node: ast.AST) -> str | None:
    called = node.func if isinstance(node, ast.Call) else node
    return called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else None


def parse(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
