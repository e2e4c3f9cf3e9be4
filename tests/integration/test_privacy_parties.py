"""Server, selector and clients as real processes: the cohort is the one in the clear, and the server holds nothing.

The test reads the server's memory and looks for clients' counts; that it would find them is shown on a client.
"""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import callup
from callup import Clients, stream
from callup.core.errors import InputError
from callup.core.types import Feedback, Plan, Round
from callup.privacy.loopback import exchange
from callup.privacy.selecting import SelectorParty
from callup.privacy.serving import ServerParty
from callup.privacy.sharing import split
from callup.privacy.terms import Terms
from callup.privacy.wire import Message

pytest.importorskip("tenseal")
pytest.importorskip("cryptography")

PARTY = Path(__file__).with_name("privacy_party.py")
SEED, CLASSES, CLIENTS, K = 11, 10, 8, 3
COUNTS = stream(5, "counts").integers(20, 400, (CLIENTS, CLASSES))


class Party:
    def __init__(self, role, **facts):
        self.process = subprocess.Popen(
            [sys.executable, str(PARTY), role], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.say(facts)

    def say(self, facts):
        self.process.stdin.write(json.dumps(facts) + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        assert line, "the party ended without a word"
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(30)


def memory_holds(pid, *patterns):
    """Which of these byte strings are somewhere in the process's memory."""
    found = set()
    with Path(f"/proc/{pid}/maps").open() as maps, Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in maps:
            span, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            start, end = (int(part, 16) for part in span.split("-"))
            with contextlib.suppress(OSError, ValueError, OverflowError):
                memory.seek(start)
                block = memory.read(end - start)
                found |= {pattern for pattern in patterns if pattern in block}
    return found


def as_bytes(row):
    """A row of counts as a program would hold it: three kinds of numbers, and text."""
    return [*(row.astype(kind).tobytes() for kind in ("<i8", "<f8", "<i4")), ", ".join(map(str, row)).encode()]


@pytest.fixture(scope="module")
def parties():
    with contextlib.ExitStack() as stack:

        def start(role, **facts):
            party = Party(role, **facts)
            stack.callback(party.close)
            return party

        ids = list(range(CLIENTS))
        shared = {"spec": "fed-cbs", "classes": CLASSES, "roster": ids, "seed": SEED, "minimum": CLIENTS}
        selector = start("selector", **shared)
        known = selector.hear()
        sizes = COUNTS.sum(axis=1).tolist()
        server = start("server", spec="fed-cbs", selector=known["address"], ids=ids, sizes=sizes)
        address = tuple(server.hear()["address"])
        clients = [
            start("client", id=i, counts=COUNTS[i].tolist(), server=address, pin=known["pin"]) for i in range(CLIENTS)
        ]
        sent = [client.hear() for client in clients]
        begun = Message.decode(exchange(address, Message("begin", {"k": K}).encode()), "begun")
        assert begun.numbers("ids") == ids
        yield {"server": server, "address": address, "clients": clients, "sent": sent, "selector": known}


def cohort(address, index, available):
    facts = {"round": index, "available": available, "k": K}
    return Message.decode(exchange(address, Message("pick", facts).encode()), "chosen").numbers("ids")


def test_the_same_clients_are_picked_as_in_the_clear(parties):
    plain = callup.selector("fed-cbs")
    clients = Clients(range(CLIENTS), label_counts=COUNTS)
    plain.start(clients, Plan(K, None, CLASSES), stream(SEED, "start", "selector"))
    seen = set()
    for index in range(1, 9):
        available = [i for i in range(CLIENTS) if (i + index) % 4]
        wanted = plain.select(Round(index, available, clients, stream(SEED, "select", index)), K).ids
        plain.update(Feedback(index, wanted, {}, clients))
        assert cohort(parties["address"], index, available) == wanted.tolist()
        seen.add(tuple(wanted))
    assert len(seen) > 2


def test_weights_come_along_rounded():
    counts = COUNTS.copy()
    counts[2:, 0] = 0  # two clients own a class, and count for more
    selector = SelectorParty("lineup", CLASSES, range(CLIENTS), SEED, CLIENTS)
    server = ServerParty("lineup", selector.answer)
    terms = Terms.decode(server.client_terms)
    for client in range(CLIENTS):
        own, other = split(counts[client], client, terms)
        server.take(own)
        selector.answer(other)
    server.compute()
    sizes = Clients(range(CLIENTS), num_examples=counts.sum(axis=1))
    server.selector.start(sizes, Plan(K, 9), stream(0, "unused"))
    plain = callup.selector("lineup")
    clients = Clients(range(CLIENTS), label_gram=counts @ counts.T, num_examples=counts.sum(axis=1))
    plain.start(clients, Plan(K, 9, CLASSES), stream(SEED, "start", "selector"))
    for index in range(1, 9):
        now = Round(index, range(CLIENTS), clients, stream(SEED, "select", index))
        wanted, told = plain.select(now, K), server.selector.select(now, K)
        assert told.ids.tolist() == wanted.ids.tolist()
        assert told.of_models and wanted.of_models
        assert told.whole == wanted.whole == (index > 0.6 * 9)
        assert told.weights == pytest.approx(wanted.weights, abs=0.011 / K)
        assert not np.array_equal(told.weights, wanted.weights)
        plain.update(Feedback(index, wanted.ids, {}, clients))
        server.selector.update(Feedback(index, told.ids, {}, sizes))


def test_clients_send_little_and_need_no_encryption_library(parties):
    for sent in parties["sent"]:
        assert sent["sent"] <= 1000 and sent["libraries"] == []


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_server_holds_no_count(parties):
    client = parties["clients"][3].process.pid
    if not memory_holds(client, as_bytes(COUNTS[3])[0]):
        pytest.skip("this machine does not let a process read another's memory")
    some = COUNTS[:2]  # two clients, everybody together, and a row of S; more would take minutes to look for
    patterns = [pattern for row in (*some, COUNTS.sum(axis=0)) for pattern in as_bytes(row)[:3]]
    patterns += [as_bytes(some[0])[-1], (COUNTS @ COUNTS[0]).astype("<i8").tobytes()]
    assert memory_holds(parties["server"].process.pid, *patterns) == set()


def test_the_server_holds_no_key_that_decrypts(parties):
    parties["server"].say({})
    told = parties["server"].hear()
    kinds = told["kinds"]
    assert told["decrypting"] == "AttributeError"
    assert "PublicSide" in kinds and "Encryptor" in kinds  # it does look inside
    assert parties["selector"]["decryptor"] == "Decryptor"
    assert not {"Decryptor", "SecretKey", "KeyGenerator", "SecretSide", "Keyholder", "SealedBox"} & set(kinds)


def test_refusals_reach_the_sender(parties):
    terms = Terms.decode(exchange(parties["address"], Message("terms please").encode()))
    with pytest.raises(InputError, match="client 0 sent a second share"):
        exchange(parties["address"], split(COUNTS[0], 0, terms)[0])
    with pytest.raises(InputError, match="client 99 is not on the roster"):
        exchange(parties["address"], split(COUNTS[0], 99, terms)[0])
    with pytest.raises(InputError, match="the selector knows no message"):
        exchange(tuple(parties["selector"]["address"]), Message("give me the counts").encode())
    with pytest.raises(InputError, match="no answer from"):
        exchange(("127.0.0.1", 1), b"", timeout=1)
