"""The two verbs: `select` looks, `update` learns. And the two rules after training: which replies count, and how."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from callup.core.errors import InputError
from callup.core.per_client import PerClient
from callup.core.registry import Card
from callup.core.signals import Needs

if TYPE_CHECKING:
    from callup.core.clients import Clients
    from callup.core.types import Feedback, Plan, Replies, Round, Selection

Arrays = dict[str, np.ndarray]


class Method(ABC):
    """Fields are hyper-parameters and never change; attributes ending in `_` are state, made by `start`.

    State may be a PerClient, an array, a whole number, a number or a truth value. It is saved as named arrays.
    """

    card: ClassVar[Card]
    schema: ClassVar[int] = 1
    """Raised when the meaning of the saved state changes; an older state is then refused, not misread."""

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:  # noqa: ARG002
        """Begins afresh."""
        for name, _ in list(self._stateful()):
            delattr(self, name)

    def state(self) -> Arrays:
        """Everything learned, as arrays that may be stored and loaded without running code."""
        out: Arrays = {"schema": np.array(self.schema)}
        for name, value in self._stateful():
            if isinstance(value, PerClient):
                out |= {f"{name}.{part}": array for part, array in value.state().items()}
            else:
                out[name] = np.array(value)
        return out

    def load(self, state: Arrays) -> None:
        """Continues from a saved state; a state of another schema or a damaged one leaves this object as it was."""
        found = np.asarray(state.get("schema")).tolist()
        if found != self.schema:
            raise InputError(f"{type(self).__name__} reads state schema {self.schema}, this one has {found}")
        loaded: dict[str, Any] = {}
        parts: dict[str, Arrays] = {}
        for key, array in state.items():
            name, _, part = key.partition(".")
            if key == "schema":
                continue
            if not name.endswith("_") or not name.isidentifier() or name.startswith("_"):
                raise InputError(f"{type(self).__name__}: '{key}' is not a state name; names of state end in '_'")
            if part:
                parts.setdefault(name, {})[part] = array
            else:
                loaded[name] = array.item() if array.ndim == 0 else np.array(array)
        loaded |= {name: PerClient.from_state(pieces) for name, pieces in parts.items()}
        for name, _ in list(self._stateful()):
            delattr(self, name)
        self.__dict__.update(loaded)

    def _stateful(self) -> Iterator[tuple[str, Any]]:
        return ((name, value) for name, value in sorted(vars(self).items()) if name.endswith("_"))

    @property
    def spec(self) -> str:
        """This method as a person would type it: `name:key=value` for what differs from the defaults."""
        return self.card.name + (
            ":" + ",".join(f"{k}={v}" for k, v in self._changed().items()) if self._changed() else ""
        )

    def _changed(self) -> dict[str, Any]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {f.name: getattr(self, f.name) for f in fields if f.init and getattr(self, f.name) != f.default}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._changed().items())})"


class Selector(Method):
    """Chooses who trains next."""

    @property
    def needs(self) -> Needs:
        """What this instance asks for; a method whose variants differ overrides it."""
        return self.card.needs

    @property
    def max_clients(self) -> int | None:
        """Above this many clients this instance refuses; a method whose variants differ overrides it."""
        return self.card.max_clients

    @property
    def favour(self) -> float:
        """How many times its fair share a client may be called by design; the guard's cap is never below it."""
        return 1.0

    @property
    def head_start(self) -> int:
        """Calls that a client may have by design before others have had theirs; the guard allows them in advance."""
        return 0

    @property
    def purse(self) -> float:
        """Share of places for clients wanted beyond the guard's usual cap, for methods that name the most wanted first.

        Then `favour` is what nobody exceeds, and the cap stays as usual for all other places.
        """
        return 0.0

    def roster(self, clients: Clients, rng: np.random.Generator) -> None:
        """Clients joined or left. What was learned of the others stays; PerClient state needs nothing done."""

    @abstractmethod
    def select(self, now: Round, k: int) -> Selection:
        """Names min(k, available) clients. Looks, never learns: calling it twice changes nothing."""

    def update(self, feedback: Feedback) -> None:
        """Learns from one round, never looks. Counters, decays and credits move here and nowhere else."""


class Workbench(Protocol):
    """What filters and server-side signals may measure: any average of any replies on held-out data."""

    @property
    def labels(self) -> np.ndarray:
        """True labels of the validation set."""

    def logits(self, row: int) -> np.ndarray:
        """Validation logits of one reply's own model; computed once a round."""

    def loss(self, rows: np.ndarray) -> float:
        """Validation loss of the average of these replies; of the global model when there are none."""

    def accuracy(self, rows: np.ndarray) -> float:
        """Validation accuracy of the same."""


class Filter(Method):
    """Decides which good replies are averaged."""

    @abstractmethod
    def keep(self, replies: Replies, bench: Workbench) -> np.ndarray:
        """A mask over the replies, true where kept. Looks, never learns."""

    def update(self, replies: Replies, kept: np.ndarray, model: np.ndarray) -> None:
        """Learns from the round: what was kept and the global model that came of it."""


class Average(Method):
    """Turns the kept replies into the next global model."""

    @abstractmethod
    def combine(
        self, model: np.ndarray, replies: Replies, clients: Clients, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """The next model; `weights`, where the selector gave them, replace the rule's own."""

    def mixed(self, model: np.ndarray, replies: Replies, clients: Clients, weights: np.ndarray) -> np.ndarray:
        """The next model where weights say how much of each local model is in it (`Selection.of_models`)."""
        return self.combine(model, replies, clients, weights)
