"""The server: FedAvg, with the clients of each round chosen by Callup."""

from __future__ import annotations

import numpy as np
from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

import callup.flower
from clothing import task

app = ServerApp()


def logits(model: ArrayRecord) -> np.ndarray:
    return task.logits(task.net_of(model), task.held_out())


def evaluate(server_round: int, model: ArrayRecord) -> MetricRecord:  # noqa: ARG001
    right = logits(model).argmax(axis=1) == task.held_out()[1].numpy()
    loss = task.losses(task.net_of(model), task.held_out()).mean()
    return MetricRecord({"accuracy": float(right.mean()), "loss": float(loss)})


@app.main()
def main(grid: Grid, context: Context) -> None:
    settings = context.run_config
    strategy = FedAvg(fraction_evaluate=0.0, min_available_nodes=int(settings["min-available-nodes"]))
    # The one line that is Callup's. The held-out data let filters and contributions judge local models.
    held_out = callup.flower.Validation(logits, task.held_out()[1].numpy())
    strategy = callup.flower.Selecting(strategy, settings, validation=held_out)
    strategy.start(
        grid=grid,
        initial_arrays=task.first_model(int(settings["seed"])),
        num_rounds=int(settings["num-server-rounds"]),
        evaluate_fn=evaluate,
    )
