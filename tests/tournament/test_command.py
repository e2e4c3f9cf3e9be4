"""`callup reproduce tournament`: plays until the rule asks for no more, and never twice."""

import json

import pytest

from callup.cli.main import run

CUP = """
title = "A tiny tournament"
first = 1
seeds = 2

[check]
worlds = ["tiny"]
methods = ["fed-cbs"]
settings = { rounds = 2 }

[[methods]]
name = "random"
selector = "random"

[[methods]]
name = "fed-cbs"
selector = "fed-cbs"
"""
WORLD = """
title = "Twelve clients"
seconds = 0.1
margin = 1.0

[sources]
world = "made up"

[base]
task = "fashion14-mlp"
partition = "dirichlet:clients=12,alpha=0.2"
k = 3
rounds = 3

[[environments]]
name = "e"
"""


@pytest.fixture
def papers(tmp_path):
    folder = tmp_path / "papers" / "tournament"
    (folder / "worlds").mkdir(parents=True)
    (folder / "tournament.toml").write_text(CUP)
    (folder / "worlds" / "tiny.toml").write_text(WORLD)
    return tmp_path / "papers"


def command(papers, *more, name="tournament", scale="small"):
    where = ["--papers", str(papers), "--out", str(papers.parent / "out")]
    return ["reproduce", name, "--scale", scale, "--jobs", "1", *where, *more]


def test_it_plays_the_first_seeds_then_the_rest_and_nothing_twice(papers, capsys):
    assert run(command(papers, "--dry-run", "--format", "json")) == 0
    plan = json.loads(capsys.readouterr().out)
    # Two methods, and one more seed of one of the two; after that two seeds of it where replies are lost.
    assert (plan["cells"], plan["likely_cells"]) == (2, 5)
    assert run(command(papers, "--format", "json")) == 0
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert set(document["places"]) == {"tiny: e", "tiny: e, 20 % lost"}
    assert all(line["accuracy"]["n"] == 2 for lines in document["places"].values() for line in lines)
    stored = papers / "tournament" / "results" / "tiny.jsonl"
    lines = [json.loads(line) for line in stored.read_text().splitlines()]
    assert [line["settings"]["seed"] for line in lines] == [0] * 4 + [1] * 4
    assert all(len(line["series"]["validation"]) == 3 for line in lines)
    assert {line["command"] for line in lines} == {"callup reproduce tournament --scale small"}
    page = (papers.parent / "out" / "tournament.md").read_text()
    assert "8 of 8 cells that are known to be needed are stored." in page
    before = stored.read_bytes()
    assert run(command(papers, name="tournament/tiny")) == 0
    assert stored.read_bytes() == before
    assert "tiny: e: " in capsys.readouterr().out
    assert run(command(papers, "--dry-run")) == 0
    assert capsys.readouterr().out.strip() == "nothing left to run"
    assert run(command(papers, "--list", "--format", "json")) == 0
    (line,) = json.loads(capsys.readouterr().out)["worlds"]
    assert (line["world"], line["cells"], line["stored"]) == ("tournament/tiny", 8, 8)


def test_a_cell_that_fails_stops_no_other_and_is_told(papers, capsys):
    broken = '[[methods]]\nname = "fedcm-ucb"\nselector = "fedcm-ucb"\n'  # needs a filter, and there is none
    (papers / "tournament" / "tournament.toml").write_text(CUP + broken)
    assert run(command(papers)) == 3
    said = capsys.readouterr().err
    assert "fedcm-ucb" in said
    assert "Traceback" not in said
    stored = (papers / "tournament" / "results" / "tiny.jsonl").read_text().splitlines()
    assert len(stored) == 2  # the first seeds of the two others; the cut, and all after it, waits for the third


def test_the_trial_is_tiny(papers, capsys):
    assert run(command(papers, "--dry-run", "--format", "json", scale="check")) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["cells"] == 2
    assert plan["seconds"] <= 1


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        ({"name": "tournament/tinny"}, 3, "unknown world 'tinny'; did you mean 'tiny'?"),
        ({"name": "tournament/held-out"}, 3, "no held-out worlds were drawn yet"),
        ({"scale": "paper"}, 2, "the tournament has no --scale paper"),
    ],
)
def test_mistakes_are_one_line(papers, capsys, more, code, said):
    assert run(command(papers, **more)) == code
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert said in line


def test_it_does_not_mix_with_tables_and_needs_its_folder(papers, capsys, tmp_path):
    assert run([*command(papers), "fed-cbs"]) == 2
    assert "the tournament is run by itself" in capsys.readouterr().err
    (papers / "tournament" / "tournament.toml").rename(papers / "tournament" / "other.toml")
    assert run(command(papers)) == 3
    assert "no tournament in" in capsys.readouterr().err


def test_a_world_without_a_trial_says_so(papers, capsys):
    (papers / "tournament" / "worlds" / "other.toml").write_text(WORLD)
    assert run(command(papers, name="tournament/other", scale="check")) == 2
    assert "--scale check plays tiny alone; use --scale small" in capsys.readouterr().err


def test_held_out_worlds_are_played_by_name_of_the_draw(papers, capsys):
    for draw, world in (("held-out", "drawn-1"), ("held-out-2", "again-1")):
        folder = papers / "tournament" / draw
        folder.mkdir()
        (folder / f"{world}.toml").write_text(WORLD)
    for draw, world in (("held-out", "drawn-1"), ("held-out-2", "again-1")):
        assert run(command(papers, "--list", "--format", "json", name=f"tournament/{draw}")) == 0
        (line,) = json.loads(capsys.readouterr().out)["worlds"]
        assert line["world"] == f"tournament/{world}"
