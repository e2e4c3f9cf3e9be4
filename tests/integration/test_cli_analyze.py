"""`callup analyze` as a person uses it, and the race in a federation of one's own."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from callup.cli.main import run
from callup.experiments.race import own_scenario

LABELS = "client,cat,dog,bird\n" + "".join(
    f"clinic {n},{9 + n},{20 - n},{50 if n == 3 else 0}\n" for n in range(12)
)  # clinic 3 alone has birds


@pytest.fixture
def labels(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.csv").write_text(LABELS)
    return tmp_path


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.words, self.asks = "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.asks += [value for name, value in attrs if name in ("src", "href") and not value.startswith("data:")]

    def handle_data(self, data):
        self.words += data


def test_people_read_it(labels, capsys):
    assert run(["analyze", "labels.csv", "--k", "3"]) == 0
    said = capsys.readouterr()
    assert "12 clients, 3 classes, " in said.out
    assert "Mavericks: 1 client owns class bird." in said.out
    assert "3 drawn at random have no sample of class bird in 75" in said.out
    assert "class bird: client clinic 3 holds 100% of it" in said.out
    assert "next: callup advise labels.csv" in said.err
    page = Page((labels / "analysis.html").read_text(encoding="utf-8"))
    assert page.asks == []  # opens from disk, asks nobody
    assert "clinic 3" in page.words and "Who holds what" in page.words and "with noise" not in page.words


def test_the_example_of_the_readme(labels, capsys):
    examples = Path(__file__).resolve().parents[2] / "examples"
    assert run(["analyze", str(examples / "labels.csv")]) == 0
    assert "60 clients, 10 classes" in capsys.readouterr().out


def test_programs_read_it(labels, capsys):
    assert run(["analyze", "labels.csv", "--k", "3", "--epsilon", "1", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["success"] and document["clients"] == 12 and document["k"] == 3
    (maverick,) = document["mavericks"]
    assert (maverick["name"], maverick["kind"], maverick["share"]) == ("clinic 3", "exclusive", 1.0)
    assert document["classes"][2]["rounds"] == 4.0
    assert document["noised"]["epsilon"] == 1.0
    assert document["noised"].keys() - {"epsilon"} == document["figures"].keys()
    assert "epsilon 1" in (labels / "analysis.html").read_text(encoding="utf-8")


def test_the_same_seed_says_the_same(labels, capsys):
    told = []
    for _ in range(2):
        assert run(["analyze", "labels.csv", "--epsilon", "1", "--format", "json"]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0] == told[1]


def test_what_is_odd_is_said(labels, capsys):
    (labels / "odd.csv").write_text("client,cat,dog,<b>x</b>\n1,2,3,0\n2,0,0,0\n")
    assert run(["analyze", "odd.csv"]) == 0
    said = capsys.readouterr().out
    assert "! 1 client without a sample: 2" in said and "! nobody has a sample of class <b>x</b>" in said
    assert "<b>x</b>" not in (labels / "analysis.html").read_text(encoding="utf-8")


def test_a_race_in_a_federation_of_ones_own(labels, capsys):
    options = ["--rounds", "4", "--seeds", "1", "--jobs", "1", "--out", "own", "--format", "json"]
    assert run(["race", "random", "lineup", "--labels", "labels.csv", "--k", "3", *options]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["scenario"] for row in document["runs"]} == {"Labels as in labels.csv: 12 clients"}
    # A run knows the labels of its clients, so it can be analyzed too.
    folder = next((labels / "own").glob("*/lineup-0"))
    assert run(["analyze", str(folder), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["clients"] == 12


def test_of_very_many_clients_some_hundreds_race(labels):
    (labels / "many.csv").write_text("client,cat,dog\n" + "".join(f"{n},{n % 7},{n % 5}\n" for n in range(1000)))
    own = own_scenario(labels / "many.csv")
    holders = sum(1 for n in range(1000) if n % 7 or n % 5)
    assert own.title == f"Labels as in many.csv: 300 clients of {holders}"
    assert own.settings.partition.endswith("many.csv,clients=300")


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["analyze", "nobody.csv"], 3, "nobody.csv"),
        (["analyze", "labels.csv", "--epsilon", "0"], 2, "--epsilon must be a finite number above 0, got 0"),
        (["analyze", "labels.csv", "--out", "."], 2, "--out . is a folder; name a file such as analysis.html"),
        (["analyze", "labels.csv", "--k", "0"], 2, "--k"),
        (["race", "--labels", "labels.csv", "--scenario", "skewed"], 2, "--labels is a scenario of its own"),
        (["race", "--labels", "nobody.csv"], 3, "nobody.csv"),
        (["analyse", "labels.csv"], 2, "no such command 'analyse'; did you mean 'analyze'?"),
    ],
)
def test_mistakes(labels, capsys, args, code, said):
    assert run(args) == code
    told = capsys.readouterr().err
    assert said in told and "Traceback" not in told


def test_advice(labels, capsys):
    options = ["--rounds", "6", "--seeds", "3", "--jobs", "1", "--share", "losses", "--k", "3"]
    assert run(["advise", "labels.csv", *options, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["method"] in document["within_a_point"] and document["because"][0].startswith("Take ")
    assert (labels / "runs/advice/report.html").exists()
    assert run(["advise", "labels.csv", "--seeds", "2"]) == 2
    assert "--seeds must be at least 3" in capsys.readouterr().err
