"""A local model is what the server sent, changed: the same names, shapes and kinds of numbers, finite, not too far."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from flwr.app import Array, ArrayRecord, RecordDict

from callup.flower.bad_reply import BadReply

_HEADER = 4096  # bytes that a stored array may be longer than its numbers


@dataclass
class ModelCheck:
    """What a local model must be; a model without fixed shapes, such as trees, is checked by its names alone."""

    fixed_shapes: bool = True
    furthest: float = 1e3
    """How many times its own length (at least 1) the model may be moved by one client."""
    first_kinds: dict[str, str] = field(default_factory=dict)
    """Of each array in the first model: averaging makes fractions of whole numbers, and clients send whole ones."""

    def remember(self, first: ArrayRecord) -> None:
        self.first_kinds = {name: np.dtype(array.dtype).kind for name, array in first.items()}

    def vector(self, content: RecordDict, start: ArrayRecord, length: float, keep: bool) -> np.ndarray | None:
        """The model as one vector, where it is to be kept; anything wrong with it is raised as a BadReply.

        `length` is that of the model the client was sent.
        """
        if len(content.array_records) != 1:
            raise BadReply(f"carries {len(content.array_records)} ArrayRecords, expected one")
        arrays = next(iter(content.array_records.values()))
        if set(arrays) != set(start):
            odd = sorted(set(arrays) ^ set(start))
            raise BadReply(f"its arrays are not those of the model: '{odd[0]}' is in one of them only")
        if not self.fixed_shapes:
            return None
        squares, parts = 0.0, []
        with np.errstate(over="ignore", invalid="ignore"):
            for name, sent in start.items():
                value = self._array(name, arrays[name], sent)
                squares += float(np.square(value.astype(np.float64) - sent.numpy()).sum())
                if keep:
                    parts.append(np.ravel(value).astype(np.float32))
        limit = self.furthest * max(1.0, length)
        if not math.sqrt(squares) <= limit:
            raise BadReply(f"moves the model by {math.sqrt(squares):.3g}, at most {limit:.3g} is believed")
        return np.concatenate(parts) if parts else None

    def _array(self, name: str, array: Array, sent: Array) -> np.ndarray:
        expected = math.prod(sent.shape) * np.dtype(sent.dtype).itemsize
        # Looked at before it is unpacked. Twice as much is fine: float64 in place of float32.
        if len(array.data) > 2 * expected + _HEADER:
            raise BadReply(f"array '{name}' has {len(array.data)} bytes, expected about {expected}")
        try:
            value = np.asarray(array.numpy())
        except (ValueError, TypeError, OSError, EOFError, MemoryError) as problem:
            raise BadReply(f"array '{name}' cannot be read: {problem}") from problem
        if value.shape != tuple(sent.shape):
            raise BadReply(f"array '{name}' has shape {value.shape}, expected {tuple(sent.shape)}")
        if value.dtype.kind not in (np.dtype(sent.dtype).kind, self.first_kinds.get(name)):
            raise BadReply(f"array '{name}' holds {value.dtype}, expected {sent.dtype}")
        if value.dtype.kind in "fc" and not np.isfinite(value).all():
            raise BadReply(f"array '{name}' is not finite")
        return value
