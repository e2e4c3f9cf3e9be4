"""Reads a Flower app and finds the lines to change. It looks at the source; nothing of the app is run."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from callup.core.catalogue import DEFAULT, SELECTORS
from callup.core.errors import InputError
from callup.core.selector import Selector
from callup.core.signals import Ask, Need
from callup.flower.app_source import called_name, calls, makes_strategy, module, parse, read_toml

_OLD = {"client_fn", "server_fn", "NumPyClient", "start_server", "start_client", "start_simulation", "run_simulation"}
_SERVED = {"duration", "update", "train_loss", "local_steps"}


@dataclass(frozen=True)
class Change:
    """A line to add below another one."""

    file: Path
    below: int
    text: str
    why: str


@dataclass
class Findings:
    """What was found in an app."""

    server: Path
    client: Path
    changes: list[Change] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    """What would help and is not needed."""

    @property
    def ready(self) -> bool:
        return not self.changes and not self.problems


def check_app(folder: Path, selector: Selector) -> Findings:
    """What this app lacks to choose its clients by this selector."""
    facts = read_toml(folder / "pyproject.toml")
    parts = facts.get("tool", {}).get("flwr", {}).get("app", {}).get("components", {})
    if not {"serverapp", "clientapp"} <= parts.keys():
        raise InputError(f"{folder} is no Flower app: pyproject.toml names no serverapp and clientapp")
    found = Findings(module(folder, str(parts["serverapp"])), module(folder, str(parts["clientapp"])))
    _check_dependencies(folder, facts, found)
    _check_server(found, selector)
    _check_client(found, selector, str(parts["clientapp"]).rpartition(":")[2])
    return found


def _check_dependencies(folder: Path, facts: dict[str, Any], found: Findings) -> None:
    listed = [str(name) for name in facts.get("project", {}).get("dependencies", [])]
    if not any(name.replace(" ", "").startswith("callup") for name in listed):
        path = folder / "pyproject.toml"
        lines = path.read_text(encoding="utf-8").splitlines()
        at = next((i for i, line in enumerate(lines, 1) if line.strip().startswith("dependencies")), 0)
        found.changes.append(Change(path, at, '"callup[flower]",', "in dependencies: every node needs it too"))


def _check_server(found: Findings, selector: Selector) -> None:
    tree = parse(found.server)
    _check_old(tree, found.server, found)
    if calls(tree, "Selecting"):
        return
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and makes_strategy(node.value)]
    if not made:
        found.problems.append(
            f"{found.server}: no strategy of flwr.serverapp.strategy is made here; wrap yours where it is made: "
            f"callup.flower.Selecting(strategy, {selector.spec!r}, k=10)"
        )
        return
    last = made[-1]
    if called_name(last.value) == "FedXgbCyclic":
        found.problems.append(f"{found.server}:{last.lineno}: FedXgbCyclic is a schedule of its own; use FedXgbBagging")
        return
    variable = ast.unparse(last.targets[0])
    below = last.end_lineno or last.lineno
    name = DEFAULT if selector.spec == SELECTORS.make(DEFAULT).spec else selector.spec
    text = " " * last.col_offset + f'{variable} = callup.flower.Selecting({variable}, "{name}", k=10, seed=1)'
    _check_import(tree, found.server, found)
    found.changes.append(Change(found.server, below, text, "clients are chosen by the selector"))


def _check_client(found: Findings, selector: Selector, variable: str) -> None:
    tree = parse(found.client)
    _check_old(tree, found.client, found)
    wanted = [asked for need in selector.needs if (asked := _of_client(need)) is not None]
    answers = calls(tree, "answer")
    given = {keyword.arg for call in answers for keyword in call.keywords}
    if "label_counts" in given:
        given.add("num_examples")
    if "label_counts" in [name for name, _ in wanted]:
        wanted = [(name, takes) for name, takes in wanted if name != "num_examples"]
    lacking = [_keyword(name, takes) for name, takes in wanted if name not in given]
    found.hints += [
        f"{selector.card.name} goes by '{stopgap}' unless clients tell more: "
        f"callup.flower.answer({variable}, {_keyword(wish.signal.name, _takes(wish))})"
        for need in selector.needs
        if (stopgap := _stopgap(need)) and (wish := need.any_of[0]).signal.name not in given
    ]
    found.hints += [
        f"{selector.card.name} chooses better where all clients tell '{wish.signal.name}' too: "
        f"callup.flower.answer({variable}, {_keyword(wish.signal.name, _takes(wish))})"
        for need in selector.needs
        if need.optional and _can_answer(wish := need.any_of[0]) and wish.signal.name not in {*given, "num_examples"}
    ]
    if not lacking:
        return
    if answers:
        why = "arguments to add to the call of answer"
        found.changes.append(Change(found.client, answers[0].lineno, f"    {', '.join(lacking)},", why))
        return
    made = [n for n in ast.walk(tree) if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == variable]
    if not made:
        found.problems.append(f"{found.client}: there is no line '{variable} = ClientApp()'")
        return
    _check_import(tree, found.client, found)
    below = made[-1].end_lineno or made[-1].lineno
    text = f"callup.flower.answer({variable}, {', '.join(lacking)})"
    found.changes.append(Change(found.client, below, text, f"{selector.card.name} asks clients for these"))


def _of_client(need: Need) -> tuple[str, str] | None:
    """What a client has to answer for this need; None if the server can work it out or it may go unmet."""
    if need.optional or not all(map(_can_answer, need.any_of)):
        return None
    first = need.any_of[0]
    return first.signal.name, _takes(first)


def _can_answer(ask: Ask) -> bool:
    """Whether it is for the client to tell, and not worked out by the server."""
    return ask.signal.name not in _SERVED and ask.time != "server"


def _stopgap(need: Need) -> str | None:
    """What the server takes by itself where clients do not answer what the method would rather have."""
    names = [ask.signal.name for ask in need.any_of]
    served = [name for name in names if name in _SERVED]
    return served[0] if served and names[0] not in _SERVED and not need.optional else None


def _takes(ask: Ask) -> str:
    return "context" if ask.time == "profile" else "arrays, context"


def _keyword(name: str, takes: str) -> str:
    return f"{name}=lambda {takes}: ..."


def _check_import(tree: ast.Module, path: Path, found: Findings) -> None:
    named = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    if "callup.flower" not in named:
        imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        below = max((node.end_lineno or node.lineno for node in imports), default=0)
        found.changes.append(Change(path, below, "import callup.flower", "an import"))


def _check_old(tree: ast.Module, path: Path, found: Findings) -> None:
    for node in ast.walk(tree):
        names = {n.arg for n in node.keywords} | {called_name(node)} if isinstance(node, ast.Call) else set()
        if isinstance(node, ast.ImportFrom):
            names |= {alias.name for alias in node.names}
            if f"{node.module}.".startswith(("flwr.server.", "flwr.client.")):
                names.add("client_fn")
        if names & _OLD:
            found.problems.append(
                f"{path}:{getattr(node, 'lineno', 1)}: this is Flower's old API; move to flwr.serverapp and "
                f"flwr.clientapp first"
            )
            return
