"""What each party sees: uniform shares, fresh ciphertexts, masked coefficients, and no way to decrypt at the server.

The randomness is the system's, so these tests draw anew each time. Each chi-square test raises a wrong alarm with a
chance of about 3e-9; there are about a dozen.
"""

import copy
import pickle

import numpy as np
import pytest

from callup import stream
from callup.core.errors import InputError
from callup.privacy.bfv import PublicSide
from callup.privacy.field import MODULUS, uniform, unpacked
from callup.privacy.packing import DEGREE, Packing
from callup.privacy.provide import share_out
from callup.privacy.secret import SecretSide
from callup.privacy.sharing import split
from callup.privacy.terms import Terms
from callup.privacy.wire import Message

pytest.importorskip("tenseal")


def looks_uniform(numbers, cells=64):
    """Pearson's statistic over equal cells: mean cells - 1, variance 2 (cells - 1) when uniform."""
    counts = np.bincount(np.asarray(numbers, np.int64) * cells // MODULUS, minlength=cells)
    expected = len(numbers) / cells
    statistic = ((counts - expected) ** 2 / expected).sum()
    # Chi-square with 63 degrees of freedom is above 63 + 8 sqrt(126) = 153 with a chance of 3e-9 (by the cube-root
    # approximation), and below 63 - 5 sqrt(126) = 7 with a far smaller one.
    return cells - 1 - 5 * np.sqrt(2 * (cells - 1)) < statistic < cells - 1 + 8 * np.sqrt(2 * (cells - 1))


def test_the_check_itself_tells_uniform_from_not():
    assert looks_uniform(uniform(20_000))
    assert not looks_uniform(uniform(20_000) // 2)
    assert not looks_uniform(np.minimum(uniform(20_000), uniform(20_000)))


def test_each_share_is_uniform_whatever_the_counts():
    # 2000 sharings of one row of counts; either share alone.
    terms = Terms.fresh(10, range(30), 20)
    shares = [split([400, 0, 3, 0, 0, 0, 0, 0, 0, 90], 1, terms) for _ in range(2000)]
    for side in (0, 1):
        rows = np.stack([unpacked(Message.decode(pair[side], "share").blobs[0]) for pair in shares])
        assert looks_uniform(rows.ravel())
        assert looks_uniform(rows[:, 0]) and looks_uniform(rows[:, 1])
    first, second = (unpacked(Message.decode(message, "share").blobs[0]) for message in shares[0])
    assert ((first + second) % MODULUS).tolist() == [400, 0, 3, 0, 0, 0, 0, 0, 0, 90]


def test_equal_inputs_give_different_messages():
    terms = Terms.fresh(3, range(30), 20)
    assert split([1, 2, 3], 1, terms) != split([1, 2, 3], 1, terms)
    keys = SecretSide()
    row = np.zeros(DEGREE, np.int64)
    first, second = keys.encrypt(row), keys.encrypt(row)
    assert first != second
    places = np.arange(4)
    assert keys.decrypt(first, places).tolist() == keys.decrypt(second, places).tolist() == [0, 0, 0, 0]


def test_all_coefficients_but_the_targets_are_masked():
    # The same counts twice. Unmasked, the other coefficients would be the same small shifted correlations both times.
    rng = stream(3, "tiles")
    rows = rng.integers(0, 400, (28, 10))
    everything = np.arange(DEGREE)
    packing = Packing(10)
    targets = packing.targets(28, 28).ravel()
    others = np.setdiff1d(everything, targets)
    decrypted = []
    for _ in range(2):
        selector, server = share_out(np.arange(28), rows, minimum=2)
        tiles = Message.decode(server.tiles(selector.encrypted_shares(server.present())), "tiles")
        own = selector.shares.rows(range(28))[0]
        ours = product(packing.forward(own), packing.backward(own))
        # What the selector could know of the shifted correlations: it adds its own share of every coefficient.
        decrypted.append((selector._keys[0].decrypt(tiles.blobs[0], everything) + ours) % MODULUS)
    truth = product(packing.forward(rows), packing.backward(rows))
    for found in decrypted:
        assert (found[targets] == truth[targets]).all()
        assert looks_uniform(found[others])
        assert looks_uniform((found[others] - truth[others]) % MODULUS)
    assert looks_uniform((decrypted[0] - decrypted[1])[others] % MODULUS)
    assert not looks_uniform(truth[others])


def product(p, q):
    """P times Q modulo X^n + 1 and the prime, with whole numbers: split into halves so that nothing overflows."""
    out = np.zeros(DEGREE, np.int64)
    for place in np.flatnonzero(p):
        turned = np.concatenate([-q[DEGREE - place :], q[: DEGREE - place]])
        out = (out + int(p[place]) * turned) % MODULUS
    return out


def test_the_error_of_a_tile_does_not_tell_the_shares_apart():
    # Drowned: a tile of zero shares, whose own error is nil, and one of full shares leave the same room.
    keys = SecretSide()
    public = PublicSide(keys.public_key)
    places = Packing(10).targets(28, 28)
    rooms = []
    for row in (np.zeros(DEGREE, np.int64), uniform(DEGREE)):
        cipher = public.ciphertext(public.encrypt(row))
        closed = public.closed([public.times_plain(cipher, public.polynomial(row))], places, np.zeros(places.shape))
        rooms.append(keys._decryptor.invariant_noise_budget(keys.ciphertext(closed)))
    assert abs(rooms[0] - rooms[1]) <= 1 and min(rooms) >= 5


def test_the_server_cannot_decrypt():
    selector, server = share_out(np.arange(20), np.ones((20, 3), np.int64), minimum=20)
    encrypted = Message.decode(selector.encrypted_shares(server.present()), "encrypted shares").blobs[0]
    with pytest.raises(AttributeError):
        server._keys[0].decrypt(encrypted, np.arange(3))
    # A key of its own making does not help: what was made for another key is refused, not read wrongly.
    with pytest.raises(InputError, match="made for another, or damaged"):
        SecretSide().decrypt(encrypted, np.arange(3))
    assert not [name for name in vars(server._keys[0]) if "secret" in name or "decrypt" in name]


def test_a_tile_for_another_key_is_refused():
    selector, server = share_out(np.arange(20), np.ones((20, 3), np.int64), minimum=20)
    tiles = Message.decode(server.tiles(selector.encrypted_shares(server.present())), "tiles")
    other, _ = share_out(np.arange(20), np.ones((20, 3), np.int64), minimum=20)
    with pytest.raises(InputError, match="the server used a key that is not in use"):
        other.gram(tiles.encode())
    renamed = Message("tiles", {**tiles.facts, "key": other.terms.key}, tiles.blobs)
    with pytest.raises(InputError, match="made for another, or damaged"):
        other.gram(renamed.encode())


def test_nothing_secret_is_printed_or_pickled():
    selector, server = share_out(np.arange(20), np.full((20, 3), 1234), minimum=20)
    for thing in (selector, server, selector.shares, server.shares, selector._keys[0], server._keys[0]):
        assert "1234" not in repr(thing) and "array" not in repr(thing)
        for copier in (pickle.dumps, copy.deepcopy):
            with pytest.raises(TypeError, match="never pickled"):
                copier(thing)
    message = Message.decode(split([1234, 0, 0], 1, selector.terms)[0], "share")
    assert repr(message) == "Message(share, 1 blobs)"


def test_a_lying_client_is_named():
    # Its counts are not counts: inner products then break the inequality of Cauchy and Schwarz.
    selector, server = share_out(np.arange(20), np.full((20, 3), 100), minimum=20)
    row = selector.shares._rows[7]
    selector.shares._rows[7] = (row + np.array([5_000_000, 1, 0])) % MODULUS
    with pytest.raises(InputError, match="client 7 fit no label counts"):
        selector.gram(server.tiles(selector.encrypted_shares(server.present())))
