"""A tiny federation for tests: a linear classifier in numpy, five classes, clients with skewed labels."""

from __future__ import annotations

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.clientapp.typing import Mod

import callup.flower

CLASSES, FEATURES = 5, 4


def data(client: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes for each client, 20 + 3 * client samples."""
    rng = np.random.default_rng(client)
    size = 20 + 3 * client
    labels = rng.choice([client % CLASSES, (client + 2) % CLASSES], size)
    centres = np.random.default_rng(99).normal(size=(CLASSES, FEATURES))
    return centres[labels] + 0.1 * rng.normal(size=(size, FEATURES)), labels


def counts(client: int) -> np.ndarray:
    return np.bincount(data(client)[1], minlength=CLASSES)


def model(value: float = 0.0) -> ArrayRecord:
    return ArrayRecord(
        {
            "weight": Array(np.full((FEATURES, CLASSES), value, np.float32)),
            "bias": Array(np.zeros(CLASSES, np.float32)),
        }
    )


def scores(arrays: ArrayRecord, x: np.ndarray) -> np.ndarray:
    return np.asarray(x @ arrays["weight"].numpy() + arrays["bias"].numpy())


def gradient(arrays: ArrayRecord, client: int) -> np.ndarray:
    """Of the mean cross-entropy, arrays in the order of the model."""
    x, y = data(client)
    shares = np.exp(scores(arrays, x) - scores(arrays, x).max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    shares[np.arange(len(y)), y] -= 1
    return np.concatenate([(x.T @ shares / len(y)).ravel(), shares.mean(axis=0)])


def losses(arrays: ArrayRecord, client: int) -> np.ndarray:
    x, y = data(client)
    z = scores(arrays, x)
    z = z - z.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(y)), y])


def who(context: Context) -> int:
    return int(context.node_config["partition-id"])


def plain_app(*mods: Mod) -> ClientApp:
    """A client as people write it without Callup."""
    app = ClientApp(mods=list(mods))

    @app.train()
    def train(message: Message, context: Context) -> Message:
        arrays, client = message.content["arrays"], who(context)
        before = losses(arrays, client).mean()
        step = 0.5 * gradient(arrays, client).astype(np.float32)
        size = FEATURES * CLASSES
        trained = {
            "weight": arrays["weight"].numpy() - step[:size].reshape(FEATURES, CLASSES),
            "bias": arrays["bias"].numpy() - step[size:],
        }
        metrics = MetricRecord({"num-examples": len(data(client)[1]), "train_loss": float(before)})
        reply = {"arrays": ArrayRecord({k: Array(v) for k, v in trained.items()}), "metrics": metrics}
        return Message(RecordDict(reply), reply_to=message)

    @app.evaluate()
    def evaluate(message: Message, context: Context) -> Message:
        x, y = data(who(context))
        right = float((scores(message.content["arrays"], x).argmax(axis=1) == y).mean())
        return Message(
            RecordDict({"metrics": MetricRecord({"num-examples": len(y), "accuracy": right})}), reply_to=message
        )

    return app


def answering_app(*mods: Mod) -> ClientApp:
    """The same with everything answered."""
    return callup.flower.answer(
        plain_app(*mods),
        label_counts=lambda context: counts(who(context)),
        features=lambda context: np.array([who(context) % 2, who(context) % 3, 1.0]),
        loss=lambda arrays, context: losses(arrays, who(context)).mean(),
        loss_rms=lambda arrays, context: np.sqrt((losses(arrays, who(context)) ** 2).mean()),
        accuracy=lambda arrays, context: (
            scores(arrays, data(who(context))[0]).argmax(axis=1) == data(who(context))[1]
        ).mean(),
        gradient=lambda arrays, context: gradient(arrays, who(context)),
        latency=lambda context: 1.0 + who(context) % 4,
        tags=lambda context: {"site": "eu" if who(context) % 2 else "us"},
    )


def held_out() -> callup.flower.Validation:
    x, y = zip(*(data(100 + client) for client in range(CLASSES)), strict=True)
    inputs, labels = np.concatenate(x), np.concatenate(y)

    def class_gradients(arrays: ArrayRecord) -> np.ndarray:
        error = scores(arrays, inputs)
        error = np.exp(error - error.max(axis=1, keepdims=True))
        error /= error.sum(axis=1, keepdims=True)
        error[np.arange(len(labels)), labels] -= 1
        return np.array([np.square(error[labels == label].mean(axis=0)).mean() for label in range(CLASSES)])

    return callup.flower.Validation(lambda arrays: scores(arrays, inputs), labels, class_gradients)


def addressed(grid: callup.flower.LocalGrid, kind: str = "train") -> list[int]:
    """Clients that were sent messages of this kind, in their order: by the truth of the grid, not by the roster."""
    sent = [message for message in grid.sent if message.metadata.message_type == kind]
    return [who(grid.contexts[message.metadata.dst_node_id]) for message in sent]
