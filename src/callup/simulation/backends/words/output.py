"""The output layer: scores of all words, softmax and its gradient, a block of words at a time.

It is most of the work. With scores S = F W^T + b of features F, exponentials X = exp(S), their sums Z for each row and
the word y that was asked,

    d loss / d F = X W / Z - W_y          d loss / d W = X^T (F / Z) - (F added up at the rows y)

so the division is done on the few columns of F and never on X, and no array as large as X is written but X itself.
Blocks are small enough for a score to be in the cache when its exponential is taken and multiplied.
"""

from __future__ import annotations

import numpy as np

from callup.simulation.backends.words.distinct import Distinct
from callup.simulation.backends.words.weights import Weights

BLOCK = 500
"""Words at a time."""
_SAFE = 1e30  # sums within 1 / this and this have lost nothing to overflow or underflow


def losses_of(weights: Weights, features: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cross-entropy of each word asked, and which word has the highest score; the first of equals."""
    best, word = np.full(len(asked), -np.inf, np.float32), np.zeros(len(asked), np.intp)
    total = np.zeros(len(asked), np.float32)
    for block in _blocks(weights):
        scores = _scores(weights, features, block)
        at = scores.argmax(axis=1)
        top = np.maximum(best, scores[np.arange(len(asked)), at])
        word[top > best] = at[top > best] + block.start
        total *= np.exp(np.where(top > best, best - top, 0))
        scores -= top[:, None]
        total += np.exp(scores, out=scores).sum(axis=1)
        best = top
    return np.log(total) + best - _own(weights, features, asked), word


class Output:
    """Working memory for mini-batches of one model; one thread at a time may use it."""

    def __init__(self) -> None:
        self._kept = np.empty(0, np.float32)
        self._product = np.empty(0, np.float32)

    def descend(
        self, weights: Weights, into: Weights, features: np.ndarray, asked: np.ndarray, scale: float
    ) -> tuple[float, np.ndarray]:
        """The summed loss, and the error at the features; `into` loses `scale` times the gradient of the sum.

        The error is scaled likewise. `into` may be the weights themselves.
        """
        total, mean_word, shift = self._exponentials(weights, features, None)
        if not ((total > 1 / _SAFE) & (total < _SAFE)).all():
            shift = np.max([_scores(weights, features, block).max(axis=1) for block in _blocks(weights)], axis=0)
            total, mean_word, shift = self._exponentials(weights, features, shift)
        loss = np.sum(np.log(total) + shift - _own(weights, features, asked), dtype=np.float64)
        error = mean_word
        error /= total[:, None]
        error -= weights.out[asked]
        error *= scale
        share = (scale / total).astype(np.float32)
        scaled = features * share[:, None]
        for block, kept in zip(_blocks(weights), self._blocks_kept(weights, len(features)), strict=True):
            product = self._product[: kept.shape[1] * features.shape[1]].reshape(kept.shape[1], features.shape[1])
            into.out[block] -= np.matmul(kept.T, scaled, out=product)
            into.biases[block] -= share @ kept
        words = Distinct.of(asked)
        into.out[words.found] += words.summed(features) * np.float32(scale)
        into.biases[words.found] += np.bincount(words.place).astype(np.float32) * np.float32(scale)
        return float(loss), error

    def _exponentials(
        self, weights: Weights, features: np.ndarray, shift: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums of each row's exponentials and their products with the weights; the exponentials themselves are kept.

        Without a shift they may overflow, which the sums tell; with the highest score as a shift they cannot.
        """
        rows, width = features.shape
        self._make_room(rows * len(weights.biases), max(rows, BLOCK) * width)
        total, pulled = np.zeros(rows, np.float32), np.zeros((rows, width), np.float32)
        product = self._product[: rows * width].reshape(rows, width)
        for block, kept in zip(_blocks(weights), self._blocks_kept(weights, rows), strict=True):
            np.matmul(features, weights.out[block].T, out=kept)
            kept += weights.biases[block]
            if shift is not None:
                kept -= shift[:, None]
            np.exp(kept, out=kept)
            total += kept.sum(axis=1)
            pulled += np.matmul(kept, weights.out[block], out=product)
        return total, pulled, np.zeros(rows, np.float32) if shift is None else shift

    def _blocks_kept(self, weights: Weights, rows: int) -> list[np.ndarray]:
        return [self._kept[rows * b.start : rows * b.stop].reshape(rows, b.stop - b.start) for b in _blocks(weights)]

    def _make_room(self, kept: int, product: int) -> None:
        if len(self._kept) < kept:
            self._kept = np.empty(kept, np.float32)
        if len(self._product) < product:
            self._product = np.empty(product, np.float32)


def _scores(weights: Weights, features: np.ndarray, block: slice) -> np.ndarray:
    scores = features @ weights.out[block].T
    scores += weights.biases[block]
    return np.asarray(scores)


def _own(weights: Weights, features: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """The score of the word asked."""
    return np.asarray(np.einsum("ij,ij->i", features, weights.out[asked]) + weights.biases[asked])


def _blocks(weights: Weights) -> list[slice]:
    words = len(weights.biases)
    return [slice(at, min(at + BLOCK, words)) for at in range(0, words, BLOCK)]
