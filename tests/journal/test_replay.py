"""Every method's recorded rounds, played to a fresh selector, name the same clients; a change in them shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.core.randomness import stream
from callup.core.types import Feedback, Plan, Round, Selection
from callup.core.verify import ask
from callup.journal.entries import Entry, read_entry
from callup.journal.replay import CannotReplay, Verdict, replay
from callup.journal.turns import Turn, played, record_turn
from callup.testing.federation import Federation, supplies

K, ROUNDS, SEED = 4, 8, 5
FEDERATION = Federation.of(30, sparse=True)
PLAN = Plan(K, ROUNDS, FEDERATION.classes)


def recorded(spec: str, churn: bool = False) -> tuple[Clients, list[Entry]]:
    """Rounds of a made-up federation in which half are online and a fifth do not reply, as a runtime records them."""
    selector = SELECTORS.make(spec)
    asks = supplies(selector.needs)[0]
    profile = FEDERATION.clients([a.signal.name for a in asks if a.time == "profile"])
    names = [a.signal.name for a in asks if a.time in ("reply", "server")]
    clients, entries = members(profile, 1, churn), []
    selector.start(clients, PLAN, stream(SEED, "start", "selector"))
    for index in range(1, ROUNDS + 1):
        here = members(profile, index, churn)
        if not np.array_equal(here.ids, clients.ids):
            clients = here
            selector.roster(clients, stream(SEED, "roster", index))
        heard: dict[str, tuple[np.ndarray, np.ndarray]] = {}

        def probe(name: str, ids: np.ndarray, index: int = index, heard: dict = heard) -> np.ndarray:
            answers = FEDERATION.answers(name, ids, index)
            answers[np.searchsorted(FEDERATION.ids, ids) % 5 == 0] = np.nan  # every fifth client is silent
            before = heard.get(name, (ids[:0], answers[:0]))
            heard[name] = np.concatenate([before[0], ids]), np.concatenate([before[1], answers])
            return answers

        luck = stream(index, "luck")
        online = clients.ids[luck.random(len(clients)) < 0.5] if index != 4 else clients.ids[:0]
        now = Round(index, online, clients, stream(SEED, "select", index), probe)
        selection = ask(selector, now, K)
        lost = luck.random(len(selection.ids)) < 0.2
        back = selection.ids[~lost]
        signals = {name: FEDERATION.fact(name, back, index) for name in names}
        failed = {int(i): "no reply" for i in selection.ids[lost]}
        rng = stream(SEED, "update", index)
        feedback = Feedback(index, back, signals, clients, failed, heard, selection.notes, rng)
        selector.update(feedback)
        facts, arrays = record_turn(Turn(now, K, selection, feedback), profile)
        entries.append(read_entry(index, Entry(index, facts, arrays).content()))
    return profile, entries


def members(profile: Clients, index: int, churn: bool) -> Clients:
    """With churn, another fifth of the clients is away in every third round."""
    return profile.among(profile.ids[profile.ids % 5 != index // 3]) if churn else profile


def verdicts(spec: str, profile: Clients, entries: Iterable[Entry], seed: int = SEED) -> list[Verdict]:
    return list(replay(SELECTORS.make(spec), PLAN, seed, {1: profile}, entries))


@pytest.mark.parametrize("churn", [False, True], ids=["", "churn"])
@pytest.mark.parametrize("name", [card.name for card in SELECTORS.cards()])
def test_every_method_names_the_same_clients_again(name: str, churn: bool) -> None:
    profile, entries = recorded(name, churn)
    found = verdicts(name, profile, entries)
    assert [verdict.index for verdict in found] == list(range(1, ROUNDS + 1))
    assert all(verdict.same for verdict in found)


def test_a_selection_that_was_changed_shows() -> None:
    profile, entries = recorded("random")
    asked = entries[4].arrays["asked"].copy()
    outside = np.setdiff1d(played(5, entries[4].facts, entries[4].arrays, profile).available, profile.ids[asked])
    asked[0] = profile.index.rows(outside[:1])[0]
    entries[4] = replace(entries[4], arrays={**entries[4].arrays, "asked": asked})
    found = verdicts("random", profile, entries)
    assert [verdict.same for verdict in found] == [True] * 4 + [False]


def test_a_report_that_was_changed_shows() -> None:
    """Those with the highest loss are chosen: with the order of losses turned round, others are."""
    spec = "power-of-choice:d=12"
    profile, entries = recorded(spec)
    entries[2] = replace(entries[2], arrays={**entries[2].arrays, "probe loss": -entries[2].arrays["probe loss"]})
    assert [verdict.same for verdict in verdicts(spec, profile, entries)] == [True, True, False]


def test_another_seed_or_method_shows() -> None:
    profile, entries = recorded("random")
    assert not verdicts("random", profile, entries, SEED + 1)[0].same
    assert not all(verdict.same for verdict in verdicts("all", profile, entries))


def test_a_probe_that_was_not_asked_then() -> None:
    profile, entries = recorded("power-of-choice:d=6")
    first = {n: a for n, a in entries[0].arrays.items() if "probe" not in n}
    found = verdicts("power-of-choice:d=6", profile, [replace(entries[0], arrays=first)])
    assert found == [Verdict(1, found[0].recorded, "", "'loss' is probed now and was not then")]


def test_weights_that_were_changed_show() -> None:
    profile, entries = recorded("by-size")
    entries[0].facts["weights"] = "0" * 16
    assert verdicts("by-size", profile, entries)[0].problem == "the aggregation weights differ"


def test_rows_too_wide_to_keep_are_digests() -> None:
    clients = Clients([3, 8])
    now = Round(1, clients.ids, clients, stream(0, "select", 1))
    signals = {"update": np.ones((1, 257)), "loss": np.array([0.5])}
    feedback = Feedback(1, np.array([8]), signals, clients, {3: "late"})
    facts, arrays = record_turn(Turn(now, 2, Selection(np.array([8, 3])), feedback), clients)
    assert list(facts["dropped"]) == ["signal update"]
    assert "signal update" not in arrays
    turn = played(1, facts, arrays, clients)
    assert (turn.asked.tolist(), turn.replied.tolist(), turn.failed) == ([8, 3], [8], {3: "late"})
    assert turn.signals["loss"].tolist() == [0.5]
    with pytest.raises(CannotReplay, match="round 1: the log holds only a digest of signal update"):
        list(replay(SELECTORS.make("random"), PLAN, 0, {1: clients}, [Entry(1, facts, arrays)]))


def test_without_a_profile_there_is_nothing_to_replay() -> None:
    with pytest.raises(CannotReplay, match="was not recorded"):
        list(replay(SELECTORS.make("random"), PLAN, 0, {}, []))


@pytest.mark.parametrize(
    "broken",
    [
        {"asked": np.array([99])},
        {"asked": np.array([0.5])},
        {"why": np.array([7], np.uint16)},
        {"failed": np.array([0, 1, 2, 3, 4])},
        {"available bits": np.array([3.5])},
    ],
)
def test_an_entry_that_is_no_round_is_refused(broken: dict[str, np.ndarray]) -> None:
    profile, entries = recorded("random")
    with pytest.raises(InputError, match="does not describe a round"):
        played(1, entries[0].facts, {**entries[0].arrays, **broken}, profile)


def test_clients_that_no_profile_knows_are_refused() -> None:
    known, strangers = Clients([1, 2, 3]), Clients([1, 2, 4])
    now = Round(1, strangers.ids, strangers, stream(0))
    turn = Turn(now, 1, Selection(strangers.ids[:1]), Feedback(1, strangers.ids[:1], {}, strangers))
    with pytest.raises(InputError, match="roster: not all of these 3 clients are known"):
        record_turn(turn, known)


@pytest.mark.parametrize("online", [0, 1, 50, 199, 999, 1000])
def test_a_subset_takes_few_bytes(online: int) -> None:
    """A bit for each client or a row for each member, whichever is less; nothing when it is everybody."""
    clients = Clients(np.arange(1000) * 7)
    now = Round(1, np.sort(stream(1, online).choice(clients.ids, online, replace=False)), clients, stream(0))
    feedback = Feedback(1, clients.ids[:0], {}, clients)
    facts, arrays = record_turn(Turn(now, 2, Selection(clients.ids[:0]), feedback), clients)
    size = sum(array.nbytes for name, array in arrays.items() if name.startswith("available"))
    assert size == (0 if online == 1000 else min(2 * online, 125))
    assert played(1, facts, arrays, clients).available.tolist() == now.available.tolist()
