"""Work moved to the clients: the same choices as in the clear, and what each report is worth.

Tests of coins draw anew each time and state how often they raise a wrong alarm.
"""

import math

import numpy as np
import pytest

import callup
from callup import Clients, stream
from callup.analytics.emd import distances
from callup.analytics.simhash import text_fingerprint
from callup.core.errors import InputError, UsageError
from callup.core.types import Feedback, Plan, Round
from callup.privacy import provide
from callup.privacy.field import MODULUS
from callup.privacy.fingerprints import federation_key, flip_chance, randomised
from callup.privacy.joining import ClientParty
from callup.privacy.ledger import Ledger
from callup.privacy.scores import own_skewness, report
from callup.privacy.self_selection import GRAIN, SeenCounts, as_grains, joins, most_clients, own_weight
from callup.privacy.sharing import Shares, split
from callup.privacy.terms import Terms

pytest.importorskip("opendp")


def ranks(values):
    return np.argsort(np.argsort(values))


# FedACS


@pytest.mark.parametrize("size_aware", ["false", "true"])
def test_fedacs_chooses_the_same_from_gradients_and_from_the_clients_own_scores(size_aware):
    clients = Clients(range(30), num_examples=stream(1, "sizes").integers(10, 90, 30))
    whole, own = (
        callup.selector(f"fedacs:insight={insight},size_aware={size_aware}") for insight in ("gradient", "skewness")
    )
    for method in (whole, own):
        method.start(clients, Plan(6), stream(0, "start"))
    picks = []
    for index in range(1, 16):
        now = [Round(index, clients.ids, clients, stream(0, "select", index)) for _ in range(2)]
        chosen = whole.select(now[0], 6).ids
        assert own.select(now[1], 6).ids.tolist() == chosen.tolist()
        gradients = stream(2, "gradients", index).standard_normal((6, 12)) * (1 + chosen[:, None] % 5)
        mean = gradients.mean(axis=0)  # what secure aggregation gives to all
        scores = np.array([own_skewness(row, mean) for row in gradients])
        whole.update(Feedback(index, chosen, {"gradient": gradients}, clients))
        own.update(Feedback(index, chosen, {"skewness": scores}, clients))
        picks.append(tuple(chosen))
    assert len(set(picks)) > 10
    assert own.wins_.values.tolist() == whole.wins_.values.tolist()


def test_a_score_by_hand():
    assert own_skewness(np.array([1.0, 5.0]), np.array([4.0, 1.0])) == 5.0
    with pytest.raises(InputError, match="cannot be compared"):
        own_skewness(np.array([1.0]), np.array([1.0, 2.0]))
    with pytest.raises(InputError, match="not a finite number"):
        own_skewness(np.array([np.inf, 0.0]), np.zeros(2))


def test_reports_are_clipped_and_noised():
    assert report(3.0, clip=4.0) == 3.0 and report(9.0, clip=4.0) == 4.0
    with pytest.raises(UsageError, match="clip must be above 0"):
        report(1.0, clip=0.0)
    # The two furthest values of all, epsilon 1: no answer may be more than e times as likely. Answers in four ranges,
    # 1000 reports each; eight comparisons with 5 standard deviations, wrong alarm below 8 x 3e-7.
    runs, epsilon = 1000, 1.0
    edges = [0.0, 0.5, 2.0, 3.5, 4.0]
    laws = [np.histogram([report(x, 4.0, epsilon) for _ in range(runs)], edges)[0] / runs for x in (0.0, 4.0)]
    for p, q in (laws, laws[::-1]):
        assert (p <= math.e * q + 5 * np.sqrt((p + math.e**2 * q + 1 / runs) / runs)).all()
    assert laws[0][0] > laws[1][0] and laws[1][-1] > laws[0][-1]


# FedEMD


def test_fedemd_orders_clients_by_noised_counts_as_by_true_ones():
    # Dirichlet of total concentration 0.5 over 10 classes, epsilon 2. Seeded.
    rng = stream(3, "mixes")
    counts = np.stack([rng.multinomial(300, rng.dirichlet(np.full(10, 0.05))) for _ in range(100)])
    clients = Clients(range(100), label_counts=counts)
    released = provide("dp:epsilon=2", clients, ["label_counts"], seed=3)["label_counts"]
    true, noised = (distances(rows.sum(axis=0), rows) for rows in (counts, released))
    assert np.corrcoef(ranks(true), ranks(noised))[0, 1] > 0.9


def test_a_client_works_out_the_weight_that_fedemd_gives_it():
    counts = stream(4, "counts").integers(0, 60, (12, 4))
    clients = Clients(range(12), label_counts=counts)
    method = callup.selector("fedemd:beta=0.05")
    method.start(clients, Plan(3), stream(0, "start"))
    seen = np.zeros(4)
    for index in range(1, 5):
        now = Round(index, clients.ids, clients, stream(0, "select", index))
        weights = [own_weight(counts[i], counts.sum(axis=0), seen, index, 0.05, i) for i in range(12)]
        np.testing.assert_allclose(np.array(weights) / sum(weights), method.probabilities(now), rtol=1e-12)
        chosen = method.select(now, 3).ids
        method.update(Feedback(index, chosen, {}, clients))
        seen += counts[chosen].sum(axis=0)
    assert own_weight([0, 0, 0, 0], counts.sum(axis=0), seen, 1, 0.05, 3) == 0.0


def test_coins_fall_as_often_as_the_weight_says():
    # 4000 tosses at chance 3 x 0.2 / 2 = 0.3: 5 standard deviations are 0.036; wrong alarm 6e-7.
    heads = sum(joins(0.2, 2.0, 3) for _ in range(4000)) / 4000
    assert abs(heads - 0.3) < 5 * math.sqrt(0.3 * 0.7 / 4000)
    assert joins(1.0, 2.0, 9) and not joins(0.0, 2.0, 9)
    with pytest.raises(UsageError, match="sum of weights"):
        joins(1.0, 0.0, 3)


def test_weights_are_summed_on_shares():
    terms = Terms.fresh(1, range(25), 20)
    at_server, at_selector = Shares(terms), Shares(terms)
    weights = stream(6, "weights").uniform(0.3, math.e, 25)
    for client, weight in enumerate(weights):
        for shares, message in zip((at_server, at_selector), split([as_grains(weight)], client, terms), strict=True):
            shares.take(message)
    total = (at_server.total(range(25)) + at_selector.total(range(25)))[0, 0] % MODULUS / GRAIN
    assert total == pytest.approx(weights.sum(), abs=25 / 2 / GRAIN)
    assert most_clients() * round(math.e * GRAIN) < MODULUS
    with pytest.raises(InputError, match="between 0 and e"):
        as_grains(3.0)


def test_what_was_seen_is_not_opened_for_a_few():
    seen = SeenCounts(minimum=4)
    seen.add([1, 2, 2, 3])
    assert not seen.may_open
    with pytest.raises(InputError, match="counts of 3 clients more are not opened: the minimum is 4"):
        seen.opened()
    seen.add([9])
    assert seen.opened() == [1, 2, 2, 3, 9]
    assert not seen.may_open


# Fingerprints


def test_a_bit_is_turned_with_the_chance_epsilon_sets():
    assert flip_chance(1, math.log(3)) == pytest.approx(1 / 4)
    assert flip_chance(64, 64 * math.log(3)) == pytest.approx(1 / 4)
    # 40 x 256 bits at chance 1/4: 5 standard deviations are 0.021; wrong alarm 6e-7.
    bits = np.tile([0, 1], 128)
    turned = np.mean([(randomised(bits, 256 * math.log(3)) != bits).mean() for _ in range(40)])
    assert abs(turned - 0.25) < 5 * math.sqrt(0.25 * 0.75 / (40 * 256))
    # The most telling answer: all bits as they are, against a client with every bit the other way round.
    p = flip_chance(8, 2.0)
    assert math.log((1 - p) ** 8 / p**8) == pytest.approx(2.0)


def test_without_the_key_nobody_can_try_out_what_a_fingerprint_means():
    words = ["flu cough fever", "bread butter jam", "goal match referee"]
    key = federation_key()
    assert len(key) == 32 and key != federation_key()
    for text in words:
        told = text_fingerprint(text, 64, key)
        # With the key the right guess agrees in all bits; with any other, as a coin does: 64 bits, each a half. 58 or
        # more agree by chance with 2e-11, over nine tries.
        assert (text_fingerprint(text, 64, key) == told).all()
        for other in (b"", federation_key(), federation_key()):
            assert (text_fingerprint(text, 64, other) == told).sum() < 58


def test_a_fingerprint_is_released_once(tmp_path):
    ledger, bits = Ledger(tmp_path, client=5), np.tile([0, 1], 32)
    told = ledger.release_bits("v1", bits, 8.0)
    with pytest.raises(InputError, match="was released before"):
        ledger.release_bits("v1", bits, 8.0)
    assert ledger.released("v1", "bits").tolist() == told.tolist()
    ledger.release("v1", [3, 4], 1.0)  # counts of the same version are another release, and cost on top
    assert ledger.spent == pytest.approx(9.0)
    with pytest.raises(InputError, match="one row of zeros and ones"):
        ledger.release_bits("v2", np.array([0, 2]), 1.0)
    assert ledger.versions == ["v1", "v1"]


# A client's whole part


def test_a_client_shares_one_release_however_often_it_is_asked(tmp_path):
    terms = [Terms.fresh(3, range(20), 20) for _ in range(2)]
    party = ClientParty(4, epsilon=1.0, ledger=Ledger(tmp_path, 4, budget=1.0), version="v1")
    rows = []
    for agreed in terms:
        server, selector = Shares(agreed), Shares(agreed)
        for shares, message in zip((server, selector), party.join(agreed.encode(), [50, 0, 7]), strict=True):
            shares.take(message)
        rows.append((server._rows[4] + selector._rows[4])[0] % MODULUS)
    released = Ledger(tmp_path, 4).released("v1")
    assert rows[0].tolist() == rows[1].tolist() == released.tolist() and released.sum() == 57
    assert "50" not in repr(party)
    later = ClientParty(4, epsilon=1.0, ledger=Ledger(tmp_path, 4, budget=1.0), version="v2")
    with pytest.raises(InputError, match="budget"):
        later.join(terms[0].encode(), [50, 0, 7])


def test_a_client_does_not_noise_without_a_memory():
    with pytest.raises(UsageError, match="client 4: noise needs both epsilon and a ledger"):
        ClientParty(4, epsilon=1.0)
    with pytest.raises(InputError, match="name another sealing key"):
        ClientParty(4, pinned="00" * 32).join(Terms.fresh(3, range(20), 20).encode(), [1, 2, 3])


def test_a_federation_that_calls_itself_up():
    # 40 clients, one of which owns a class of its own; 60 rounds of K = 5. Server and selector hold shares alone; what
    # they open together are sums over ten clients and more.
    clients, k, rounds, beta, minimum = 40, 5, 60, 0.02, 10
    counts = np.tile([30, 30, 0], (clients, 1))
    counts[7] = [30, 30, 240]
    everyone = range(clients)
    parties = [Shares(terms := Terms.fresh(3, everyone, minimum)), Shares(terms)]
    for i in everyone:
        for shares, message in zip(parties, split(counts[i], i, terms), strict=True):
            shares.take(message)

    def opened(pair, ids):
        return sum(shares.total(ids)[0] for shares in pair) % MODULUS

    d_g, d_c, seen = opened(parties, everyone), np.zeros(3, np.int64), SeenCounts(minimum)
    assert d_g.tolist() == counts.sum(axis=0).tolist()
    sizes = []
    for index in range(1, rounds + 1):
        weights = [own_weight(counts[i], d_g, d_c, index, beta, i) for i in everyone]
        if index == 1:
            # The owner lies 0.709 from everybody's distribution, the others 0.0909: shares (.1, .1, .8) and (.5, .5, 0)
            # against (1200, 1200, 240) / 2640.
            assert weights[7] / weights[0] == pytest.approx(math.exp(0.8 - 240 / 2640 - 240 / 2640))
        sums = [Shares(agreed := Terms.fresh(1, everyone, minimum)), Shares(agreed)]
        for i in everyone:
            for shares, message in zip(sums, split([as_grains(weights[i])], i, agreed), strict=True):
                shares.take(message)
        total = opened(sums, everyone)[0] / GRAIN
        joined = [i for i in everyone if joins(weights[i], total, k)]
        sizes.append(len(joined))
        seen.add(joined)
        if seen.may_open:
            d_c = d_c + opened(parties, seen.opened())
    # Each cohort is a sum of coins with mean 5 and variance below 5: over 60 rounds 5 standard deviations are 1.45.
    # Wrong alarm below 1e-6. Sums were opened, and of whole counts.
    assert abs(np.mean(sizes) - k) < 1.45
    assert d_c.sum() >= 60 * minimum and d_c[0] == d_c[1]
