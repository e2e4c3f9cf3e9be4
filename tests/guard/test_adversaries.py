"""Each way of lying: liars alone change, and they change what the lie is about."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.randomness import stream
from callup.core.types import Plan, Replies
from callup.simulation.adversaries.base import ADVERSARIES, Adversary
from callup.testing.compare import differing
from callup.testing.saved import through_bytes

N = 50
NAMES = [card.name for card in ADVERSARIES.cards()]


def federation() -> Clients:
    rng = stream(0, "clients")
    counts = np.floor(20 * rng.random((N, 5)))
    counts[:, 2] = 1  # the rarest class
    return Clients(np.arange(N) * 3, label_counts=counts, features=rng.normal(size=(N, 8)), latency=1 + rng.random(N))


def begun(spec: str) -> tuple[Adversary, Clients]:
    clients = federation()
    enemy = ADVERSARIES.make(spec)
    enemy.start(clients, Plan(10, 100, 5), stream(1, "adversary"))
    return enemy, clients


def replies(clients: Clients, index: int = 1) -> Replies:
    rng, ids = stream(2, "replies", index), clients.ids[::2]
    start = stream(2, "start", index).normal(size=20)
    n = len(ids)
    signals = {"loss": rng.random(n), "loss_rms": rng.random(n), "accuracy": rng.random(n)}
    signals["gradient"] = rng.normal(size=(n, 20))
    return Replies(ids, start, start + rng.normal(size=(n, 20)), np.full(n, 10.0), np.full(n, 3.0), signals)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("share", "count"), [(0.01, 1), (0.1, 5), (0.2, 10)])
def test_as_many_lie_as_was_said(name: str, share: float, count: int) -> None:
    enemy, clients = begun(f"{name}:share={share}")
    assert enemy.lies(clients.ids).sum() == count


@pytest.mark.parametrize("name", NAMES)
def test_the_honest_are_left_alone_and_nothing_is_written_to(name: str) -> None:
    enemy, clients = begun(name)
    claimed = enemy.claim(clients)
    honest = ~enemy.lies(clients.ids)
    for column in clients.columns:
        assert np.array_equal(claimed.all(column)[honest], clients.all(column)[honest])
    for index in (1, 60, 61):
        sent = replies(clients, index)
        before = {key: np.array(value) for key, value in sent.signals.items()} | {"models": np.array(sent.models)}
        told = enemy.reply(index, sent)
        true = ~enemy.lies(sent.ids)
        for signal in sent.signals:
            assert np.array_equal(told.signals[signal][true], sent.signals[signal][true])
        assert np.array_equal(told.models[true], sent.models[true])
        assert np.array_equal(enemy.seconds(index, sent.ids, np.ones(len(true)))[true], np.ones(true.sum()))
        answers = sent.signals["loss"]
        assert np.array_equal(enemy.answer(index, "loss", sent.ids, answers)[true], answers[true])
        enemy.learn(index, told)
        assert not differing(before, {**sent.signals, "models": sent.models})


@pytest.mark.parametrize("name", NAMES)
def test_saved_and_loaded_it_tells_the_same_lies(name: str) -> None:
    enemy, clients = begun(name)
    enemy.learn(1, replies(clients, 1))
    other = ADVERSARIES.make(name)
    other.load(through_bytes(enemy.state()))
    a, b = (one.reply(2, replies(clients, 2)) for one in (enemy, other))
    assert np.array_equal(a.models, b.models)
    assert not differing(dict(a.signals), dict(b.signals))


def test_inflated_loss() -> None:
    enemy, clients = begun("inflated-loss:factor=100")
    sent = replies(clients)
    told, lying = enemy.reply(1, sent), enemy.lies(sent.ids)
    assert told.signals["loss"][lying] == pytest.approx(100 * sent.signals["loss"][lying])
    assert (told.signals["accuracy"][lying] == 0).all()


def test_honest_then_ramp() -> None:
    enemy, clients = begun("honest-then-ramp:honest=50,growth=1.1,factor=3")
    lying = enemy.lies(clients.ids)
    for index, factor in ((50, 1.0), (51, 1.1), (52, 1.21), (90, 3.0)):
        assert enemy.answer(index, "loss", clients.ids, np.ones(N))[lying] == pytest.approx(factor)


def test_mimic_reports_the_highest_honest_loss() -> None:
    enemy, clients = begun("mimic")
    sent = replies(clients)
    told, lying = enemy.reply(1, sent), enemy.lies(sent.ids)
    assert (told.signals["loss"][lying] == sent.signals["loss"][~lying].max()).all()


def test_rare_class_hoard_poses_as_mavericks() -> None:
    enemy, clients = begun("rare-class-hoard:times=5")
    claimed, lying = enemy.claim(clients), enemy.lies(clients.ids)
    usual = np.median(clients.all("num_examples"))
    assert (claimed.all("label_counts")[lying].argmax(axis=1) == 2).all()
    assert claimed.all("num_examples")[lying] == pytest.approx(np.ceil(5 * usual))


def test_balanced_giant() -> None:
    enemy, clients = begun("balanced-giant:times=100")
    claimed, lying = enemy.claim(clients), enemy.lies(clients.ids)
    assert (np.ptp(claimed.all("label_counts")[lying], axis=1) == 0).all()
    assert (claimed.all("num_examples")[lying] >= 100 * np.median(clients.all("num_examples"))).all()
    sizes = enemy.claim(clients.only("num_examples")).all("num_examples")
    assert (sizes[lying] >= 100 * np.median(clients.all("num_examples"))).all()


def test_replayed_update_sends_the_last_change_of_the_model() -> None:
    enemy, clients = begun("replayed-update")
    first, second = replies(clients, 1), replies(clients, 2)
    assert np.array_equal(enemy.reply(1, first).models, first.models)  # nothing to replay yet
    enemy.learn(1, first)
    told, lying = enemy.reply(2, second), enemy.lies(second.ids)
    change = second.start - first.start
    assert told.updates[lying] == pytest.approx(np.tile(change, (lying.sum(), 1)))
    gradients = told.signals["gradient"][lying]
    cosine = gradients @ change / np.linalg.norm(gradients, axis=1) / np.linalg.norm(change)
    assert cosine == pytest.approx(-1)


def test_cluster_capture_stands_far_out_in_directions_of_its_own() -> None:
    enemy, clients = begun("cluster-capture:times=10")
    features, lying = enemy.claim(clients).all("features"), enemy.lies(clients.ids)
    usual = np.median(np.linalg.norm(clients.all("features"), axis=1))
    assert np.linalg.norm(features[lying], axis=1) == pytest.approx(10 * usual)
    unit = features[lying] / np.linalg.norm(features[lying], axis=1, keepdims=True)
    assert np.abs(unit @ unit.T - np.eye(lying.sum())).max() < 0.99


def test_fast_then_stall() -> None:
    enemy, clients = begun("fast-then-stall:slower=1000")
    lying = enemy.lies(clients.ids)
    latency = enemy.claim(clients).all("latency")
    assert latency[lying].max() < latency[~lying].min()
    assert enemy.seconds(1, clients.ids, np.full(N, 2.0))[lying] == pytest.approx(2000)


def test_sybils_have_one_owner_and_one_update() -> None:
    enemy, clients = begun("sybils")
    owners, lying = enemy.owners(clients), enemy.lies(clients.ids)
    assert owners is not None
    assert len(set(owners[lying].tolist())) == 1
    assert len(set(owners.tolist())) == 1 + (~lying).sum()
    sent = replies(clients)
    models = enemy.reply(1, sent).models[enemy.lies(sent.ids)]
    assert len(np.unique(models, axis=0)) == 1


def test_signals_that_nobody_asked_for_are_not_made_up() -> None:
    for name in NAMES:
        enemy, clients = begun(name)
        sent = replace(replies(clients), signals={})
        enemy.learn(1, sent)
        assert enemy.reply(2, sent).signals == {}


@pytest.mark.parametrize("share", ["0", "1", "-0.5"])
def test_a_share_has_to_leave_somebody_honest(share: str) -> None:
    with pytest.raises(UsageError, match="share"):
        ADVERSARIES.make(f"mimic:share={share}")
