"""No simulator: a copy of the model for each client, trained one after the other, then the mean."""

from __future__ import annotations

import copy

import torch
from torch_model import loss_of, make_model, train
from work import SEED, called, load_samples, order, tell, time_rounds


def main() -> None:
    ask = order()
    torch.set_num_threads(ask.threads)
    x, y, test_x, test_y = map(torch.from_numpy, load_samples(ask.work))
    torch.manual_seed(SEED)
    model = make_model(ask.work)

    def play(index: int) -> None:
        states = []
        for client in called(index):
            local = copy.deepcopy(model)
            train(local, x[client], y[client])
            states.append(local.state_dict())
        model.load_state_dict({name: torch.stack([s[name] for s in states]).mean(0) for name in states[0]})

    before = loss_of(model, test_x, test_y)
    start_up, seconds = time_rounds(ask.rounds, play)
    tell(f"torch {torch.__version__}", start_up, seconds, (before, loss_of(model, test_x, test_y)))


if __name__ == "__main__":
    main()
