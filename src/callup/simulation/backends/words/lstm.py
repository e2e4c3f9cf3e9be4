"""Stacked LSTM layers in numpy, forward and backward, for one client's mini-batch at a time.

All places of a layer share two large products; only the part that depends on the place before goes step by step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.simulation.backends.words.distinct import Distinct
from callup.simulation.backends.words.weights import Layer, Weights


@dataclass(frozen=True)
class Passed:
    """What the backward pass needs of one layer; the first axis is the place, the second the sample."""

    gates: np.ndarray
    """Input, forget, cell and output gate, (places, samples, 4, hidden), after their squashing functions."""
    cells: np.ndarray
    squashed: np.ndarray
    """tanh(cells)"""
    outputs: np.ndarray


def forward(weights: Weights, words: np.ndarray) -> list[Passed]:
    """Every layer's doings for words by place and sample; the last one's outputs are the model's features."""
    below = weights.embedding[words.ravel()]
    passed: list[Passed] = []
    for layer in weights.layers:
        hidden = layer.to_outputs.shape[1]
        gates = below @ layer.to_inputs.T
        gates += layer.input_biases + layer.output_biases
        passed.append(_along(layer, gates.reshape(*words.shape, 4, hidden)))
        below = passed[-1].outputs.reshape(words.size, hidden)
    return passed


def backward(weights: Weights, into: Weights, words: np.ndarray, passed: list[Passed], error: np.ndarray) -> None:
    """Takes each layer's share of the error at the model's features away from the weights in `into`.

    `into` may be the weights themselves: a weight is changed only after its last use. The error comes scaled, by the
    learning rate for instance, and so is what is taken away.
    """
    for depth in reversed(range(len(passed))):
        layer, target, own = weights.layers[depth], into.layers[depth], passed[depth]
        pull = _back(layer, own, error)
        rows = pull.reshape(-1, pull.shape[-1])
        if len(pull) > 1:
            before = own.outputs[:-1].reshape(-1, own.outputs.shape[-1])
            target.to_outputs[...] -= rows[pull.shape[1] :].T @ before
        below = passed[depth - 1].outputs if depth else weights.embedding[words]
        error = (rows @ layer.to_inputs).reshape(below.shape)
        target.to_inputs[...] -= rows.T @ below.reshape(len(rows), -1)
        biases = rows.sum(axis=0)
        target.input_biases[...] -= biases
        target.output_biases[...] -= biases
    distinct = Distinct.of(words.ravel())
    into.embedding[distinct.found] -= distinct.summed(error.reshape(words.size, -1))


def _along(layer: Layer, gates: np.ndarray) -> Passed:
    """From place to place: c <- f c + i g;  h <- o tanh(c)."""
    places, samples, _, hidden = gates.shape
    cells = np.empty((places, samples, hidden), np.float32)
    squashed, outputs = np.empty_like(cells), np.empty_like(cells)
    carried, fresh = np.empty((samples, 4 * hidden), np.float32), np.empty((samples, hidden), np.float32)
    for place in range(places):
        now, cell, output = gates[place], cells[place], outputs[place]
        if place:
            np.matmul(outputs[place - 1], layer.to_outputs.T, out=carried)
            now += carried.reshape(now.shape)
        _squash(now)
        np.multiply(now[:, 0], now[:, 2], out=cell)
        if place:
            cell += np.multiply(now[:, 1], cells[place - 1], out=fresh)
        np.tanh(cell, out=squashed[place])
        np.multiply(now[:, 3], squashed[place], out=output)
    return Passed(gates, cells, squashed, outputs)


def _squash(gates: np.ndarray) -> None:
    """Sigmoid for all gates but the third, which has tanh. As sigmoid(z) = (1 + tanh(z / 2)) / 2 one call does all."""
    gates *= _HALF
    np.tanh(gates, out=gates)
    gates *= _HALF
    gates += _SHIFT


def _back(layer: Layer, own: Passed, error: np.ndarray) -> np.ndarray:
    """The error at the gates before squashing, (places, samples, 4 hidden)."""
    places, samples, _, hidden = own.gates.shape
    enter, forget, cell, leave = (own.gates[:, :, gate] for gate in range(4))
    # What a unit of error at the output or at the cell makes of the error at each gate.
    slope = own.gates * (1 - own.gates)
    slope[:, :, 2] = 1 - cell**2
    slope[:, :, 0] *= cell
    slope[1:, :, 1] *= own.cells[:-1]
    slope[0, :, 1] = 0  # nothing was there to forget
    slope[:, :, 2] *= enter
    slope[:, :, 3] *= own.squashed
    through = leave * (1 - own.squashed**2)
    later = np.zeros((samples, hidden), np.float32)
    at_cell, at_output = np.zeros_like(later), np.empty_like(later)
    for place in reversed(range(places)):
        np.add(error[place], later, out=at_output)
        at_cell += np.multiply(at_output, through[place], out=later)
        now = slope[place]
        now[:, :3] *= at_cell[:, None]
        now[:, 3] *= at_output
        at_cell *= forget[place]
        if place:
            np.matmul(now.reshape(samples, -1), layer.to_outputs, out=later)
    return np.asarray(slope.reshape(places, samples, 4 * hidden))


_HALF = np.array([[0.5], [0.5], [1.0], [0.5]], np.float32)
_SHIFT = np.array([[0.5], [0.5], [0.0], [0.5]], np.float32)
