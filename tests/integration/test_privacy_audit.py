"""`callup audit privacy` as a person uses it."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import callup
from callup.cli.main import run
from callup.privacy.claims import claims
from callup.privacy.modes import NAMES, parse_mode

ROOT = Path(__file__).resolve().parents[2]


def rows_of(document, mode, party):
    return next(f for f in document["findings"] if f["mode"] == mode and f["party"] == party)


def test_a_simulated_federation_as_json(capsys, tmp_path):
    out = tmp_path / "picture.svg"
    assert run(["audit", "privacy", "--rounds", "20", "--out", str(out), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["clients"] == 200
    assert rows_of(document, "shared", "selector")["exact"] >= 0.95
    assert rows_of(document, "shared+dp", "selector")["exact"] < 0.05
    server = rows_of(document, "shared", "server")
    assert {name: server[name] for name in document["knows_nothing"]} == document["knows_nothing"]
    assert [w["rounds"] for w in document["watching"]] == [20] * 4
    picture = ET.parse(out).getroot()
    assert picture.tag.endswith("svg") and "selector, shared: 48 of 48 exact" in out.read_text(encoding="utf-8")


def test_the_word_that_promises_too_much_stands_with_its_facts():
    # Of the pages that tell users what the methods do; elsewhere the word may be a programmer's.
    docs = ROOT / "docs"
    pages = [ROOT / "README.md", *docs.glob("methods/*.md"), *(docs / f"{n}.md" for n in ("threat-model", "concepts"))]
    assert len(pages) > 20
    for page in pages:
        for paragraph in page.read_text(encoding="utf-8").split("\n\n"):
            if re.search(r"(?<![-\w])private(?![-\w]| key)", paragraph, re.IGNORECASE):
                assert all(fact in paragraph for fact in ("epsilon", "record", "decrypt", "collude")), (page, paragraph)


def test_the_page_says_what_the_audit_finds(capsys, tmp_path):
    # The default of the command, as it stands in the page; rounded, and with room for other BLAS kernels.
    page = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    args = ["--rounds", "0", "--mode", "shared", "--mode", "dp", "--out", str(tmp_path / "a.svg"), "--format", "json"]
    assert run(["audit", "privacy", *args]) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    knows = [row["exact"] for row in found if "knows" in row["party"]]
    assert knows == pytest.approx([0.24, 0.61, 1.0], abs=0.05) and "24 / 61 / 100 %" in page
    noised, guessed = (row for row in found if row["mode"] == "dp")
    assert noised["distance"] == pytest.approx(0.037, abs=0.002) and "| 0.037 |" in page
    assert guessed["exact"] == pytest.approx(0.24, abs=0.02)


def test_the_picks_of_any_method_that_needs_labels_alone(capsys, tmp_path):
    # Seeded. lineup spreads classes less strictly than Fed-CBS and gives less away, its weights included.
    page = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    told = {}
    for method in ("fed-cbs", "lineup"):
        args = ["--selector", method, "--mode", "shared", "--known", "", "--out", str(tmp_path / "a.svg")]
        assert run(["audit", "privacy", *args, "--format", "json"]) == 0
        told[method] = json.loads(capsys.readouterr().out)["watching"][0]["auc"]
    assert told == pytest.approx({"fed-cbs": 0.75, "lineup": 0.59}, abs=0.02)
    assert "AUC 0.75 |" in page and "AUC 0.59 |" in page
    assert run(["audit", "privacy", "--selector", "oort"]) == 3
    assert "oort, watched without training, needs loss_rms" in capsys.readouterr().err


def test_a_federation_of_ones_own(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["client,cat,dog,owl", "4,9,0,1", "7,0,8,0", "9,0,0,6", "12,5,5,0", "13,1,0,7", "20,0,2,9"]
    table = tmp_path / "mine.csv"
    table.write_text("\n".join(rows), encoding="utf-8")
    assert run(["audit", "privacy", "--federation", str(table), "--mode", "shared", "--rounds", "0"]) == 0
    shown = capsys.readouterr()
    assert "label counts of 6 clients" in shown.out and "100%*" in shown.out
    assert claims(parse_mode("shared")).split(";")[0] in shown.out.replace("\n", " ")
    assert (tmp_path / "audit-privacy.svg").exists() and "next:" in shown.err
    plain = {"ids": [1, 2, 3], "label_counts": [[4, 0], [1, 2], [0, 3]]}
    (tmp_path / "mine.json").write_text(json.dumps(plain), encoding="utf-8")
    assert run(["audit", "privacy", "--federation", "mine.json", "--rounds", "0", "--format", "json"]) == 0


def test_two_modes_of_one_name_and_very_many_clients(capsys, tmp_path):
    args = ["--partition", "iid:clients=1200", "--samples", "6000", "--classes", "2", "--known", "", "--rounds", "0"]
    args += ["--mode", "dp:epsilon=0.5", "--mode", "dp:epsilon=5", "--out", str(tmp_path / "a.svg"), "--format", "json"]
    assert run(["audit", "privacy", *args]) == 0
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert document["clients"] == 1000 and "of 1,200 clients a random 1,000 are audited" in shown.err
    off = {f["mode"]: f["distance"] for f in document["findings"] if f["party"] == "selector and server"}
    assert off["dp:epsilon=0.5"] > off["dp:epsilon=5"] > 0


def test_a_run_is_audited_under_its_own_mode_first(capsys, tmp_path):
    callup.simulate(partition="dirichlet:clients=25,alpha=0.3", k=3, rounds=1, seed=1, privacy="dp:epsilon=0.25").save(
        tmp_path / "run"
    )
    args = ["--federation", str(tmp_path / "run"), "--rounds", "0", "--known", "1", "--out", str(tmp_path / "a.svg")]
    assert run(["audit", "privacy", *args, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["clients"] == 25 and document["claims"][0].startswith("dp: epsilon 0.25 for one record")
    assert len(document["claims"]) == 5


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["audit", "privcay"], 2, "did you mean 'privacy'"),
        (["audit", "privacy", "--mode", "sharde"], 2, "did you mean 'shared'"),
        (["audit", "privacy", "--known", "a"], 2, "--known takes whole numbers"),
        (["audit", "privacy", "--federation", "none.csv"], 3, "none.csv"),
        (["audit", "privacy", "--federation", "bad.csv"], 3, "bad.csv, line 3, column a: counts are whole numbers"),
        (["audit", "privacy", "--federation", "short.csv"], 3, "short.csv, line 2 has 2 columns"),
        (["audit", "privacy", "--federation", "head.csv"], 3, "the first line must be client,CLASS"),
        (["audit", "privacy", "--federation", "bad.json"], 3, "expected an object with ids and label_counts"),
        (["audit", "privacy", "--federation", "negative.json"], 3, "client 1: label_counts must be"),
        (["audit", "privacy", "--federation", "two.csv"], 3, "at least 3 are needed"),
    ],
)
def test_mistakes_get_one_line(args, code, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {
        "bad.csv": "client,a,b\n1,2,3\n2,x,3",
        "short.csv": "client,a,b\n1,2",
        "head.csv": "a,b,c\n1,2,3",
        "two.csv": "client,a,b\n1,2,3\n2,3,3",
        "bad.json": "[1]",
        "negative.json": '{"ids": [1, 2, 3], "label_counts": [[-1, 0], [1, 2], [0, 3]]}',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert run(args) == code
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1
    assert not (tmp_path / "audit-privacy.svg").exists()


@pytest.mark.parametrize("name", NAMES)
def test_claims_say_all_of_it(name):
    # Adjacency and epsilon, who can decrypt, what collusion does; and the word that promises too much is not there.
    line = claims(parse_mode(name))
    assert ("epsilon 1 for one record replaced" in line) if "dp" in name else ("no epsilon" in line)
    assert ("nothing is encrypted" in line) or ("only the selector can decrypt" in line)
    assert ("collude" in line) or ("see every client's label counts" in line)
    assert "private" not in line and "\n" not in line
