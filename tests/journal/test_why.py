"""Why a client was called: the log by hand, and scores from the method played again."""

import json
import math

import pytest

from callup.cli.main import run
from callup.core.errors import InputError
from callup.journal.why import why


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    config = tmp_path_factory.mktemp("why") / "run.toml"
    config.write_text(
        'task = "fashion14-mlp"\npartition = "dirichlet:clients=20,alpha=0.5"\nselector = "fed-cbs"\n'
        'k = 4\nrounds = 8\nseed = 3\navailability = "uniform:fraction=0.5"\nlost = 0.2\n'
    )
    out = config.parent / "a"
    assert run(["run", str(config), "--out", str(out)]) == 0
    return out


def test_the_log_is_told_as_it_is(folder):
    records = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    for client in range(20):
        told = why(folder, client)
        called = {one.index: one for one in told.appearances if one.place is not None}
        assert list(called) == [r["index"] for r in records if client in r["asked"]]
        for record in records:
            if client in record["asked"]:
                one = called[record["index"]]
                assert record["asked"][one.place - 1] == client and one.asked == len(record["asked"])
                assert one.outcome == record["failed"].get(str(client), "replied")
                assert one.scores and all(math.isfinite(value) for value in one.scores.values())
        assert told.unexplained == "" and told.rounds == 8


def test_an_even_share_by_hand(folder):
    # Ten of twenty are available in each round and four are asked: everybody's share of the rounds they were there.
    told = why(folder, 0)
    assert told.even_share == pytest.approx(0.4 * len(told.appearances))
    assert sum(why(folder, client).even_share for client in range(20)) == pytest.approx(8 * 4)
    assert sum(why(folder, client).calls for client in range(20)) == 8 * 4


def test_without_scores_where_something_else_chose_too(tmp_path):
    settings = {"partition": "iid:clients=12", "selector": "random", "k": 3, "rounds": 4, "seed": 1, "guard": "on"}
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    (tmp_path / "run.toml").write_text('task = "fashion14-mlp"\n' + lines)
    assert run(["run", str(tmp_path / "run.toml"), "--out", str(tmp_path / "a")]) == 0
    told = why(tmp_path / "a", 5)
    assert told.unexplained.startswith("the guard chooses too") and len(told.appearances) == 4


def test_without_scores_where_the_log_holds_too_little(tmp_path):
    text = 'task = "fashion14-mlp"\npartition = "iid:clients=9"\nselector = "lineup"\nk = 3\nrounds = 2\n'
    (tmp_path / "run.toml").write_text(text)
    assert run(["run", str(tmp_path / "run.toml"), "--out", str(tmp_path / "a")]) == 0
    told = why(tmp_path / "a", 5)
    assert told.unexplained == "round 1: the log holds only a digest of signal update"
    assert [one.scores for one in told.appearances] == [{}, {}]


def test_what_cannot_be_told(folder, tmp_path, capsys):
    with pytest.raises(InputError, match="knows no client 99"):
        why(folder, 99)
    with pytest.raises(InputError, match="has no journal"):
        why(tmp_path, 1)
    assert run(["why", str(folder), "99"]) == 3
    assert "knows no client 99" in capsys.readouterr().err


def test_as_people_and_programs_read_it(folder, capsys):
    assert run(["why", str(folder), "0"]) == 0
    assert "client 0: available in" in capsys.readouterr().out
    assert run(["why", str(folder), "0", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["calls"] == sum(one["place"] is not None for one in document["appearances"])
    assert document["even_share"] > 0
