"""A cup of hand-made results: who scored what is written down here, nothing is trained."""

from itertools import count
from types import SimpleNamespace

import pytest

from callup.experiments.metrics import Series
from callup.experiments.reproduce.store import Done, Results
from callup.experiments.tournament.cup import Contestant, Cup, Trial
from callup.experiments.tournament.extra_time import LongBoard
from callup.experiments.tournament.match import SELECTION_SECONDS
from callup.experiments.tournament.worlds import World

ROUNDS = 10


def world(name="w", lost=0.0, rare=(), **more):
    base = {"task": "fashion14-mlp", "partition": "dirichlet:clients=12", "k": 3, "rounds": ROUNDS}
    base["rare_classes"] = list(rare)
    values = {"margin": 0.03, **more}
    return World(name, "A world", base, ({"name": "e"},), {"world": "made up"}, 0.1, lost, **values)


def cup(*names, worlds=(), references=(), ours=(), **more):
    methods = [
        Contestant(name, {"selector": SPECS[name]}, reference=name in references, ours=name in ours) for name in names
    ]
    return Cup("tournament", "A cup", tuple(methods), worlds or (world(),), Trial((), (), {}), **more)


SPECS = {"random": "random", "a": "fed-cbs", "b": "astraea", "c": "balanced", "d": "by-size", "all": "all"}


class Played:
    """A cup with results put in by hand."""

    def __init__(self, folder, what) -> None:
        self.results = Results(folder)
        self.board = LongBoard(what, self.results)

    def put(self, method, seed, test, validation=None, place=0, recall=(), curve=None, seconds=0.0):
        """One run whose last fifth, two of ten evaluations, has these mean accuracies."""
        test_curve = tuple(curve) if curve else (0.1,) * 8 + (test - 0.01, test + 0.01)
        held_out = test if validation is None else validation
        made = Series(
            ROUNDS,
            tuple(range(1, ROUNDS + 1)),
            test_curve,
            (0.0,) * ROUNDS,
            tuple((value,) for value in recall),
            0.01,
            (0.1,) * 8 + (held_out + 0.01, held_out - 0.01),
        )
        board = self.board
        cell = board.cell(board.places[place], board.cup.method(method), seed)
        self.results.add("w", cell, Done(made, 1.0, {SELECTION_SECONDS: seconds}), "by hand")

    def names(self):
        """Method and seed of every cell that can be run now."""
        specs = {spec: name for name, spec in SPECS.items()}
        return sorted((specs[cell.settings.selector], cell.settings.seed) for _, cell in self.board.open())


@pytest.fixture
def case(tmp_path):
    """`case.played(case.cup("random", "a"))`, each with a folder of its own."""
    numbers = count()
    return SimpleNamespace(world=world, cup=cup, played=lambda what: Played(tmp_path / str(next(numbers)), what))
