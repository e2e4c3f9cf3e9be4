"""The client: trains with PyTorch as any Flower client does, and answers what selectors ask."""

from __future__ import annotations

import numpy as np
import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

import callup.flower
from clothing import task

app = ClientApp()
torch.set_num_threads(1)


def data(context: Context) -> task.Samples:
    node = context.node_config
    return task.load(int(node["partition-id"]), int(node["num-partitions"]), str(context.run_config["partition"]))


@app.train()
def train(message: Message, context: Context) -> Message:
    settings, samples = context.run_config, data(context)
    net = task.net_of(message.content["arrays"])
    round_number = int(message.content["config"]["server-round"])
    loss, steps = task.train(net, samples, int(settings["epochs"]), float(settings["rate"]), round_number)
    metrics = MetricRecord({"num-examples": len(samples[1]), "train_loss": loss, "local_steps": steps})
    return Message(RecordDict({"arrays": ArrayRecord(net.state_dict()), "metrics": metrics}), reply_to=message)


def loss(arrays: ArrayRecord, context: Context) -> float:
    return float(task.losses(task.net_of(arrays), data(context)).mean())


def loss_rms(arrays: ArrayRecord, context: Context) -> float:
    return float(np.sqrt(np.square(task.losses(task.net_of(arrays), data(context))).mean()))


# The one call that is Callup's. Give what the selector you use asks for; `callup show oort` says what that is.
callup.flower.answer(
    app,
    label_counts=lambda context: np.bincount(data(context)[1].numpy(), minlength=task.CLASSES),
    loss=loss,
    loss_rms=loss_rms,
)
