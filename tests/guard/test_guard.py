"""The whole guard: who is admitted, who is drawn, what is refused, and what is remembered."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.core.randomness import stream
from callup.core.types import Feedback, Plan, Replies, Round, Selection
from callup.guard.guard import GUARDS, Guard, guard_for
from callup.testing.compare import differing
from callup.testing.saved import through_bytes

N, K = 60, 6
IDS = np.arange(N)


def begun(spec: str = "on", selector: str = "active-fl", n: int = N, **columns: np.ndarray) -> Guard:
    guard = guard_for(spec, SELECTORS.make(selector))
    assert guard is not None
    guard.start(Clients(np.arange(n), num_examples=np.full(n, 10.0), **columns), Plan(K, 100, 4), stream(0, "guard"))
    return guard


def greedy(guard: Guard, rounds: int, online: np.ndarray = IDS, k: int = K) -> np.ndarray:
    """Calls of each client when the lowest ids are always wanted most."""
    calls = np.zeros(int(online.max()) + 1)
    for index in range(1, rounds + 1):
        chosen = guard.admit(index, online, k)[:k]
        assert len(chosen) == min(k, len(online))
        calls[chosen] += 1
        guard.learn(index, online, Selection(chosen), k)
    return calls


@pytest.mark.parametrize("cap", [1.5, 2.5])
def test_the_most_wanted_get_no_more_than_the_cap(cap: float) -> None:
    calls = greedy(begun(f"on:cap={cap}"), 200)
    assert calls.max() <= cap * 200 * K / N  # 20 fair turns each
    assert calls[:12].sum() / calls.sum() <= cap * 12 / N
    assert calls[:12].sum() / calls.sum() >= 0.9 * cap * 12 / N  # and the cap is what stops them


def test_everybody_may_be_called_in_the_first_round() -> None:
    assert begun().admit(1, IDS, K).tolist() == IDS.tolist()


def test_places_are_filled_even_when_the_cap_has_to_give_way() -> None:
    guard = begun("on:cap=1")
    few = np.arange(8)  # eight clients, six places: with cap 1 everybody would have to take turns exactly
    calls = greedy(guard, 40, few)
    assert calls.sum() == 240
    assert guard.beyond > 0


def test_turns_pass_only_while_online() -> None:
    guard = begun()
    half = IDS[::2]
    greedy(guard, 100, half)
    # The other half had no turns: one call each and no more, however rarely they were called before.
    for index in range(101, 104):
        admitted = guard.admit(index, IDS, K)
        chosen = admitted[np.isin(admitted, IDS[1::2])][:K]
        guard.learn(index, IDS, Selection(chosen), K)
    assert not np.isin(chosen, guard.admit(104, IDS, K)).any()


def test_one_owner_gets_no_more_than_its_cap_however_many_clients_it_runs() -> None:
    owner = np.where(IDS < 20, 0, IDS)  # clients 0 to 19 have one owner: 41 owners in all
    calls = greedy(begun("on:owner_cap=3", owner=owner), 200)
    assert calls[:20].sum() / calls.sum() <= 3 / 41
    assert greedy(begun(), 200)[:20].sum() / 1200 > 0.4  # without owners they win far more


def test_quarantine_is_never_relaxed() -> None:
    guard = begun()
    for client in range(50):
        guard.quarantine(0, client, rounds=5)
    assert guard.admit(1, np.arange(52), K).tolist() == [50, 51]
    assert len(guard.admit(1, np.arange(50), K)) == 0
    guard.release(1, 3)
    assert guard.admit(2, np.arange(50), K).tolist() == [3]
    assert len(guard.admit(6, np.arange(50), K)) == 50  # over


def test_pool_then_random_gives_every_member_of_the_pool_the_same_chance() -> None:
    selector = SELECTORS.make("fedcm-ucb")
    clients = Clients(IDS, num_examples=np.ones(N))
    selector.start(clients, Plan(K), stream(0, "start"))
    guard = begun("on:pool=0.5,cap=100", "fedcm-ucb")
    selector.mean_.set(IDS, np.where(IDS < 30, 1.0, 0.0))
    times = np.zeros(N)
    for index in range(1, 1001):
        now = Round(index, IDS, clients, stream(1, "select", index))
        chosen = guard.ask(selector, now, K, IDS)
        assert chosen.notes["guard_pool"] == 30
        assert all(len(part) == K for part in chosen.scores.values())
        times[chosen.ids] += 1
    assert not times[30:].any()
    # 30 binomial counts of mean 200 and deviation sqrt(1000 * 0.2 * 0.8) = 12.6; six deviations: once in 10^7 runs.
    assert abs(times[:30] - 200).max() < 6 * 12.7


def test_repeats_beyond_the_cap_go_to_others() -> None:
    clients = Clients(IDS, num_examples=np.where(IDS == 0, 1e6, 1.0))
    selector = SELECTORS.make("by-size")
    guard = guard_for("on", selector)
    assert guard is not None
    guard.start(clients, Plan(K, 100), stream(0, "guard"))
    draws = np.zeros(N)
    for index in range(1, 201):
        admitted = guard.admit(index, IDS, K)
        now = Round(index, admitted, clients, stream(1, "select", index))
        chosen = guard.ask(selector, now, K, IDS)
        assert chosen.weights is not None
        assert chosen.weights.sum() == K
        draws[chosen.ids] += chosen.weights
        guard.learn(index, IDS, chosen, K)
    assert draws[0] <= 1.5 * 20


def replies(ids: list[int], models: np.ndarray, start: np.ndarray, **signals: np.ndarray) -> Replies:
    return Replies(np.array(ids), start, models, np.full(len(ids), 10.0), np.full(len(ids), 5.0), signals)


def test_replayed_copied_and_enormous_updates_are_refused() -> None:
    guard, rng = begun(), stream(3, "updates")
    start = np.zeros(50)
    first = rng.normal(size=(4, 50))
    before = replies([0, 1, 2, 3], start + first, start)
    verdict = guard.review(before)
    assert not verdict.found
    guard.learn(1, IDS, Selection(before.ids), K, [verdict])
    after = start + first.mean(axis=0)
    sent = np.stack(
        [
            after - start,  # the last change of the global model
            2 * first[1],  # client 1's own last update again
            rng.normal(size=50),  # honest
            1000 * rng.normal(size=50),
            np.arange(50.0),
            np.arange(50.0),  # the same as the one before
        ]
    )
    verdict = guard.review(replies([0, 1, 2, 3, 4, 5], after + sent, after))
    assert {o.client: o.name for o in verdict.found} == {
        0: "replayed model",
        1: "replayed update",
        3: "enormous update",
        4: "copied update",
        5: "copied update",
    }
    assert verdict.good.tolist() == [False, False, True, False, False, False]


def test_what_most_of_a_cohort_does_is_nobodys_fault() -> None:
    guard = begun()
    models = np.full((4, 10), np.nan)
    models[0] = 1.0
    verdict = guard.review(replies([0, 1, 2, 3], models, np.zeros(10)))
    assert sorted(verdict.refused) == [1, 2, 3]
    assert all(o.excused for o in verdict.found)
    assert not any(o.excused for o in guard.review(replies([0, 1], models[:2], np.zeros(10))).found)


def test_a_client_without_samples_is_not_to_blame() -> None:
    guard = begun()
    start = np.zeros(10)
    idle = Replies(np.array([0]), start, start[None], np.zeros(1), np.zeros(1), {"loss": np.array([np.nan])})
    assert [o.strike for o in guard.review(idle).found] == [0]


def test_scales_come_from_everybody_not_from_one_round() -> None:
    guard = begun()
    for index, ids in enumerate((range(0, 20), range(20, 40)), start=1):
        answers = np.linspace(0.5, 1.5, 20)
        guard.learn(index, IDS, Selection(np.arange(K)), K, probed={"loss": (np.array(ids), answers)})
    # A round in which only liars are asked: what the others said before holds them down.
    seen = guard.scale("loss", np.array([50, 51, 52]), np.array([1e30, 1e6, np.nan]))
    assert seen[0] == seen[1] < 4
    assert np.isnan(seen[2])
    assert guard.scale("duration", np.array([1]), np.array([1e9])).tolist() == [1e9]  # the server's own measure


def test_saved_and_loaded_it_goes_on_as_if_never_stopped() -> None:
    def play(guard: Guard, rounds: range) -> list[list[int]]:
        out = []
        for index in rounds:
            ids = guard.admit(index, IDS, K)[:K]
            start = np.full(12, float(index))
            sent = start + stream(5, "update", index).normal(size=(K, 12))
            sent[0] = start + 1.0  # the change of the global model: a replay, each round
            verdict = guard.review(replies(ids.tolist(), sent, start, loss=np.arange(K, dtype=float)))
            guard.learn(index, IDS, Selection(ids), K, [verdict])
            out.append([*ids.tolist(), *(o.client for o in verdict.found)])
        return out

    owner = np.where(IDS < 20, 0, IDS)
    whole = play(begun(owner=owner), range(1, 31))
    for cut in (1, 7, 20):
        first, second = begun(owner=owner), Guard(cap=1.5)
        play(first, range(1, cut))
        state = through_bytes(first.state())
        second.load(state)
        assert not differing(state, second.state())
        assert play(second, range(cut, 31)) == whole[cut - 1 :]


def test_looking_changes_nothing() -> None:
    guard = begun()
    greedy(guard, 10)
    before = copy.deepcopy(guard.state())
    selector = SELECTORS.make("random")
    clients = Clients(IDS)
    guard.admit(11, IDS, K)
    guard.ask(selector, Round(11, IDS, clients, stream(0, "now")), K, IDS)
    guard.scale("loss", IDS, np.ones(N))
    guard.review(replies([0, 1, 2], np.ones((3, 8)), np.zeros(8)))
    assert not differing(before, guard.state())


def test_damaged_states_are_refused() -> None:
    guard = begun()
    good = guard.state()
    for name in ("schema", "key_", "calls_.ids", "until_.values", "event_facts_", "start_"):
        broken = {key: value for key, value in good.items() if key != name}
        with pytest.raises(InputError):
            guard.load(broken)
    assert not differing(good, guard.state())


def test_the_method_settles_cap_and_pool() -> None:
    def settled(selector: str, spec: str = "on") -> tuple[float | None, float | None]:
        guard = guard_for(spec, SELECTORS.make(selector))
        assert guard is not None
        return guard.cap, guard.pool

    assert settled("active-fl") == (1.5, 0.5)
    assert settled("oort") == (1.5, None)  # its own limit is the head start, which a pool would take away
    assert settled("oort:fedscale") == (1.5, 0.5)  # this preset has no limit of its own
    assert settled("oort", "on:pool=0.3") == (1.5, 0.3)
    assert settled("oort", "on:advance=3") == (1.5, 0.5)
    assert settled("fed-cbs") == (1.5, None)
    assert settled("fedacs") == (2.5, None)
    assert settled("fedacs:pool=0.2") == (5.0, None)
    assert settled("fedemd") == (2.0, None)
    assert settled("fedacs", "on:cap=1.5") == (1.5, None)
    assert settled("active-fl", "on:pool=none") == (1.5, None)
    assert guard_for("off", SELECTORS.make("oort")) is None


def test_the_method_settles_head_start_and_purse() -> None:
    def settled(selector: str, spec: str = "on") -> tuple[object, ...]:
        guard = guard_for(spec, SELECTORS.make(selector))
        assert guard is not None
        return guard.cap, guard.advance, guard.extra, guard.most

    assert settled("oort") == (1.5, 11, 0.0, np.inf)  # oort rests a client after more than ten rounds
    assert settled("oort:cap=4") == (1.5, 5, 0.0, np.inf)
    assert settled("oort:cap=1") == (1.5, 3, 0.0, np.inf)  # never fewer than anybody has
    assert settled("random") == (1.5, 3, 0.0, np.inf)
    cap, _, extra, most = settled("power-of-choice")
    assert (cap, extra, most) == (1.5, 0.25, 6.0)
    assert settled("power-of-choice", "on:cap=2") == (2.0, 3, 0.0, np.inf)  # a cap that was set is strict
    assert settled("power-of-choice", "on:extra=0") == (1.5, 3, 0.0, 6.0)  # without its purse no wider cap instead
    assert settled("fedcm-ts", "on:extra=0.1") == (1.5, 3, 0.1, 10.0)
    assert settled("power-of-choice", "on:cap=2,extra=0.1") == (2.0, 3, 0.1, np.inf)
    assert settled("by-size", "on:extra=0.1") == (1.5, 3, 0.0, np.inf)


def test_the_purse_goes_to_the_most_wanted_and_is_never_overdrawn() -> None:
    # Clients 0 to 11 report the highest losses, all are of one size, and all are candidates: without a guard they
    # would get every place. 50 fair turns each: their caps allow 12 * 1.5 * 50 = 900 of 3000 places.
    chooser = SELECTORS.make(f"power-of-choice:d={N}")
    guard = guard_for("on:cap=1.5,extra=0.1,most=4", chooser)
    assert guard is not None
    clients = Clients(IDS, num_examples=np.full(N, 10.0))
    guard.start(clients, Plan(K, 500, 4), stream(0, "guard"))
    chooser.start(clients, Plan(K, 500, 4), stream(0, "start"))
    calls = np.zeros(N)
    for index in range(1, 501):
        now = Round(
            index,
            guard.admit(index, IDS, K),
            clients,
            stream(0, "now", index),
            lambda _, ids: 100.0 - ids.astype(float),
        )
        chosen = guard.ask(chooser, now, K, IDS)
        assert len(chosen.ids) == K
        guard.learn(index, IDS, chosen, K)
        calls[chosen.ids] += 1
        assert guard.state()["extra_.values"].sum() <= 0.1 * K * index
    assert guard.beyond == 0
    assert calls.max() <= 4 * 50
    assert calls[:12].sum() <= 900 + 0.1 * 3000
    assert calls[:12].sum() >= 0.95 * (900 + 0.1 * 3000)  # both are used to the full
    assert calls[0] > calls[11]  # and the most wanted come first


def test_a_group_that_may_not_have_all_it_wants_is_chosen_anew() -> None:
    # Clients 0 and 1 own a class each, so lineup wants both in every round of three. They have four fair turns in 40
    # rounds, six calls by the cap; a purse of a tenth of the places pays for twelve more, together.
    counts = np.full((30, 4), 10.0)
    counts[:, :2] = 0
    counts[0], counts[1] = [60, 0, 10, 10], [0, 60, 10, 10]
    clients = Clients(np.arange(30), label_counts=counts)
    chooser = SELECTORS.make("lineup")
    guard = guard_for("on:cap=1.5,extra=0.1", chooser)
    assert guard is not None
    guard.start(clients, Plan(3, 40, 4), stream(0, "guard"))
    chooser.start(clients, Plan(3, 40, 4), stream(0, "start"))
    calls = np.zeros(30)
    for index in range(1, 41):
        now = Round(index, guard.admit(index, clients.ids, 3), clients, stream(0, "now", index))
        chosen = guard.ask(chooser, now, 3, clients.ids)
        assert len(chosen.ids) == 3
        assert chosen.weights is not None
        assert chosen.weights.sum() == pytest.approx(1.0)  # a whole group, not what is left of one
        guard.learn(index, clients.ids, chosen, 3)
        chooser.update(Feedback(index, chosen.ids, {}, clients))
        calls[chosen.ids] += 1
    assert guard.beyond == 0
    assert 20 <= calls[:2].sum() <= 2 * 6 + 12
    assert calls[2:].max() <= 6


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("on:cap=0.5", "cap"),
        ("on:extra=1", "extra"),
        ("on:extra=-0.1", "extra"),
        ("on:cap=3,most=2", "most is 2, below the cap, 3"),
        ("on:advance=0", "advance"),
        ("on:pool=0", "pool"),
        ("on:pool=1.5", "pool"),
        ("on:strikes=1", "one strike"),
        ("on:owner_cap=0", "owner_cap"),
        ("on:reach=-1", "reach"),
        ("on:sentence=0", "sentence"),
        ("on:copy_angle=1", "copy_angle"),
        ("on:kap=2", "did you mean 'cap'"),
        ("onn", "did you mean 'on'"),
    ],
)
def test_bad_settings_are_refused_by_name(spec: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        GUARDS.make(spec)


def test_leaving_clears_no_name() -> None:
    guard = begun()
    greedy(guard, 10)
    guard.quarantine(10, 5, rounds=100)
    above = np.setdiff1d(IDS, guard.admit(11, IDS, K))
    guard.roster(Clients(np.arange(50, 60)))
    guard.roster(Clients(IDS))
    assert len(above) > 1
    assert np.array_equal(np.setdiff1d(IDS, guard.admit(11, IDS, K)), above)
