"""Fed-CBS on a SuperLink with three SuperNodes, the selector a process of its own: shares, noise, and the same picks.

Processes are started once and ended by their ids. On two idle cores it takes about a minute.
"""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg

from callup.flower import LocalGrid, Selecting, answer
from callup.flower.local import server_task
from callup.privacy.ledger import Ledger

pytest.importorskip("tenseal")
pytest.importorskip("opendp")
pytest.importorskip("cryptography")
pytestmark = pytest.mark.timeout(900)

ROOT = Path(__file__).parents[2]
APP = ROOT / "examples" / "flower-shares"
NODES, ROUNDS, PATIENCE = 3, 3, 500.0


def asked(folder):
    return [json.loads(line)["asked"] for line in (folder / "events.jsonl").read_text().splitlines()]


def test_shares_and_noise_in_a_real_federation(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "flower"))
    federation = importlib.import_module("federation").Federation
    selector = subprocess.Popen(
        [sys.executable, str(APP / "selector.py"), str(NODES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        told = json.loads(selector.stdout.readline())
        for name, value in {"LEDGER": tmp_path / "ledgers", "EPSILON": 0.5, "SELECTOR_KEY": told["key"]}.items():
            monkeypatch.setenv(name, str(value))
        with federation(NODES) as here:
            where = {"run": str(tmp_path / "shared"), "selector_at": told["selector-at"]}
            number = here.submit(APP, num_server_rounds=ROUNDS, **where)
            ended = here.wait(number, PATIENCE)
            said = here.flwr("log", str(number), "here", "--show")
    finally:
        selector.stdin.close()
        selector.wait(30)
        selector.stdout.close()
    assert ended == "finished:completed" and "inner products of 3 clients" in said, said
    ledgers = [Ledger(tmp_path / "ledgers" / str(client), client) for client in range(NODES)]
    assert all(ledger.versions == ["2026-11"] and ledger.spent == pytest.approx(0.5) for ledger in ledgers)
    # The same releases shown to the server, in one process.
    rows = [ledger.released("2026-11") for ledger in ledgers]
    in_the_clear(rows, tmp_path / "clear")
    assert asked(tmp_path / "shared") == asked(tmp_path / "clear")
    assert len(asked(tmp_path / "shared")) == ROUNDS
    # What the server wrote down holds no counts; in the clear it does, so they would be found.
    written, shown = (
        b"".join(path.read_bytes() for path in (tmp_path / name).rglob("*") if path.is_file())
        for name in ("shared", "clear")
    )
    patterns = [row.astype(np.float64).tobytes() for row in rows]
    assert not any(pattern in written for pattern in patterns)
    assert any(pattern in shown for pattern in patterns)


def in_the_clear(rows, folder):
    app = ClientApp()

    @app.train()
    def train(message, context):
        size = int(rows[int(context.node_config["partition-id"])].sum())
        reply = {"arrays": message.content["arrays"], "metrics": MetricRecord({"num-examples": size})}
        return Message(RecordDict(reply), reply_to=message)

    answer(app, label_counts=lambda context: rows[int(context.node_config["partition-id"])])
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), "fed-cbs", k=2, seed=1, run=folder)
    with server_task():
        model = ArrayRecord({"w": Array(np.zeros(4, np.float32))})
        strategy.start(LocalGrid(app, NODES), model, num_rounds=ROUNDS)
