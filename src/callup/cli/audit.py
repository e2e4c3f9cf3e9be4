"""`callup audit privacy`: attacks the label statistics of a federation and says what each party learns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from callup.cli import completion
from callup.cli.options import AsFormat, Format
from callup.cli.terminal import print_json, results, suggest_next
from callup.core.errors import InputError, UsageError, suggest

if TYPE_CHECKING:
    from callup.privacy.audit.findings import Audit

_MODES = ("plain", "dp", "shared", "shared+dp")


def audit(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="privacy.")],
    federation: Annotated[
        Path | None,
        typer.Option(
            "--federation",
            metavar="FILE",
            help="Your label counts: a CSV file with the columns client,CLASS,CLASS,..., JSON, or the folder of a run.",
        ),
    ] = None,
    partition: Annotated[
        str, typer.Option(help="Without a file: the partition to simulate.")
    ] = "dirichlet-balanced:clients=200,alpha=0.1",
    samples: Annotated[int, typer.Option(min=10, help="Without a file: how many samples there are.")] = 50_000,
    classes: Annotated[int, typer.Option(min=2, help="Without a file: how many classes there are.")] = 10,
    mode: Annotated[
        list[str] | None, typer.Option("--mode", help="A mode such as shared+dp:epsilon=0.5; may be repeated.")
    ] = None,
    known: Annotated[
        str | None,
        typer.Option(
            help="How many clients a curious selector knows, e.g. 1,3,9.",
            show_default="1, 3 and one less than there are classes",
        ),
    ] = None,
    rounds: Annotated[int, typer.Option(min=0, help="Rounds that a curious server watches; 0: none.")] = 300,
    selector: Annotated[
        str, typer.Option(help="The method whose picks the server watches.", autocompletion=completion.selectors)
    ] = "fed-cbs",
    k: Annotated[int, typer.Option(min=1, help="Clients picked in a round.")] = 10,
    seed: Annotated[int, typer.Option(help="The seed.")] = 0,
    out: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("audit-privacy.svg"),
    format: AsFormat = Format.table,
) -> None:
    """Attack a federation's label statistics under each privacy mode and print what leaks to whom."""
    from callup.cli.audit_input import read_federation, simulated_federation, some_of
    from callup.cli.audit_picture import picture
    from callup.privacy.audit.findings import audit as attack
    from callup.privacy.claims import claims
    from callup.privacy.modes import parse_mode

    if what != "privacy":
        raise UsageError(f"there is no audit '{what}'{suggest(what, ['privacy'])}")
    configured = None
    if federation is not None:
        clients, configured = read_federation(federation)
    else:
        clients = simulated_federation(partition, samples, classes, seed)
    # A run is audited under its own mode, and under the others to compare with.
    modes = [parse_mode(spec) for spec in mode or (configured or _MODES[0], *_MODES)]
    modes = list({m.spec: m for m in modes}.values())
    if "label_counts" not in clients:
        raise InputError(f"{federation} holds no label counts to audit")
    clients = some_of(clients, seed)
    count = len(clients)
    enough = clients.all("label_counts").shape[1] - 1  # with the sizes as many equations as there are classes
    few = [n for n in ([1, 3, enough] if known is None else _numbers(known)) if n < count]
    few = sorted(set(few))
    found = attack(clients, [m.spec for m in modes], seed, few, min(k, count), rounds, selector)
    out.write_text(str(picture(found)), encoding="utf-8")
    promises = [claims(m) for m in modes]
    if format is Format.json:
        print_json({"success": True, "clients": count, "claims": promises, "picture": str(out), **_document(found)})
        return
    _print(found, promises, count)
    print(out)
    suggest_next("callup audit privacy --mode shared+dp:epsilon=0.5", "callup show label_gram")


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise UsageError(f"--known takes whole numbers such as 1,3,9, got '{text}'") from error


def _document(found: Audit) -> dict[str, Any]:
    rows = [
        {"mode": f.mode, "party": f.party, "sees": f.sees, "names": f.names, **vars(f.score)} for f in found.findings
    ]
    watching = [vars(w) for w in found.watching]
    return {"findings": rows, "watching": watching, "knows_nothing": vars(found.nothing)}


def _print(found: Audit, promises: list[str], count: int) -> None:
    from rich.table import Table

    console = results()
    table = Table(title=f"What is learned of the label counts of {count} clients", title_justify="left")
    for name, side in (("mode", "left"), ("who", "left"), ("sees", "left")):
        table.add_column(name, justify=side, overflow="fold")  # type: ignore[arg-type]
    for name in ("exact", "off by", "main class"):
        table.add_column(name, justify="right", no_wrap=True)
    for f in found.findings:
        s = f.score
        named = "" if f.names else "*"
        table.add_row(f.mode, f.party, f.sees, f"{s.exact:.0%}{named}", f"{s.distance:.3f}", f"{s.dominant:.0%}{named}")
    s = found.nothing
    table.add_row("–", "knows all together only", "", f"{s.exact:.0%}", f"{s.distance:.3f}", f"{s.dominant:.0%}")
    console.print(table)
    console.print("exact: rows right in every count; off by: mean total variation of label shares; * up to class names")
    for w in found.watching:
        console.print(f"{w.mode}: {w.rounds} rounds of picks alone tell pairs of the same class with AUC {w.auc:.2f}")
    for line in promises:
        console.print(line)
