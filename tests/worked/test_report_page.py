"""The page: self-contained, small, safe with any name, and whole whatever is missing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from callup.core.clients import Clients
from callup.core.randomness import stream
from callup.report import styles, write_report
from callup.report.page import render
from callup.simulation.run import Ledger, RoundRecord, Run

HOSTILE = "<script>alert('x')</script>\"'&{{ 7 * 7 }}</script>"


def a_run(
    method: str = "random",
    seed: int = 1,
    rounds: int = 12,
    clients: int = 8,
    every: int = 1,
    labels: bool = True,
    recall: list[float | None] | None = None,
    **settings: Any,
) -> Run:
    """Random calls; the accuracy climbs by a step each round."""
    rng = stream(seed, "page", method)
    counts = rng.integers(1, 20, (clients, 3))
    table = (
        Clients(np.arange(clients), label_counts=counts)
        if labels
        else Clients(np.arange(clients), latency=[1.0] * clients)
    )
    history = []
    for t in range(1, rounds + 1):
        ids = rng.choice(clients, 3, replace=False).tolist()
        seen = counts[ids].sum(axis=0).tolist() if labels else []
        accuracy = 0.9 * t / rounds if t % every == 0 else None
        costs = Ledger(6, 3000, 3000, 0, 9)
        history.append(
            RoundRecord(
                t,
                clients,
                ids,
                ids,
                ids,
                {},
                f"{ids}",
                0.1,
                seen,
                accuracy,
                1.0,
                recall,
                seconds=3.0,
                clock=3.0 * t,
                ledger=costs,
            )
        )
    said = {"scenario": "A scenario", "selector": method, "seed": seed, "target": 0.5, "k": 3, "rounds": rounds}
    return Run(said | settings, table, tuple(history), np.zeros(1), {})


class Reader(HTMLParser):
    """Collects tags, attributes and text, and checks that what is opened is closed."""

    VOID = frozenset({"meta", "br", "link", "img"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.scripts if self.open and self.open[-1] in ("script", "style") else self.words).append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).replace("\u202f", " ").split())


def read(runs: Sequence[Run], **options: str) -> Reader:
    page = render(runs, **options)
    reader = Reader(page)
    assert not reader.open
    assert not re.search(r'[=" ,(]nan\b', page, re.IGNORECASE)
    return reader


def a_race() -> list[Run]:
    return [
        a_run(m, seed, rare_classes=[2], recall=[0.5, None, 0.1]) for m in ("random", "fed-cbs") for seed in (1, 2, 3)
    ]


def test_every_section_is_there() -> None:
    text = read(a_race(), command="callup race --seeds 3").text
    for words in (
        "reached 50 % accuracy in",
        "Accuracy by round",
        "Rounds to 50 %",
        "Simulated time to 50 %",
        "Who was called",
        "Class coverage",
        "Recall on rare classes (2)",
        "Fairness of calls",
        "What it cost, for each round",
        "Summary",
        "What each method asks clients for",
        "Reproduce",
        "callup race --seeds 3",
        "Selection digests",
    ):
        assert words in text, words


def test_nothing_is_fetched_and_no_markup_runs_code() -> None:
    reader = read(a_race())
    assert (
        "meta",
        "content",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:",
    ) in (reader.attributes)
    for tag, name, value in reader.attributes:
        assert not name.startswith("on"), (tag, name)
        if name in ("href", "src", "xlink:href", "action"):
            assert value.startswith(("#", "data:image/png;base64,")), value
    assert not re.search(r"@import|url\(|https?://", "".join(reader.scripts))


def test_names_are_text_and_never_markup() -> None:
    plain = read([a_run("random"), a_run("other")], command="callup race")
    runs = [
        a_run("random", scenario=HOSTILE, task=HOSTILE, versions={HOSTILE: HOSTILE}),
        a_run(HOSTILE, scenario=HOSTILE, partition={HOSTILE: HOSTILE}),
    ]
    hostile = read(runs, title=HOSTILE, command=HOSTILE)
    assert hostile.tags.count("script") == plain.tags.count("script")
    assert set(hostile.tags) == set(plain.tags)
    assert hostile.text.count(HOSTILE) >= 6
    assert "alert" not in "".join(s for s in hostile.scripts if "use strict" in s)


def test_values_under_the_pointer_are_data_that_cannot_end_the_script() -> None:
    page = render([a_run(HOSTILE)])
    blocks = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    assert blocks
    assert all("<" not in block for block in blocks)


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([a_run()], id="one run"),
        pytest.param([a_run(rounds=1)], id="one round"),
        pytest.param([a_run(rounds=0)], id="no round"),
        pytest.param([a_run(every=5), a_run("fed-cbs", every=5)], id="rarely evaluated"),
        pytest.param([a_run(every=99)], id="never evaluated"),
        pytest.param([a_run(target=None)], id="no target"),
        pytest.param([a_run(target=0.99), a_run("fed-cbs", target=0.99)], id="nobody got there"),
        pytest.param([a_run(labels=False)], id="labels not known"),
        pytest.param([a_run(rare_classes=[2], recall=[0.1, 0.2, float("nan")])], id="recall is NaN"),
        pytest.param([a_run(rare_classes=[9], recall=[0.1, 0.2, 0.3])], id="a rare class that does not exist"),
        pytest.param([a_run(), a_run("fed-cbs", rounds=5), a_run("fedacs", rounds=0)], id="stopped in the middle"),
        pytest.param([a_run(scenario="one"), a_run("fed-cbs", scenario="two", clients=5)], id="two scenarios"),
        pytest.param([a_run("my_method.py"), a_run("PowerOfChoice(d=3)"), a_run("all")], id="unknown selectors"),
    ],
)
def test_whatever_is_missing_the_page_is_whole(runs: list[Run]) -> None:
    text = read(runs).text
    assert "Summary" in text
    assert "None" not in text
    for run in runs:
        assert str(run.settings["selector"]) in text


def test_settings_may_be_missing_altogether() -> None:
    bare = a_run()
    read([Run({}, bare.clients, bare.history, bare.model, {})])


def test_runs_stopped_early_are_named() -> None:
    assert "1 of 2 runs ended before round 12" in read([a_run(), a_run("fed-cbs", rounds=5)]).text


def test_what_is_asked_comes_from_the_cards_of_the_variants_that_ran() -> None:
    text = read(
        [a_run("random"), a_run("power-of-choice:variant=batch"), a_run("fed-cbs"), a_run("fed-cbs:scale=2")]
    ).text
    asked = text[text.index("What each method asks clients for") :]
    assert "batch_loss as loss, on one random mini-batch before choosing, from candidates" in asked
    assert "fed-cbs fed-cbs:scale=2 " in asked, "variants that ask the same share a row"
    assert "nothing" in asked


def test_the_same_runs_give_the_same_page() -> None:
    assert render(a_race()) == render(a_race())


def test_a_large_race_stays_under_a_megabyte(tmp_path: Path) -> None:
    names = ["random"] + [f"method-{i}" for i in range(19)]
    runs = [
        a_run(name, seed, rounds=300, clients=200, scenario=scenario, rare_classes=[2], recall=[0.5, 0.5, 0.1])
        for scenario in ("first", "second")
        for name in names
        for seed in (1, 2)
    ]
    path = write_report(tmp_path / "new" / "report.html", runs)
    assert path.stat().st_size < 1_000_000
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_the_palette_is_judged_against_the_page_it_is_shown_on() -> None:
    page = render([a_run()])
    light, dark = (re.findall(rf"--page: ({colour})", page) for colour in styles.PAGE)
    assert (len(light), len(dark)) == (1, 2)
