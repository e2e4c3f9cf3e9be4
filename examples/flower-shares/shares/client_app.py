"""The client: counts its labels, noises them once, and splits them between server and selector.

What protects it is set where it runs, in its own environment, and cannot be changed by the server: LEDGER is the folder
that remembers its releases, EPSILON what one release costs, SELECTOR_KEY the key that selector.py printed.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

import callup.flower
from callup.flower.sharing import share
from callup.privacy.ledger import Ledger

CLASSES, VERSION = 10, "2026-11"
app = ClientApp()


def client(context: Context) -> int:
    return int(context.node_config["partition-id"])


def label_counts(context: Context) -> np.ndarray:
    rng = np.random.default_rng([1, client(context)])
    return rng.multinomial(200, rng.dirichlet(np.full(CLASSES, 0.2)))


def ledger(context: Context) -> Ledger:
    return Ledger(Path(os.environ["LEDGER"]) / str(client(context)), client(context), budget=2.0)


@app.train()
def train(message: Message, context: Context) -> Message:
    size = int(label_counts(context).sum())
    step = message.content["arrays"]["w"].numpy() + 1  # stands for training
    reply = {"arrays": ArrayRecord({"w": Array(step)}), "metrics": MetricRecord({"num-examples": size})}
    return Message(RecordDict(reply), reply_to=message)


# The server is told sizes, and shares that say nothing by themselves.
callup.flower.answer(app, num_examples=lambda context: int(label_counts(context).sum()))
share(
    app,
    label_counts=label_counts,
    epsilon=float(os.environ["EPSILON"]),
    ledger=ledger,
    version=VERSION,
    pinned=os.environ["SELECTOR_KEY"],
)
