"""Inner products computed on shares and on ciphertexts equal the plain ones, number by number."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callup import Clients, stream
from callup.core.errors import InputError, MissingSignal, UsageError
from callup.privacy import parse_mode, provide
from callup.privacy.field import (
    CAP,
    MODULUS,
    PRIMES,
    cap,
    combined,
    inner_products,
    packed,
    residues,
    uniform,
    unpacked,
)
from callup.privacy.keyholder import Keyholder
from callup.privacy.packing import DEGREE, Packing
from callup.privacy.provide import encrypted_gram, share_out
from callup.privacy.sharing import split

pytest.importorskip("tenseal")


def some_counts(clients, classes, seed=0):
    """Random rows, an empty one, and three at the cap: in one class, in another, and spread over all."""
    rng = stream(seed, "counts")
    rows = rng.integers(0, 60, (clients, classes)) * (rng.random((clients, classes)) < 0.5)
    rows[0] = 0
    for row, place in ((1, 0), (2, -1)):
        rows[row] = 0
        rows[row, place] = CAP
    rows[3] = CAP // classes
    rows[3, 0] += CAP - rows[3].sum()
    return rows


def shared_gram(rows):
    selector, server = share_out(np.arange(len(rows)), rows, minimum=2)
    return selector.gram(server.tiles(selector.encrypted_shares(server.present())))[1]


def test_the_cap_is_the_last_exact_size():
    assert CAP == 4093
    assert CAP**2 < MODULUS <= (CAP + 1) ** 2
    assert MODULUS % (2 * DEGREE) == 1
    assert all(MODULUS % d for d in range(2, 4095))  # a prime


@pytest.mark.parametrize(("clients", "classes"), [(5, 1), (4, 3), (29, 10), (57, 10), (24, 62)])
def test_shared_is_exact(clients, classes):
    rows = some_counts(clients, classes)
    assert (shared_gram(rows) == rows @ rows.T).all()


@st.composite
def tables(draw):
    """Small tables of counts, rows of zeros and rows at the cap among them."""
    clients, classes = draw(st.integers(2, 5)), draw(st.integers(1, 6))
    rows = np.zeros((clients, classes), np.int64)
    for row in rows:
        left = draw(st.sampled_from([0, 1, 50, CAP]))
        for place in range(classes):
            row[place] = left if place == classes - 1 else draw(st.integers(0, left))
            left -= row[place]
    return rows


@settings(max_examples=15, deadline=None)
@given(tables())
def test_shared_is_exact_for_any_counts(rows):
    assert (shared_gram(rows) == rows @ rows.T).all()


@pytest.mark.parametrize(("clients", "classes"), [(5, 2), (30, 10)])
def test_the_papers_topology_is_exact(clients, classes):
    rows = some_counts(clients, classes)
    assert (encrypted_gram(np.arange(clients), rows, minimum=2) == rows @ rows.T).all()


@pytest.mark.parametrize("classes", [1, 2, 10, 62, 2048])
def test_packed_products_are_inner_products(classes):
    # P times Q modulo X^n + 1, by the definition, on the coefficients that count and for a full group.
    packing, rng = Packing(classes), stream(classes, "packing")
    g = min(packing.group, 12)
    left, right = (rng.integers(0, MODULUS, (g, classes)) for _ in range(2))
    p, q = packing.forward(left), packing.backward(right)
    places = packing.targets(g, g)
    assert places.max() < DEGREE
    for i, j in ((0, 0), (g - 1, 0), (0, g - 1), (g - 1, g - 1), (g // 2, g // 3)):
        k = int(places[i, j])
        exponents = np.arange(DEGREE)
        partner = (k - exponents) % DEGREE
        sign = np.where(k - exponents < 0, -1, 1)
        coefficient = sum(int(a) * int(b) * int(s) for a, b, s in zip(p, q[partner], sign, strict=True)) % MODULUS
        assert coefficient == sum(int(a) * int(b) for a, b in zip(left[i], right[j], strict=True)) % MODULUS


def test_products_modulo_the_prime():
    left, right = uniform(12).reshape(3, 4), uniform(8).reshape(2, 4)
    found = inner_products(left, right)
    for i in range(3):
        for j in range(2):
            assert found[i, j] == sum(int(a) * int(b) for a, b in zip(left[i], right[j], strict=True)) % MODULUS


def test_numbers_survive_packing_and_others_are_refused():
    numbers = np.array([0, 1, 255, 256, 65_536, MODULUS - 1])
    assert unpacked(packed(numbers)).tolist() == numbers.tolist()
    assert len(packed(numbers)) == 18
    with pytest.raises(InputError, match="not below the modulus"):
        residues((MODULUS).to_bytes(3, "little"), 1, PRIMES[:1])
    with pytest.raises(InputError, match="2 numbers, not 2 times 2 classes"):
        residues(bytes(6), 2, PRIMES)
    with pytest.raises(InputError, match="3 bytes each"):
        unpacked(b"1234")


def test_global_counts_from_shares():
    rows = some_counts(30, 10)
    selector, server = share_out(np.arange(30), rows, minimum=2)
    assert (selector.global_counts(server.sum_of_shares()) == rows.sum(axis=0)).all()


def test_one_more_sample_than_the_cap_is_refused():
    rows = some_counts(4, 3)
    rows[2, 1] += 1
    narrow = Keyholder(3, range(4), 2).terms
    for attempt in (lambda r: split(r[2], 2, narrow), lambda r: encrypted_gram(np.arange(4), r, 2)):
        with pytest.raises(InputError, match="client 2 holds more than 4,093 samples") as refusal:
            attempt(rows)
        assert "4094" not in str(refusal.value)


def test_larger_clients_take_a_second_prime():
    assert PRIMES[1] % (2 * DEGREE) == 1 and all(PRIMES[1] % d for d in range(2, 4095))
    most = cap(PRIMES)
    assert most**2 < PRIMES[0] * PRIMES[1] <= (most + 1) ** 2
    rows = some_counts(30, 10)
    rows[5] = rows[6] = 0
    rows[5, 3] = rows[6, 3] = most
    rows[7] = 1_000_003
    assert (shared_gram(rows) == rows @ rows.T).all()
    selector, server = share_out(np.arange(30), rows, minimum=2)
    assert (selector.global_counts(server.sum_of_shares()) == rows.sum(axis=0)).all()
    rows[5, 0] = 1
    with pytest.raises(InputError, match="client 5 holds more than 16,670,477 samples"):
        shared_gram(rows)


@pytest.mark.parametrize("number", [0, 1, PRIMES[0] - 1, PRIMES[0], PRIMES[1], PRIMES[0] * PRIMES[1] - 1, 10**14 + 7])
def test_numbers_from_two_residues(number):
    found = combined([np.array([number % prime]) for prime in PRIMES], PRIMES)
    assert found.tolist() == [number]


def test_every_mode_gives_the_same_inner_products():
    rows = some_counts(21, 10)
    clients = Clients(np.arange(21) * 3, label_counts=rows)
    plain = provide("plain", clients, ["label_gram", "num_examples"], seed=1)
    assert (plain["num_examples"] == rows.sum(axis=1)).all()
    for mode in ("shared", "fhe"):
        assert (provide(mode, clients, ["label_gram"], seed=1)["label_gram"] == plain["label_gram"]).all()
    noised = provide("dp:epsilon=2", clients, ["label_counts", "label_gram", "global_counts"], seed=1)
    hidden = provide("shared+dp:epsilon=2", clients, ["label_gram", "global_counts"], seed=1)
    assert (hidden["label_gram"] == noised["label_gram"]).all()
    assert (hidden["label_gram"] == noised["label_counts"] @ noised["label_counts"].T).all()
    assert (hidden["global_counts"] == noised["label_counts"].sum(axis=0)).all()
    assert (hidden["label_gram"] != plain["label_gram"]).any()


def test_rows_of_counts_are_not_given_where_they_are_protected():
    clients = Clients(range(21), label_counts=some_counts(21, 3))
    for mode in ("shared", "shared+dp", "fhe"):
        with pytest.raises(MissingSignal, match=r"does not give label_counts; it gives label_gram"):
            provide(mode, clients, ["label_counts"], seed=0)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("sharde", "did you mean 'shared'"),
        ("plain:epsilon=1", "no parameter 'epsilon'"),
        ("shared:epsilon=1", "it takes minimum"),
        ("dp:epsilon=0", "above 0"),
        ("dp:epsilon=nan", "must be a number"),
        ("dp:epsilon=inf", "finite"),
        ("shared+dp:epsilon", "needs a value"),
        ("shared:minimum=0", "at least 1"),
        ("", "expected name"),
    ],
)
def test_modes_that_are_none(spec, words):
    with pytest.raises(UsageError, match=words):
        parse_mode(spec)


def test_a_mode_can_be_typed_again():
    for spec in ("plain", "dp:epsilon=0.5", "shared:minimum=7", "shared+dp:epsilon=2,minimum=20", "fhe:minimum=3"):
        assert parse_mode(spec).spec == spec


def test_what_a_client_sends_is_small():
    selector, _ = share_out(np.arange(3), some_counts(4, 10)[:3], minimum=2)
    messages = split([CAP // 10] * 10, 2, selector.terms)
    assert sum(map(len, messages)) <= 1000


def test_cost_against_one_encrypted_product_per_pair():
    # N = 60, B = 10. The naive plan, one encrypted dot product for each pair, is timed on a sample of the 1830 pairs.
    # CPU time, so that a busy machine does not matter; the factor is about 200, the limit 50.
    import tenseal

    rows = some_counts(60, 10)
    start = time.process_time()
    shared_gram(rows)
    packed_cost = time.process_time() - start
    context = tenseal.context(tenseal.SCHEME_TYPE.BFV, 8192, MODULUS)
    context.generate_galois_keys()
    vectors = [tenseal.bfv_vector(context, row.tolist()) for row in rows[:5]]
    start = time.process_time()
    for i in range(5):
        assert vectors[i].dot(vectors[4 - i]).decrypt()[0] % MODULUS == rows[i] @ rows[4 - i]
    naive_cost = (time.process_time() - start) / 5 * (60 * 61 / 2)
    assert packed_cost < 2.0
    assert naive_cost > 50 * packed_cost


def test_two_hundred_clients_within_eight_seconds():
    rows = some_counts(200, 10)
    start = time.process_time()
    assert (shared_gram(rows) == rows @ rows.T).all()
    assert time.process_time() - start < 8.0
