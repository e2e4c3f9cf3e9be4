"""When something is missing or wrong there is an error, never a weaker protection; and the code keeps its own rules."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest

import callup.privacy
from callup import Clients, stream
from callup.core.errors import InputError, MissingSignal, UsageError
from callup.core.types import Round
from callup.privacy import provide
from callup.privacy.fhe import PaperClient, PaperSelector, PaperServer
from callup.privacy.multiplier import Multiplier
from callup.privacy.packing import Packing
from callup.privacy.provide import share_out
from callup.privacy.remote import RemoteSelector
from callup.privacy.sealing import SealedBox, seal
from callup.privacy.selecting import SelectorParty, check_sizes
from callup.privacy.serving import ServerParty
from callup.privacy.sharing import Shares, split
from callup.privacy.terms import Terms
from callup.privacy.wire import Message

pytest.importorskip("tenseal")
pytest.importorskip("cryptography")

ROWS = np.arange(60).reshape(20, 3)


@pytest.fixture
def pair():
    return share_out(np.arange(20), ROWS, minimum=20)


@pytest.mark.parametrize("mode", ["shared", "shared+dp", "fhe"])
def test_without_tenseal_nothing_is_given(mode, monkeypatch):
    monkeypatch.setitem(sys.modules, "tenseal.sealapi", None)
    with pytest.raises(InputError, match=r"needs tenseal, which is not installed; run: pip install 'callup\[he\]'"):
        provide(mode, Clients(range(20), label_counts=ROWS), ["label_gram"], seed=0)


def test_without_cryptography_no_share_is_sealed(monkeypatch):
    address = SealedBox().address
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.x25519", None)
    with pytest.raises(InputError, match="needs cryptography"):
        seal(b"share", address, "context")


def test_too_few_clients():
    clients = Clients(range(19), label_counts=ROWS[:19])
    for mode in ("shared", "shared+dp", "fhe"):
        with pytest.raises(InputError, match="statistics of 19 clients together are not computed: the minimum is 20"):
            provide(mode, clients, ["label_gram"], seed=0)
    assert provide("shared:minimum=19", clients, ["label_gram"], seed=0)["label_gram"].shape == (19, 19)


def test_too_few_of_those_invited_came(pair):
    selector, _ = pair
    server = Multiplier(selector.invitation())
    for client in range(19):
        server.shares.take(split(ROWS[client], client, selector.terms)[0])
    with pytest.raises(InputError, match="statistics of 19 clients"):
        selector.encrypted_shares(server.present())
    with pytest.raises(InputError, match="statistics of 19 clients"):
        server.sum_of_shares()


def test_who_is_here_at_one_party_only_is_left_out():
    selector, _ = share_out(np.arange(20), ROWS, minimum=5)
    server = Multiplier(selector.invitation())
    for client in (0, 3, 4, 9, 12, 17):
        server.shares.take(split(ROWS[client], client, selector.terms)[0])
    found = Message.decode(selector.encrypted_shares(server.present()), "encrypted shares")
    assert found.numbers("ids") == [0, 3, 4, 9, 12, 17]


def test_stale_keys_and_strangers(pair):
    selector, server = pair
    old = Terms.fresh(3, range(20), 20)
    with pytest.raises(InputError, match=r"client 3 used a key that is not in use \(any more\)"):
        Shares(selector.terms).take(split(ROWS[3], 3, old)[0])
    with pytest.raises(InputError, match="client 77 is not on the roster"):
        Shares(selector.terms).take(split(ROWS[3], 77, selector.terms)[0])
    with pytest.raises(InputError, match="client 3 sent a second share"):
        server.shares.take(split(ROWS[3], 3, selector.terms)[0])
    other = share_out(np.arange(20), ROWS, minimum=20)[1]
    with pytest.raises(InputError, match="the server used a key"):
        selector.encrypted_shares(other.present())
    with pytest.raises(InputError, match="there is no share of client 20"):
        server.shares.rows(range(21))


def test_the_papers_topology_refuses_the_same():
    selector = PaperSelector(3, range(20), 20)
    server = PaperServer(selector.invitation())
    client = PaperClient(1, selector.client_key())
    server.take(client.encrypt([1, 2, 3]))
    with pytest.raises(InputError, match="client 1 sent a second ciphertext"):
        server.take(client.encrypt([1, 2, 3]))
    with pytest.raises(InputError, match="client 44 is not on the roster"):
        server.take(PaperClient(44, selector.client_key()).encrypt([1, 2, 3]))
    with pytest.raises(InputError, match="client 2 used a key"):
        server.take(PaperClient(2, PaperSelector(3, range(20), 20).client_key()).encrypt([1, 2, 3]))
    with pytest.raises(InputError, match="statistics of 1 clients"):
        server.tiles()
    with pytest.raises(InputError, match="has counts of 2 classes, the federation has 3"):
        client.encrypt([1, 2])


@pytest.mark.parametrize("counts", [[-1, 0, 0], [0.5, 0, 0], [np.nan, 0, 0], [4094, 0, 0], [1, 2], [[1, 2, 3]], ["a"]])
def test_counts_out_of_range(counts):
    with pytest.raises(InputError, match="client 3"):
        split(counts, 3, Terms.fresh(3, range(20), 20))


def test_sealed_shares():
    terms = Terms.fresh(3, range(20), 20, SealedBox().address)
    with pytest.raises(InputError, match="client 3: the terms name another sealing key than the selector's"):
        split(ROWS[3], 3, terms, pinned=SealedBox().address)
    with pytest.raises(InputError, match="sealing key in the terms is none"):
        split(ROWS[3], 3, Terms.fresh(3, range(20), 20, "not a key"))
    box = SealedBox()
    sealed = seal(b"share", box.address, "client 3")
    assert box.open(sealed, "client 3") == b"share" and b"share" not in sealed
    for data, context in ((sealed, "client 4"), (sealed[:-1] + b"x", "client 3"), (b"", "client 3"), (sealed[:40], "")):
        with pytest.raises(InputError, match="cannot be opened"):
            box.open(data, context)
    with pytest.raises(InputError, match="cannot be opened"):
        SealedBox().open(sealed, "client 3")


@pytest.mark.parametrize(
    "data",
    [b"", b"CUP1", b"X" + Message("share").encode()[1:], b"CUP1" + bytes(20), Message("other").encode()]
    + [Message("share", {"client": 1, "key": ""}, (b"abc",)).encode()[:-1]]
    + [Message("share", {"client": value, "key": "k"}, (b"abc",)).encode() for value in (-1, 1.5, "1", True, None)],
)
def test_bytes_that_are_no_share(data):
    shares = Shares(Terms.fresh(1, range(20), 20))
    with pytest.raises(InputError):
        shares.take(data)
    assert shares.ids == []


def test_damaged_ciphertexts(pair):
    selector, server = pair
    encrypted = Message.decode(selector.encrypted_shares(server.present()), "encrypted shares")
    for blob in (b"", b"junk", encrypted.blobs[0][:-10]):
        with pytest.raises(InputError, match="cannot be read"):
            server.tiles(Message("encrypted shares", encrypted.facts, (blob, encrypted.blobs[1])).encode())
    with pytest.raises(InputError, match="1 ciphertexts where 2 were expected"):
        server.tiles(Message("encrypted shares", encrypted.facts, encrypted.blobs[:1]).encode())
    tiles = Message.decode(server.tiles(encrypted.encode()), "tiles")
    with pytest.raises(InputError, match="0 tiles where 1 were expected"):
        selector.gram(Message("tiles", tiles.facts).encode())


def changed(data, rng):
    """A few bits turned, most often near the start, and sometimes the end cut off."""
    out = bytearray(data)
    for place in set(rng.integers(0, rng.choice([100, len(out)]), rng.integers(1, 5)).tolist()):
        out[place] ^= 1 << int(rng.integers(8))
    return bytes(out[: len(out) if rng.random() < 0.8 else int(rng.integers(len(out)))])


def test_messages_that_were_changed_on_their_way_are_refused(pair):
    selector, server = pair
    whole, rng = server.tiles(selector.encrypted_shares(server.present())), stream(1, "fuzz")
    for _ in range(200):
        with pytest.raises(InputError):
            selector.gram(changed(whole, rng))


def test_a_changed_ciphertext_crashes_nothing(pair):
    # By somebody who knows how messages are made: an error or a result, right or wrong, as no ciphertext of this kind
    # can tell. Hence the channel between server and selector must be a secured one.
    selector, server = pair
    tiles = Message.decode(server.tiles(selector.encrypted_shares(server.present())), "tiles")
    rng, refused = stream(2, "fuzz"), 0
    for _ in range(60):
        try:
            _, found = selector.gram(Message("tiles", tiles.facts, (changed(tiles.blobs[0], rng),)).encode())
            assert found.shape == (20, 20)
        except InputError:
            refused += 1
    assert refused > 20


def test_a_selector_party_runs_only_what_it_can_feed():
    with pytest.raises(
        MissingSignal, match="fedemd, run by a selector that sees inner products alone, needs label_counts"
    ):
        SelectorParty("fedemd", 3, range(20), seed=0)
    with pytest.raises(MissingSignal, match="oort, run by a selector"):
        SelectorParty("oort", 3, range(20), seed=0)
    party = SelectorParty("fedemd-l2", 3, range(20), seed=0)
    with pytest.raises(InputError, match="has no inner products yet"):
        party.answer(Message("start", {"ids": [], "sizes": [], "k": 3, "rounds": 0}).encode())
    with pytest.raises(InputError, match="was not started"):
        party.answer(Message("select", {"round": 1, "available": [], "k": 3}).encode())


def test_a_size_that_the_shares_contradict_is_refused():
    rows = np.array([[4, 0], [2, 2]])
    gram = rows @ rows.T
    check_sizes(np.array([5, 6]), gram, np.array([4.0, 4.0]), 2)
    # 16 = 4^2 of one class; a size of 3 is too small for it, and 6 too large: even spread evenly it would give 18.
    for wrong in (3.0, 6.0):
        with pytest.raises(InputError, match="client 5: its size and its shares do not belong together"):
            check_sizes(np.array([5, 6]), gram, np.array([wrong, 4.0]), 2)


def test_a_remote_selector_is_not_continued_with_half_of_its_state():
    selector = SelectorParty("fed-cbs", 3, range(20), seed=0)
    with pytest.raises(InputError, match="fed-cbs runs at a party of its own cannot be continued"):
        ServerParty("fed-cbs", selector.answer).selector.load({})


@pytest.mark.parametrize("parts", [[0, 0], [3], [0, 7], [-1, 2], [0.5, 0.5]])
def test_weights_that_make_no_sense_are_refused(parts):
    chosen = Message("chosen", {"ids": [1, 2], "parts": parts, "whole": 1}).encode()
    now = Round(1, [1, 2], Clients([1, 2], num_examples=[5, 5]), stream(0, "select"))
    with pytest.raises(InputError, match=r"weights that do not fit|no list of whole numbers 'parts'"):
        RemoteSelector("lineup", lambda _: chosen).select(now, 2)


def test_more_clients_than_there_is_time_for():
    with pytest.raises(InputError, match="up to 5,000 clients, this federation has 5,001"):
        Terms.fresh(3, range(5001), 20)


def test_more_classes_than_fit():
    with pytest.raises(UsageError, match="up to 2048 classes, got 2049"):
        Packing(2049)


# The rules of the code itself.

FOLDER = Path(callup.privacy.__file__).parent
NOT_SECRET = {
    "simulated.py": "noise that can be drawn again, for simulations",
    "selecting.py": "draws of the selection itself, as every selector has them",
    "remote.py": "a generator in the signature of `start`, which it does not use",
}
SECURITY = [path for path in sorted(FOLDER.glob("*.py")) if path.name not in NOT_SECRET]


def names_in(path):
    """Every module imported and every attribute spelled out, e.g. numpy.random and np.random."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, (ast.Attribute, ast.Name)):
            yield ast.unparse(node)


@pytest.mark.parametrize("path", SECURITY, ids=lambda path: path.name)
def test_no_ordinary_randomness_in_security_code(path):
    banned = ("random", "numpy.random", "np.random", "callup.core.randomness")
    assert not [name for name in names_in(path) if name in banned or name.startswith(tuple(f"{b}." for b in banned))]


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.name)
def test_nothing_is_logged_printed_or_pickled(path):
    banned = {"logging", "pickle", "print", "shelve", "marshal", "warnings"}
    assert not banned & {name.split(".")[0] for name in names_in(path)}


def test_the_lint_sees_what_it_should():
    found = set(names_in(FOLDER / "simulated.py"))
    assert "callup.core.randomness" in found and "np.random.Generator" in found
    assert len(SECURITY) > 15
