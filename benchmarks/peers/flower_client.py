"""What a Flower client does. A module of its own: functions of the started script would be sent anew with each task."""

from __future__ import annotations

import functools

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from torch_model import make_model, train
from work import load_samples

app = ClientApp()


@functools.cache
def samples(work: str) -> tuple[torch.Tensor, ...]:
    """Read once in each worker process."""
    return tuple(map(torch.from_numpy, load_samples(work)))


@app.train()
def fit(message: Message, context: Context) -> Message:
    asked = message.content["config"]
    torch.set_num_threads(asked["threads"])
    client = context.node_config["partition-id"]
    x, y, *_ = samples(asked["work"])
    model = make_model(asked["work"])
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    train(model, x[client], y[client])
    trained = {
        "arrays": ArrayRecord(model.state_dict()),
        "metrics": MetricRecord({"num-examples": len(y[client])}),
    }
    return Message(content=RecordDict(trained), reply_to=message)
