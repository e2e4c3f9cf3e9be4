"""Help is instant, loads nothing heavy, and a mistyped command line ends in one line with a suggestion."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Sequence

import pytest

from callup import __version__
from callup.cli.commands import COMMANDS
from callup.cli.main import run

HEAVY = ("rich", "numpy", "torch", "jinja2", "safetensors", "threadpoolctl", "multiprocessing")


def callup(*args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "callup", *args],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "NO_COLOR": "1", **(env or {})},
    )


@pytest.mark.parametrize("args", [["--help"], ["race", "--help"], ["list", "--help"], ["--version"], ["rcae"]])
def test_nothing_heavy_is_imported(args: Sequence[str]) -> None:
    script = f"""
import sys
from callup.cli.main import run
run({list(args)!r})
print("loaded:", *(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stderr.splitlines()[-1].split() == ["loaded:"]


def test_help_costs_little_more_than_python_and_its_command_line_library() -> None:
    def cpu(*command: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert subprocess.run([sys.executable, *command], capture_output=True, timeout=60).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    # A ratio, since machines differ, of the least of several: other work on the machine only adds.
    pairs = [(cpu("-c", "import typer"), cpu("-m", "callup", "--help")) for _ in range(12)]
    assert min(help_ for _, help_ in pairs) <= 2 * min(library for library, _ in pairs)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_list_and_the_page_of_a_command_agree(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert page.startswith(f"Usage: callup {command} ")
    assert COMMANDS[command][1].rstrip(".") in page


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "flower"])
def test_every_argument_says_what_it_is(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    page = capsys.readouterr().out
    assert "Positional arguments" not in page
    for line in page.partition("Arguments:\n")[2].partition("\n\n")[0].splitlines():
        assert line.startswith("    ") or len(line.replace("[required]", "").split()) > 1


@pytest.mark.parametrize("command", ["race", "run", "reproduce", "audit"])
def test_help_shows_defaults_in_plain_brackets(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "[default: " in shown
    assert "\\[" not in shown


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"callup {__version__}\n"


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {command} " in shown for command in ("race", "list", "show", "run", "report"))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["rcae"], "error: no such command 'rcae'; did you mean 'race'?"),
        (["repotr", "x"], "error: no such command 'repotr'; did you mean 'report'?"),
        (["race", "--qiuck"], "error: no such option '--qiuck' of callup race; did you mean '--quick'?"),
        (["flower", "chek"], "error: no such command 'chek' of callup flower; did you mean 'check'?"),
        (["--verison"], "error: no such option '--verison' of callup; did you mean '--version'?"),
        (["show"], "error: missing argument 'NAME'; see: callup show --help"),
        (["list", "selektors"], "error: nothing is called 'selektors'; did you mean 'selectors'?"),
        (["show", "fedcbs"], "error: nothing is called 'fedcbs'; did you mean 'fed-cbs'?"),
        (["show", "dirichlt"], "error: nothing is called 'dirichlt'; did you mean 'dirichlet'?"),
    ],
)
def test_typos(args: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(args) == 2
    printed = capsys.readouterr()
    assert printed.err == f"{said}\n"
    assert printed.out == ""


def test_a_bug_is_one_line_and_exit_code_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(kind: str) -> None:
        raise RuntimeError("something\nodd")

    monkeypatch.setattr("callup.cli.cards.cards_of", broken)
    assert run(["list"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: this is a bug in callup (RuntimeError: something odd)")
    assert error.count("\n") == 1


@pytest.mark.parametrize("how", ["option", "environment"])
def test_the_traceback_is_there_for_the_asking(
    how: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if how == "environment":
        monkeypatch.setenv("CALLUP_DEBUG", "1")
    assert run([*(["--debug"] if how == "option" else []), "show", "fedcbs"]) == 2
    error = capsys.readouterr().err
    assert "Traceback" in error
    assert error.splitlines()[-1].startswith("error: nothing is called 'fedcbs'")


def test_an_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(kind: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("callup.cli.cards.cards_of", interrupted)
    assert run(["list"]) == 130


def test_a_closed_pipe_is_no_traceback() -> None:
    done = subprocess.run(
        f"{sys.executable} -m callup list --format json | head -c 10", shell=True, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr
    assert len(done.stdout) == 10


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "flower"])
def test_every_command_offers_json(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    assert "--format" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("callup rep", {"report", "reproduce"}),
        ("callup race fedcm", {"fedcm-ts", "fedcm-ucb"}),
        ("callup race random fed-cbs:s", {"fed-cbs:sharp", "fed-cbs:shifted"}),
        ("callup cite oo", {"oort"}),
        ("callup show label-c", {"label-counts"}),
        ("callup list fi", {"filters"}),
        ("callup flower check app --selector tif", {"tifl"}),
        ("callup race --qu", {"--quick"}),
    ],
)
def test_tab_completes_commands_options_and_names(typed: str, offered: set[str]) -> None:
    words = typed.split()
    asked = {"_CALLUP_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    assert set(callup(env=asked).stdout.split()) == offered
