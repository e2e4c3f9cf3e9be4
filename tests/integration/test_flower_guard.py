"""The guard inside Flower: the same one as in the simulator, between what clients say and what selectors hear."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flower_app
import numpy as np
import pytest
from flwr.app import ArrayRecord, Context, Message
from flwr.clientapp.typing import ClientAppCallable
from flwr.serverapp.strategy import FedAvg, FedXgbBagging

from callup.core.errors import UsageError
from callup.flower import LocalGrid, Selecting, answer
from callup.flower.local import server_task
from callup.flower.models import flat, shaped

NODES, LIAR = 10, 3


def play(app: Any, selector: str, rounds: int, **options: Any) -> Selecting:
    made = Selecting(FedAvg(fraction_evaluate=0.0), selector, k=options.pop("k", 3), seed=6, guard="on", **options)
    with server_task():
        made.start(LocalGrid(app, NODES), flower_app.model(), num_rounds=rounds)
    return made


def test_a_client_that_sends_back_the_last_change_is_refused_and_then_left_out() -> None:
    last: dict[str, np.ndarray] = {}

    def replaying(message: Message, context: Context, call: ClientAppCallable) -> Message:
        reply, start = call(message, context), flat(message.content["arrays"])
        if flower_app.who(context) == LIAR and "start" in last and (start != last["start"]).any():
            reply.content["arrays"] = shaped(2 * start - last["start"], message.content["arrays"])
        if flower_app.who(context) == NODES - 1:  # the last to be asked in this round
            last["start"] = start
        return reply

    made = play(flower_app.answering_app(replaying), "all", 5, k=NODES)
    assert made.history[1]["failed"] == {str(LIAR): "guard: replayed model"}
    assert [LIAR in record["asked"] for record in made.history] == [True, True, True, False, False]
    assert any("not called before" in sentence for sentence in made.history[2]["guard"])


def test_a_loud_liar_gets_no_more_than_its_cap() -> None:
    """The liar claims an enormous loss: alone it would be chosen in every round."""

    def loss(arrays: ArrayRecord, context: Context) -> float:
        client = flower_app.who(context)
        return 1e30 if client == LIAR else float(flower_app.losses(arrays, client).mean())

    rounds, asked = 30, {}
    for guard in ("off", "on:cap=1.5"):  # by default power-of-choice has a purse, which one liar in ten may empty
        app = answer(flower_app.plain_app(), loss=loss, num_examples=lambda context: 100)
        made = Selecting(FedAvg(fraction_evaluate=0.0), "power-of-choice:d=10", k=3, seed=6, guard=guard)
        with server_task():
            made.start(LocalGrid(app, NODES), flower_app.model(), num_rounds=rounds)
        asked[guard] = sum(LIAR in record["asked"] for record in made.history)
    fair = rounds * 3 / NODES
    assert asked["off"] == rounds
    assert asked["on:cap=1.5"] <= 1.5 * fair + 1


@pytest.mark.parametrize("selector", ["random", "fed-cbs", "power-of-choice:d=8", "oort", "fedacs"])
def test_nobody_honest_is_set_aside(selector: str) -> None:
    made = play(flower_app.answering_app(), selector, 12)
    assert all(len(record["used"]) == 3 for record in made.history)
    assert not any("not called before" in said for record in made.history for said in record["guard"])


def test_the_guard_remembers_over_a_restart(tmp_path: Path) -> None:
    straight = play(flower_app.answering_app(), "fed-cbs", 6, run=tmp_path / "whole")
    play(flower_app.answering_app(), "fed-cbs", 3, run=tmp_path / "parts")
    again = play(flower_app.answering_app(), "fed-cbs", 6, run=tmp_path / "parts", resume=True)
    assert [record["asked"] for record in again.history] == [record["asked"] for record in straight.history]


def test_a_guard_cannot_be_switched_on_half_way(tmp_path: Path) -> None:
    play(flower_app.answering_app(), "fed-cbs", 1, run=tmp_path / "run")
    with pytest.raises(UsageError, match="guard = 'on', now it is 'off'"), server_task():
        Selecting(FedAvg(), "fed-cbs", k=3, seed=6, run=tmp_path / "run", resume=True).start(
            LocalGrid(flower_app.answering_app(), NODES), flower_app.model()
        )


def test_impossible_replies_are_strikes_for_the_guard_too() -> None:
    from test_flower_replies import ROWS, bad_mod

    made = play(flower_app.answering_app(bad_mod(ROWS["wrong shape"][0], LIAR)), "all", 4, k=NODES)
    assert [LIAR in record["asked"] for record in made.history] == [True, True, False, False]


def test_trees_have_no_guard() -> None:
    with pytest.raises(UsageError, match="trees have none"):
        Selecting(FedXgbBagging(), "random", k=3, guard="on")
