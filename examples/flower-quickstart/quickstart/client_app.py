"""The client: trains as any Flower client does, and answers what selectors ask."""

from __future__ import annotations

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

import callup.flower
from quickstart import task

app = ClientApp()


def data(context: Context) -> tuple[np.ndarray, np.ndarray]:
    return task.load(int(context.node_config["partition-id"]))


@app.train()
def train(message: Message, context: Context) -> Message:
    x, y = data(context)
    model = message.content["arrays"]
    metrics = MetricRecord({"num-examples": len(y), "train_loss": float(task.losses(model, x, y).mean())})
    return Message(RecordDict({"arrays": task.train(model, x, y), "metrics": metrics}), reply_to=message)


def gradient(model: ArrayRecord, context: Context) -> np.ndarray:
    return np.concatenate([part.ravel() for part in task.gradient(model, *data(context))])


# The one call that is Callup's. Give what the selector you use asks for; `callup show fed-cbs` says what that is.
callup.flower.answer(
    app,
    label_counts=lambda context: np.bincount(data(context)[1], minlength=task.CLASSES),
    loss=lambda model, context: task.losses(model, *data(context)).mean(),
    loss_rms=lambda model, context: np.sqrt(np.square(task.losses(model, *data(context))).mean()),
    gradient=gradient,
)
