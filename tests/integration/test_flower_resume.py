"""A server that dies goes on where it was: no round lost, none twice, the same picks and the same model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import flower_app
import numpy as np
import pytest
from flwr.app import ArrayRecord
from flwr.serverapp import strategy as stock
from flwr.serverapp.strategy import FedAvg, Result

from callup.core.errors import CallupError, InputError, UsageError
from callup.flower import LocalGrid, Selecting
from callup.flower.local import server_task
from callup.journal import read_log

NODES, K, ROUNDS = 8, 3, 6


class PowerCut(Exception):
    """The process ends here."""


def play(
    folder: Path | None, dies: int | None = None, rounds: int = ROUNDS, strategy: Any = FedAvg, **options: Any
) -> tuple[Selecting, Result]:
    """Runs to the end, or to the power cut after training in round `dies`. Every time with new node ids."""
    grid = LocalGrid(flower_app.answering_app(), NODES, seed=0 if dies is None else dies)
    made = Selecting(strategy(), options.pop("selector", "oort"), k=K, seed=2, run=folder, **options)

    def evaluate(index: int, arrays: ArrayRecord) -> None:
        if index == dies:
            raise PowerCut

    with server_task():
        return made, made.start(grid, flower_app.model(), num_rounds=rounds, evaluate_fn=evaluate)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("selector", ["oort", "fed-cbs", "power-of-choice:d=6", "fedacs", "fedcm-ucb"])
@pytest.mark.parametrize("dies", [1, 4])
def test_a_run_that_died_ends_as_one_that_did_not(selector: str, dies: int, tmp_path: Path) -> None:
    options = {"filter": "cmfl"} if selector == "fedcm-ucb" else {}
    whole, straight = play(tmp_path / "whole", selector=selector, **options)
    with pytest.raises(PowerCut):
        play(tmp_path / "cut", dies=dies, selector=selector, **options)
    assert [line["index"] for line in lines(tmp_path / "cut")] == list(range(1, dies))
    resumed, continued = play(tmp_path / "cut", resume=True, selector=selector, **options)
    picks = [record["asked"] for record in resumed.history]
    # Durations are measured, and Oort learns from them; everything else is the same to the last bit.
    if selector != "oort":
        assert picks == [record["asked"] for record in whole.history]
        for name in ("weight", "bias"):
            np.testing.assert_array_equal(continued.arrays[name].numpy(), straight.arrays[name].numpy())
    assert [line["index"] for line in lines(tmp_path / "cut")] == list(range(1, ROUNDS + 1))
    assert [line["asked"] for line in lines(tmp_path / "cut")] == picks
    assert [entry.number for entry in read_log(tmp_path / "cut").entries] == list(range(1, ROUNDS + 1))
    assert sorted(continued.train_metrics_clientapp) == list(range(1, ROUNDS + 1))


def adaptive() -> stock.Strategy:
    """No noise on the model, so that two runs can be compared; the norm moves with what clients send."""
    return stock.DifferentialPrivacyServerSideAdaptiveClipping(
        FedAvg(), noise_multiplier=0.0, num_sampled_clients=K, clipped_count_stddev=0.0
    )


@pytest.mark.parametrize(
    "strategy",
    [stock.FedAdam, stock.FedYogi, stock.FedAdagrad, lambda: stock.FedAvgM(server_momentum=0.9), adaptive],
    ids=["FedAdam", "FedYogi", "FedAdagrad", "FedAvgM", "adaptive clipping"],
)
def test_the_memory_of_the_strategy_goes_on_too(strategy: Any, tmp_path: Path) -> None:
    _, straight = play(tmp_path / "whole", selector="fed-cbs", strategy=strategy)
    with pytest.raises(PowerCut):
        play(tmp_path / "cut", dies=4, selector="fed-cbs", strategy=strategy)
    _, continued = play(tmp_path / "cut", resume=True, selector="fed-cbs", strategy=strategy)
    np.testing.assert_array_equal(continued.arrays["weight"].numpy(), straight.arrays["weight"].numpy())


def test_a_finished_run_can_be_made_longer(tmp_path: Path) -> None:
    whole, _ = play(tmp_path / "whole", selector="fed-cbs")
    play(tmp_path / "short", rounds=2, selector="fed-cbs")
    longer, _ = play(tmp_path / "short", resume=True, selector="fed-cbs")
    assert [record["asked"] for record in longer.history] == [record["asked"] for record in whole.history]


def test_quarantine_and_drop_out_are_remembered(tmp_path: Path) -> None:
    from test_flower_replies import ROWS, bad_mod

    def run(resume: bool, rounds: int) -> Selecting:
        grid = LocalGrid(flower_app.answering_app(bad_mod(ROWS["nan weights"][0], 1)), NODES)
        made = Selecting(FedAvg(fraction_evaluate=0.0), "all", k=NODES, run=tmp_path / "run", resume=resume)
        with server_task():
            made.start(grid, flower_app.model(), num_rounds=rounds)
        return made

    run(False, 2)
    resumed = run(True, 3)
    assert 1 in resumed.history[1]["asked"]
    assert 1 not in resumed.history[2]["asked"]
    assert resumed.session.asked == 2 * NODES + NODES - 1


def test_a_torn_journal_and_a_lost_event_line_are_put_right(tmp_path: Path) -> None:
    play(tmp_path / "run", rounds=4, selector="fed-cbs")
    events = tmp_path / "run" / "events.jsonl"
    events.write_text(events.read_text()[:-40])
    with (tmp_path / "run" / "journal").open("ab") as journal:
        journal.write(b"half a rou")
    resumed, _ = play(tmp_path / "run", resume=True, selector="fed-cbs")
    assert [line["index"] for line in lines(tmp_path / "run")] == list(range(1, ROUNDS + 1))
    assert len(resumed.history) == ROUNDS


def test_a_snapshot_ahead_of_the_journal_means_one_round_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from callup.journal import Journal

    whole, straight = play(tmp_path / "whole", selector="fed-cbs")
    append, calls = Journal.append, []

    def dying(self: Journal, entry: Any) -> None:
        calls.append(entry.number)
        if entry.number == 3:
            raise PowerCut
        append(self, entry)

    monkeypatch.setattr(Journal, "append", dying)
    with pytest.raises(PowerCut):
        play(tmp_path / "cut", selector="fed-cbs")
    monkeypatch.undo()
    assert calls == [1, 2, 3]
    resumed, continued = play(tmp_path / "cut", resume=True, selector="fed-cbs")
    assert [record["asked"] for record in resumed.history] == [record["asked"] for record in whole.history]
    np.testing.assert_array_equal(continued.arrays["weight"].numpy(), straight.arrays["weight"].numpy())


def test_what_cannot_be_continued_is_refused(tmp_path: Path) -> None:
    play(tmp_path / "run", rounds=2, selector="fed-cbs")
    with pytest.raises(UsageError, match="holds a run already"):
        play(tmp_path / "run", selector="fed-cbs")
    with pytest.raises(UsageError, match=r"selector = 'fed-cbs', now it is 'random'"):
        play(tmp_path / "run", resume=True, selector="random")
    for snapshot in (tmp_path / "run").glob("state-*.safetensors"):
        snapshot.write_bytes(b"garbage")
    with pytest.raises(InputError, match="cannot be continued"):
        play(tmp_path / "run", resume=True, selector="fed-cbs")


def test_resume_where_nothing_is_yet_begins(tmp_path: Path) -> None:
    made, _ = play(tmp_path / "run", rounds=2, resume=True, selector="fed-cbs")
    assert len(made.history) == 2


def test_two_servers_on_one_run_are_refused(tmp_path: Path) -> None:
    def second(index: int, arrays: ArrayRecord) -> None:
        if index == 1:
            with pytest.raises(CallupError, match="in use"):
                play(tmp_path / "run", resume=True, selector="fed-cbs")

    made = Selecting(FedAvg(), "fed-cbs", k=K, run=tmp_path / "run")
    with server_task():
        grid = LocalGrid(flower_app.answering_app(), NODES)
        made.start(grid, flower_app.model(), num_rounds=1, evaluate_fn=second)
    assert len(made.history) == 1


def test_rounds_driven_by_somebody_else_are_not_kept_and_say_so(tmp_path: Path) -> None:
    made = Selecting(FedAvg(), "random", k=K, run=tmp_path / "run")
    with server_task(), pytest.raises(UsageError, match=r"Selecting\.start"):
        stock.Strategy.start(made, LocalGrid(flower_app.answering_app(), NODES), flower_app.model(), num_rounds=1)


@pytest.mark.parametrize("selector", ["fed-cbs", "power-of-choice:d=6", "random"])
def test_a_run_of_flower_can_be_verified_and_reported(
    selector: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from callup.cli.main import run

    play(tmp_path / "run", rounds=3, selector=selector)
    assert run(["verify", str(tmp_path / "run")]) == 0
    assert "3 selections as recorded" in capsys.readouterr().out
    assert run(["report", str(tmp_path / "run"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["success"]
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000


def test_a_changed_pick_is_found(tmp_path: Path) -> None:
    from callup.cli.main import run

    play(tmp_path / "run", rounds=3, selector="fed-cbs")
    events = tmp_path / "run" / "events.jsonl"
    records = [json.loads(line) for line in events.read_text().splitlines()]
    records[1]["asked"] = records[1]["asked"][::-1]
    events.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert run(["verify", str(tmp_path / "run")]) != 0


@pytest.mark.parametrize("absent", [0, 2])
@pytest.mark.parametrize("selector", ["nccb", "tifl", "fed-cbs", "k-linucb"])
def test_a_continued_run_can_be_verified_also_when_some_clients_stayed_away(
    selector: str, absent: int, tmp_path: Path
) -> None:
    from callup.cli.main import run

    play(tmp_path / "run", rounds=3, selector=selector)
    grid = LocalGrid(flower_app.answering_app(), NODES, seed=9)
    grid.online = set(grid.node_ids[absent:])
    made = Selecting(FedAvg(), selector, k=K, seed=2, run=tmp_path / "run", resume=True)
    with server_task():
        made.start(grid, flower_app.model(), num_rounds=ROUNDS)
    assert len(made.history) == ROUNDS
    assert len(list((tmp_path / "run").glob("profile-*.safetensors"))) == (2 if absent else 1)
    assert run(["verify", str(tmp_path / "run")]) == 0
