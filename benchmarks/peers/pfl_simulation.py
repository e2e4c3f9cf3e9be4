"""pfl: its simulated backend and federated averaging on a torch model.

pfl goes through a client's samples in the order they are kept, without shuffling, and draws clients one by one. Started
by torchrun, its processes share the clients of a round; only the first of them tells.
"""

from __future__ import annotations

import itertools
import os
import time
from importlib.metadata import version

import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.pytorch import PyTorchTensorDataset
from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
from pfl.metrics import Metrics, Weighted
from pfl.model.pytorch import PyTorchModel
from torch import nn
from torch.nn import functional
from torch_model import loss_of, make_model
from work import (
    BATCH,
    CHOSEN,
    EPOCHS,
    RATE,
    SEED,
    WARM_UP,
    called,
    impatient,
    lengths,
    load_samples,
    order,
    since_start,
    tell,
)


class WithLoss(nn.Module):
    """pfl asks the model itself for its loss."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.inner = model

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(self.inner(x), y)

    def metrics(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, Weighted]:
        return {"loss": Weighted(len(y) * loss_of(self.inner, x, y), len(y))}


class Stamps(TrainingProcessCallback):
    """Notes when each round ended."""

    def __init__(self) -> None:
        self.ends: list[float] = []
        self.start_up = 0.0

    def after_central_iteration(self, *_: object, **__: object) -> tuple[bool, Metrics]:
        self.ends.append(time.perf_counter())
        self.start_up = self.start_up or since_start()
        return impatient(self.ends), Metrics()


def main() -> None:
    ask = order()
    torch.set_num_threads(ask.threads)
    x, y, test_x, test_y = map(torch.from_numpy, load_samples(ask.work))
    rounds = WARM_UP + ask.rounds
    comers = (client for index in itertools.count() for client in called(index))
    clients = FederatedDataset(lambda client: PyTorchTensorDataset((x[client], y[client])), lambda: next(comers))
    torch.manual_seed(SEED)
    inner = make_model(ask.work)
    network = WithLoss(inner)
    model = PyTorchModel(network, torch.optim.SGD, torch.optim.SGD(network.parameters(), lr=1.0))
    stamps = Stamps()
    before = loss_of(inner, test_x, test_y)
    FederatedAveraging().run(
        # Scores of clients are measured in the very first round alone, which is not timed.
        NNAlgorithmParams(
            central_num_iterations=rounds,
            evaluation_frequency=rounds + 1,
            train_cohort_size=CHOSEN,
            val_cohort_size=None,
        ),
        SimulatedBackend(clients, clients),
        model,
        NNTrainHyperParams(local_num_epochs=EPOCHS, local_learning_rate=RATE, local_batch_size=BATCH),
        NNEvalHyperParams(local_batch_size=None),
        callbacks=[stamps],
        send_metrics_to_platform=False,
    )
    if os.environ.get("RANK", "0") == "0":
        tell(f"pfl {version('pfl')}", stamps.start_up, lengths(stamps.ends), (before, loss_of(inner, test_x, test_y)))


if __name__ == "__main__":
    main()
