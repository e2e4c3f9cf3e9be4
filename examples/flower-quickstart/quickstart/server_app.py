"""The server: FedAvg, with the clients of each round chosen by Callup."""

from __future__ import annotations

from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

import callup.flower
from quickstart import task

app = ServerApp()


def evaluate(server_round: int, model: ArrayRecord) -> MetricRecord:  # noqa: ARG001
    x, y = task.held_out()
    return MetricRecord({"accuracy": task.accuracy(model, x, y), "loss": float(task.losses(model, x, y).mean())})


@app.main()
def main(grid: Grid, context: Context) -> None:
    settings = context.run_config
    if settings["only-analyse"]:
        # FedACS as an analysis of its own: every client is asked once for its gradient, and nobody trains.
        print(callup.flower.skewness_table(*callup.flower.ask_insights(grid, task.first_model())))
        return
    strategy = FedAvg(fraction_evaluate=0.0, min_available_nodes=int(settings["min-available-nodes"]))
    # The one line that is Callup's: selector, k, seed, deadline, run and resume come from the run config.
    strategy = callup.flower.Selecting(strategy, settings)
    strategy.start(
        grid=grid,
        initial_arrays=task.first_model(),
        num_rounds=int(settings["num-server-rounds"]),
        evaluate_fn=evaluate,
    )
