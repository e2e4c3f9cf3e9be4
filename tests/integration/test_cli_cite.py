"""`callup cite`: every method has its paper, every paper its method, and a race cites all that it ran."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from callup.cli.main import run
from callup.core.catalogue import AVERAGES, FILTERS, SELECTORS
from callup.core.registry import Card
from callup.references import cited, references

CARDS = [card for registry in (SELECTORS, FILTERS, AVERAGES) for card in registry.cards() if card.paper]


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_a_method_is_cited_by_the_first_author_its_card_names(card: Card) -> None:
    found = cited([card.name])
    first = [re.search(r"author\s*= \{([^,]+),", one.bibtex) for one in found]
    assert any(name[1] in card.paper for name in first if name) or [one.key for one in found] == ["callup"]


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_a_year_on_a_card_is_the_year_of_an_entry(card: Card) -> None:
    years = {year for one in cited([card.name]) for year in re.findall(r"year\s*= \{(\d+)\}", one.bibtex)}
    told = set(re.findall(r"\b20\d\d\b(?!\.)", card.paper))
    assert not told or told & years


def test_entries_are_whole_and_name_methods_there_are() -> None:
    known = {card.name for registry in (SELECTORS, FILTERS, AVERAGES) for card in registry.cards()}
    assert len({one.key for one in references()}) == len(references()) == 23
    for one in references():
        assert one.methods <= known
        assert one.bibtex.count("{") == one.bibtex.count("}")
        assert "keywords" not in one.bibtex


def test_methods_are_cited_once_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cite", "fed-cbs:sharp", "balanced", "oort"]) == 0
    shown = capsys.readouterr().out
    assert re.findall(r"@\w+\{(\w+),", shown) == ["zhang2023fedcbs", "lai2021oort"]


def test_a_race_cites_what_it_ran(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "race"
    race = ["race", "random", "tifl", "--seeds", "1", "--rounds", "2", "--scenario", "skewed", "--jobs", "1"]
    assert run([*race, "--out", str(out)]) == 0
    capsys.readouterr()
    assert run(["cite", str(out), "--format", "json"]) == 0
    keys = [one["key"] for one in json.loads(capsys.readouterr().out)["references"]]
    assert keys == ["mcmahan2017fedavg", "chai2020tifl"]


def test_a_typo_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cite", "oorrt"]) == 2
    assert capsys.readouterr().err == "error: no method and no folder is called 'oorrt'; did you mean 'oort'?\n"
