"""`callup selftest`: what Callup promises, put to the test on this machine, on one page."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from callup.cli.failures import FAILED
from callup.cli.options import AsFormat, Format, Open
from callup.cli.terminal import clean, print_json, say, suggest_next
from callup.core.errors import UsageError, suggest


def selftest(
    only: Annotated[
        list[str] | None, typer.Argument(metavar="[TRIAL]...", help="Hold these trials alone.", show_default=False)
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder for the page and its JSON.")] = Path("runs/selftest"),
    open: Open = False,
    format: AsFormat = Format.table,
) -> None:
    """Run the short battery in a few minutes and write a one-page report."""
    from callup.cli.pages import open_page
    from callup.experiments.selftest.finding import Finding, hold
    from callup.experiments.selftest.trials import TRIALS
    from callup.report.selftest import write_selftest

    known = {trial.name: trial for trial in TRIALS}
    for name in only or ():
        if name not in known:
            raise UsageError(f"no such trial '{name}'{suggest(name, known)}")
    chosen = [trial for trial in TRIALS if not only or trial.name in only]
    if format is Format.table:
        say(f"{len(chosen)} trials, about {5 if not only else 1} minutes")
    found: list[Finding] = []
    with tempfile.TemporaryDirectory(prefix="callup-selftest-") as home:
        for finding in hold(chosen, Path(home)):
            found.append(finding)
            if format is Format.table:
                mark = "ok    " if finding.passed else "FAILED"
                print(clean(f"{mark} {finding.name:12s} {finding.seen.sentence} ({finding.seconds:.0f} s)"), flush=True)
                for line in finding.seen.failures[:5]:
                    say(clean(f"         {line}"))
    page = write_selftest(out, [finding.plain() for finding in found])
    passed = all(finding.passed for finding in found)
    if format is Format.json:
        print_json({"success": passed, "report": str(page), "trials": [finding.plain() for finding in found]})
    else:
        print(page)
        suggest_next(f"callup selftest --out {out} --open" if not open else "callup race")
    if open:
        open_page(page)
    if not passed:
        raise typer.Exit(FAILED)
