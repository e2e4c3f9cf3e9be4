"""Flower's simulation engine on ray: federated averaging as it comes, without evaluation by clients.

One thread means as many worker processes as cores, with a thread each; two threads mean half as many with two each.
"""

from __future__ import annotations

import os
import time
from importlib.metadata import version

import torch
from flower_client import app as client_app
from flower_client import samples
from flwr.app import ArrayRecord, ConfigRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from torch_model import loss_of, make_model
from work import CHOSEN, CLIENTS, SEED, WARM_UP, lengths, order, since_start, tell


def main() -> None:
    ask = order()
    test_x, test_y = samples(ask.work)[2:]
    torch.manual_seed(SEED)
    model = make_model(ask.work)
    before = loss_of(model, test_x, test_y)
    ends: list[float] = []
    start_ups: list[float] = []
    server_app = ServerApp()

    def note_the_time(index: int, _: ArrayRecord) -> None:
        if index > 0:  # Flower also asks before the first round
            ends.append(time.perf_counter())
            start_ups.append(since_start())

    @server_app.main()
    def serve(grid: Grid, _: Context) -> None:
        strategy = FedAvg(fraction_train=CHOSEN / CLIENTS, fraction_evaluate=0.0, min_available_nodes=CLIENTS)
        result = strategy.start(
            grid,
            ArrayRecord(model.state_dict()),
            num_rounds=WARM_UP + ask.rounds,
            train_config=ConfigRecord({"work": ask.work, "threads": ask.threads}),
            evaluate_fn=note_the_time,
        )
        model.load_state_dict(result.arrays.to_torch_state_dict())

    cores = {"num_cpus": ask.threads, "num_gpus": 0.0}
    run_simulation(
        server_app,
        client_app,
        CLIENTS,
        backend_config={"client_resources": cores, "init_args": {"num_cpus": os.cpu_count()}},
    )
    told = f"flwr {version('flwr')}, ray {version('ray')}, torch {torch.__version__}"
    tell(told, start_ups[0], lengths(ends), (before, loss_of(model, test_x, test_y)))


if __name__ == "__main__":
    main()
