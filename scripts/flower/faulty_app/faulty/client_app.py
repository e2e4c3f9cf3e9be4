"""The client of the quickstart; the culprit of the run config sends what no client should."""

from __future__ import annotations

import time

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message
from flwr.clientapp import ClientApp
from flwr.clientapp.typing import ClientAppCallable
from quickstart import client_app, task

import callup.flower

app = ClientApp(mods=[])
_SLOW = 600.0


def misbehave(message: Message, context: Context, call: ClientAppCallable) -> Message:
    fault = str(context.run_config["fault"])
    guilty = int(context.node_config["partition-id"]) == int(context.run_config["culprit"])
    if guilty and fault == "slow":
        time.sleep(_SLOW)
    reply = call(message, context)
    if guilty and fault in ("nan", "shape", "huge"):
        reply.content["arrays"] = _spoilt(reply.content["arrays"], fault)
    return reply


def _spoilt(arrays: ArrayRecord, fault: str) -> ArrayRecord:
    def spoil(array: np.ndarray) -> np.ndarray:
        if fault == "shape":
            return np.zeros(3, np.float32)
        return np.full_like(array, np.nan if fault == "nan" else 1e30)

    return ArrayRecord({name: Array(spoil(array.numpy())) for name, array in arrays.items()})


app.train(mods=[misbehave])(client_app.train)
callup.flower.answer(
    app,
    label_counts=lambda context: np.bincount(client_app.data(context)[1], minlength=task.CLASSES),
)
