"""`list` and `show` tell what the cards say, all of it, within a hundred columns."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callup.cli.main import run
from callup.core.catalogue import DEFAULT, SELECTORS
from callup.core.signals import SIGNALS

KINDS = ("selectors", "partitions", "tasks", "averages", "filters", "availability", "latency", "signals")


def as_json(capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    assert run([*args, "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


@pytest.mark.parametrize("kind", KINDS)
def test_list_fits_a_hundred_columns_and_names_the_next_command(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", kind]) == 0
    printed = capsys.readouterr()
    assert max(map(len, printed.out.splitlines())) <= 100
    assert printed.err.startswith("next: callup ")
    for card in as_json(capsys, "list", kind)["cards"]:
        assert card["name"] in printed.out


def test_list_as_json_holds_every_fact_of_every_selector(capsys: pytest.CaptureFixture[str]) -> None:
    listed = as_json(capsys, "list")["cards"]
    assert [card["name"] for card in listed] == [card.name for card in SELECTORS.cards()]
    fed_cbs = next(card for card in listed if card["name"] == "fed-cbs")
    assert [need["spec"] for need in fed_cbs["needs"]] == ["label_counts|label_gram", "num_examples"]
    assert fed_cbs["reveals"] == [SIGNALS[name].reveals for name in ("label_counts", "label_gram", "num_examples")]
    assert {"name": "scale", "kind": "a number", "default": 1.0} in fed_cbs["parameters"]
    assert fed_cbs["presets"]["sharp"] == {"scale": 3.5}


def test_the_table_of_selectors_says_what_each_needs_and_reveals(capsys: pytest.CaptureFixture[str]) -> None:
    run(["list"])
    words = " ".join(capsys.readouterr().out.split())
    for heading in ("name, paper", "idea", "needs, reveals", "scale"):
        assert heading in words
    assert "loss by probe" in words


def test_show_a_selector(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "fed-cbs"]) == 0
    printed = capsys.readouterr()
    for part in (
        "Sample each next client in inverse power of the class imbalance",
        "scale = 1.0",
        "fed-cbs:sharp",
        "label_counts (before any round)",
        "or label_gram (before any round)",
        "Reveals",
        "Differs from the paper",
        f"{SELECTORS.card('fed-cbs').version}, raised when its results change",
    ):
        assert part in printed.out
    assert max(map(len, printed.out.splitlines())) <= 100
    assert printed.err == "next: callup race random fed-cbs\n"


def test_show_marks_the_preset_that_is_taken_where_nobody_names_a_method(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", DEFAULT]) == 0
    presets = capsys.readouterr().out.partition("Presets")[2].partition("Asks of clients")[0]
    marked = [line.split()[0] for line in presets.splitlines() if "(default)" in line]
    assert marked == [DEFAULT]


def test_show_says_when_clients_are_asked(capsys: pytest.CaptureFixture[str]) -> None:
    run(["show", "power-of-choice"])
    assert "loss (before choosing, from candidates)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "kind"), [("dirichlet", "partitions"), ("always", "availability"), ("loss", "signals")]
)
def test_show_finds_every_kind(name: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert [card["kind"] for card in as_json(capsys, "show", name)["cards"]] == [kind]


def test_show_every_name_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    for kind in KINDS:
        for card in as_json(capsys, "list", kind)["cards"]:
            assert run(["show", card["name"]]) == 0
            assert card["summary"].split()[0] in capsys.readouterr().out


def test_show_takes_a_spec_and_checks_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "fed-cbs:sharp"]) == 0
    capsys.readouterr()
    assert run(["show", "fed-cbs:scael=2"]) == 2
    assert capsys.readouterr().err == "error: fed-cbs has no parameter 'scael'; did you mean 'scale'?\n"


def test_every_method_task_and_partition_carries_a_version(capsys: pytest.CaptureFixture[str]) -> None:
    for kind in KINDS[:-1]:
        for card in as_json(capsys, "list", kind)["cards"]:
            assert type(card["version"]) is int and card["version"] >= 1, card["name"]


def test_brackets_are_text_not_markup(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "label_gram"]) == 0
    assert "S[n,m] = sum_b D_n[b] D_m[b]" in capsys.readouterr().out
