"""One party as a process of its own; the test starts several. Facts come as a JSON line on stdin, answers go to stdout.

selector: holds the key. server: multiplies and asks for cohorts. client: sends its shares and keeps its counts.
Each lives until its stdin ends.
"""

import functools
import json
import sys
import threading

import numpy as np

from callup.core.clients import Clients
from callup.core.types import Feedback, Plan, Round
from callup.privacy.loopback import Listener, exchange
from callup.privacy.sharing import split
from callup.privacy.terms import Terms
from callup.privacy.wire import Message


def say(**facts):
    print(json.dumps(facts), flush=True)


def listen(answer):
    listener = Listener(answer)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    return listener.address


def selector(facts):
    from callup.privacy.selecting import SelectorParty

    party = SelectorParty(facts["spec"], facts["classes"], facts["roster"], facts["seed"], facts["minimum"], True)
    secret = party._keys._keys[0]._decryptor  # held here; the test looks for it at the server by its type
    say(address=listen(party.answer), pin=party.address, decryptor=type(secret).__name__)


def server(facts):
    from callup.privacy.serving import ServerParty

    party = ServerParty(facts["spec"], functools.partial(exchange, tuple(facts["selector"])))
    sizes = Clients(facts["ids"], num_examples=facts["sizes"])

    def answer(data):
        message = Message.decode(data, Message.kind_of(data))
        if message.kind == "terms please":
            return party.client_terms
        if message.kind == "for the selector":
            party.pass_on(message.blobs[0])
            return Message("thanks").encode()
        if message.kind == "share":
            return Message("thanks", {"client": party.take(data)}).encode()
        if message.kind == "begin":
            ready = party.compute()
            party.selector.start(sizes, Plan(message.number("k"), None, None), np.random.default_rng())
            return Message("begun", {"ids": ready}).encode()
        index = message.number("round")
        now = Round(index, message.numbers("available"), sizes, np.random.default_rng())
        chosen = party.selector.select(now, message.number("k")).ids
        party.selector.update(Feedback(index, chosen, {}, sizes))
        return Message("chosen", {"ids": chosen.tolist()}).encode()

    say(address=listen(answer))
    import gc

    sys.stdin.readline()  # the test asks what is here
    kinds = sorted({type(thing).__name__ for thing in gc.get_objects()} | {type(v).__name__ for v in _held(party)})
    try:
        party._multiplier._keys[0].decrypt(b"", np.arange(1))
        outcome = "decrypts"
    except AttributeError as error:
        outcome = type(error).__name__
    say(kinds=kinds, decrypting=outcome)


def _held(party):
    """Everything that hangs on the party, also what the garbage collector does not track."""
    seen, left = [], [party]
    while left:
        thing = left.pop()
        if any(thing is other for other in seen):
            continue
        seen.append(thing)
        if hasattr(thing, "__dict__"):
            left += vars(thing).values()
        if isinstance(thing, dict):
            left += thing.values()
        if isinstance(thing, (list, tuple)):
            left += thing
    return seen


def client(facts):
    counts = np.array(facts["counts"], np.int64)
    where = tuple(facts["server"])
    terms = Terms.decode(exchange(where, Message("terms please").encode()))
    for_server, for_selector = split(counts, facts["id"], terms, facts["pin"])
    exchange(where, for_server)
    exchange(where, Message("for the selector", {}, (for_selector,)).encode())
    say(sent=len(for_server) + len(for_selector), libraries=[m for m in ("tenseal", "opendp") if m in sys.modules])
    return counts


if __name__ == "__main__":
    role = {"selector": selector, "server": server, "client": client}[sys.argv[1]]
    kept = role(json.loads(sys.stdin.readline()))
    sys.stdin.read()
