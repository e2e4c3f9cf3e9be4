"""`callup compare` on a race that was just run."""

import json

import pytest

from callup.cli.main import run


@pytest.fixture(scope="module")
def race(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare") / "race"
    options = ["--rounds", "6", "--seeds", "3", "--jobs", "1", "--scenario", "skewed", "--out", str(folder)]
    assert run(["race", "random", "lineup", "fed-cbs", *options]) == 0
    return folder


def test_everyone_meets_random(race, capsys):
    assert run(["compare", str(race)]) == 0
    said = capsys.readouterr().out
    assert "final accuracy, %" in said and "lineup" in said and "fed-cbs" in said and "of 3" in said


def test_two_that_are_named_as_json_and_as_files(race, tmp_path, capsys):
    files = ["--latex", str(tmp_path / "t.tex"), "--csv", str(tmp_path / "t.csv")]
    assert run(["compare", str(race), "lineup", "fed-cbs", "--metric", "best", "--format", "json", *files]) == 0
    document = json.loads(capsys.readouterr().out)
    (one,) = document["comparisons"]
    assert (one["method"], one["against"], one["metric"], one["seeds"]) == ("lineup", "fed-cbs", "best_accuracy", 3)
    assert (tmp_path / "t.csv").read_text().count("\n") == 2
    assert (tmp_path / "t.tex").read_text().startswith(r"\begin{tabular}{lr}")


def test_a_build_that_fails(race, capsys):
    assert run(["compare", str(race), "random", "lineup", "--fail-if", "worse>1%"]) == 6
    assert "random is worse than lineup" in capsys.readouterr().err
    assert run(["compare", str(race), "lineup", "random", "--fail-if", "worse>1%"]) == 0


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["random", "linup"], 3, "did you mean 'lineup'?"),
        (["--metric", "acuracy"], 2, "there is no metric 'acuracy'; did you mean 'accuracy'?"),
        (["--fail-if", "slower"], 2, "write worse, or worse>5%"),
        (["a", "b", "c"], 2, "compare takes a method and another, got 3"),
    ],
)
def test_mistakes(race, capsys, args, code, said):
    assert run(["compare", str(race), *args]) == code
    assert said in capsys.readouterr().err


def test_nothing_to_compare(tmp_path, capsys):
    assert run(["compare", str(tmp_path)]) == 3
    assert "Traceback" not in capsys.readouterr().err
