"""FedJAX: its federated averaging, compiled by JAX; pictures with the colours last, as XLA likes them."""

from __future__ import annotations

import os
from importlib.metadata import version

import fedjax
import jax
import jax.numpy as jnp
import numpy as np
from work import BATCH, CLIENTS, EPOCHS, RATE, SEED, called, load_samples, order, tell, time_rounds

jax.tree_map = jax.tree_util.tree_map  # FedJAX 0.0.17 was written before JAX dropped the short name

Params = list[tuple[jax.Array, jax.Array]]
"""Weights and biases, layer by layer."""


def make_params(work: str) -> Params:
    """Uniform within 1 / sqrt(inputs), as torch begins too."""
    shapes = [(784, 64), (64, 10)]
    if work == "cnn":
        shapes = [(5, 5, 3, 6), (5, 5, 6, 16), (400, 120), (120, 84), (84, 10)]
    rng, params = np.random.default_rng(SEED), []
    for shape in shapes:
        bound = 1 / np.sqrt(np.prod(shape[:-1]))
        parts = (rng.uniform(-bound, bound, size).astype(np.float32) for size in (shape, shape[-1]))
        params.append(tuple(jnp.asarray(part) for part in parts))
    return params


def convolved(x: jax.Array, weights: jax.Array, bias: jax.Array) -> jax.Array:
    """5 x 5 filters, ReLU, then the largest of each 2 x 2."""
    x = jax.lax.conv_general_dilated(x, weights, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = jax.nn.relu(x + bias)
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def loss(params: Params, batch: dict[str, jax.Array]) -> jax.Array:
    x = batch["x"]
    while x.ndim == 4 and params[0][0].ndim == 4:
        x, params = convolved(x, *params[0]), params[1:]
    x = x.reshape(len(x), -1)
    for weights, bias in params[:-1]:
        x = jax.nn.relu(x @ weights + bias)
    scores = jax.nn.log_softmax(x @ params[-1][0] + params[-1][1])
    return -jnp.take_along_axis(scores, batch["y"][:, None], axis=1).mean()


def main() -> None:
    ask = order()
    if ask.threads == 1:  # XLA has as many threads as it sees cores when it is first used
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    x, y, test_x, test_y = load_samples(ask.work)
    if ask.work == "cnn":
        x, test_x = np.ascontiguousarray(np.moveaxis(x, 2, -1)), np.ascontiguousarray(np.moveaxis(test_x, 1, -1))
    y, test_y = y.astype(np.int32), test_y.astype(np.int32)
    held = [fedjax.ClientDataset({"x": x[client], "y": y[client]}) for client in range(CLIENTS)]
    algorithm = fedjax.algorithms.fed_avg.federated_averaging(
        lambda params, batch, _: jax.grad(loss)(params, batch),
        fedjax.optimizers.sgd(RATE),
        fedjax.optimizers.sgd(1.0),
        fedjax.ShuffleRepeatBatchHParams(batch_size=BATCH, num_epochs=EPOCHS),
    )
    state = algorithm.init(make_params(ask.work))

    def play(index: int) -> None:
        nonlocal state
        ids = called(index)
        keys = jax.random.split(jax.random.PRNGKey(index), len(ids))
        state, _ = algorithm.apply(state, [(str(i).encode(), held[i], key) for i, key in zip(ids, keys, strict=True)])
        jax.block_until_ready(state.params)

    test = {"x": test_x, "y": test_y}
    before = float(loss(state.params, test))
    start_up, seconds = time_rounds(ask.rounds, play)
    told = f"fedjax {version('fedjax')}, jax {jax.__version__}"
    tell(told, start_up, seconds, (before, float(loss(state.params, test))))


if __name__ == "__main__":
    main()
