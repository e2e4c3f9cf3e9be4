"""Fed-CBS in Flower with shares and noise: the same clients as with the same noise in the clear."""

from pathlib import Path

import flower_app
import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg

from callup import stream
from callup.core.errors import InputError, UsageError
from callup.flower import LocalGrid, Selecting, answer
from callup.flower.local import server_task
from callup.flower.sharing import collect, share
from callup.privacy.ledger import Ledger
from callup.privacy.selecting import SelectorParty
from callup.privacy.serving import ServerParty

pytest.importorskip("tenseal")
pytest.importorskip("opendp")
pytest.importorskip("cryptography")

CLIENTS, CLASSES, K, ROUNDS, SEED = 12, 5, 4, 5, 9
COUNTS = stream(8, "counts").integers(0, 60, (CLIENTS, CLASSES))


def plain_app() -> ClientApp:
    app = ClientApp()

    @app.train()
    def train(message, context):
        size = int(COUNTS[flower_app.who(context)].sum())
        same = ArrayRecord({"w": Array(message.content["arrays"]["w"].numpy())})
        return Message(RecordDict({"arrays": same, "m": MetricRecord({"num-examples": size})}), reply_to=message)

    return app


def counts_of(context):
    return COUNTS[flower_app.who(context)]


def size_of(context):
    return float(counts_of(context).sum())


def picks(grid, selector, before=lambda grid: None):
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), selector, k=K, seed=SEED)
    with server_task():
        before(grid)
        strategy.start(grid, ArrayRecord({"w": Array(np.zeros(2, np.float32))}), num_rounds=ROUNDS)
    return [record["asked"] for record in strategy.history]


def sharing_app(folder: Path, pin: str | None, **changes) -> ClientApp:
    app = answer(plain_app(), num_examples=size_of)
    how = {"epsilon": 0.5, "ledger": lambda context: ledger_of(folder, context), "version": "v1"} | changes
    return share(app, label_counts=counts_of, pinned=pin, **how)


def ledger_of(folder, context):
    who = flower_app.who(context)
    return Ledger(folder / str(who), who)


def parties(minimum=CLIENTS):
    selector = SelectorParty("fed-cbs", CLASSES, range(CLIENTS), SEED, minimum, sealed=True)
    return selector, ServerParty("fed-cbs", selector.answer)


def test_shared_and_noised_picks_as_noised_in_the_clear(tmp_path):
    selector, server = parties()
    grid = LocalGrid(sharing_app(tmp_path, selector.address), CLIENTS, seed=1)
    hidden = picks(grid, server.selector, lambda grid: collect(grid, server))

    # The same releases, from the clients' ledgers, this time shown to the server.
    def released(context):
        return ledger_of(tmp_path, context).released("v1")

    clear = picks(LocalGrid(answer(plain_app(), label_counts=released), CLIENTS, seed=1), "fed-cbs")
    assert hidden == clear and len({tuple(p) for p in hidden}) > 2
    noised = np.stack([Ledger(tmp_path / str(i), i).released("v1") for i in range(CLIENTS)])
    assert (noised != COUNTS).any() and (noised.sum(axis=1) == COUNTS.sum(axis=1)).all()


def test_nothing_readable_passes_through_the_server(tmp_path):
    selector, server = parties()
    grid = LocalGrid(sharing_app(tmp_path, selector.address, epsilon=None, ledger=None), CLIENTS, seed=1)
    heard = []
    pull = grid.pull_messages
    grid.pull_messages = lambda ids: [heard.append(m) or m for m in pull(ids)]
    picks(grid, server.selector, lambda grid: collect(grid, server))
    told = [m.content["callup"] for m in heard if m.has_content() and "callup" in m.content]
    shares = [note for note in told if "for-server" in note]
    assert len(shares) == CLIENTS
    assert all(len(note["for-server"]) + len(note["for-selector"]) <= 1000 for note in shares)
    assert not [note for note in told if "label_counts" in note]


def test_a_client_that_was_told_another_key_sends_nothing(tmp_path):
    _, server = parties()
    grid = LocalGrid(sharing_app(tmp_path, pin="00" * 32), CLIENTS, seed=1)
    with server_task(), pytest.raises(InputError, match="statistics of 0 clients together are not computed"):
        collect(grid, server, seconds=5)


@pytest.mark.parametrize("pin", [None, "", 7])
def test_a_client_must_know_the_selectors_key(tmp_path, pin):
    with pytest.raises(UsageError, match="share needs pinned"):
        sharing_app(tmp_path, pin)


def test_shares_that_are_not_sealed_are_not_sent(tmp_path):
    selector = SelectorParty("fed-cbs", CLASSES, range(CLIENTS), SEED, 2, sealed=False)
    server = ServerParty("fed-cbs", selector.answer)
    grid = LocalGrid(sharing_app(tmp_path, pin="00" * 32), CLIENTS, seed=1)
    with server_task(), pytest.raises(InputError, match="statistics of 0 clients"):
        collect(grid, server, seconds=5)


def test_a_misspelt_setting_of_share_is_named(tmp_path):
    with pytest.raises(UsageError, match="share has no parameter 'epsilom'; did you mean 'epsilon'"):
        sharing_app(tmp_path, "00" * 32, epsilom=1.0)


def test_too_few_nodes_fail(tmp_path):
    selector, server = parties()
    grid = LocalGrid(sharing_app(tmp_path, selector.address), CLIENTS - 1, seed=1)
    with server_task(), pytest.raises(InputError, match="statistics of 11 clients"):
        collect(grid, server, seconds=1)
