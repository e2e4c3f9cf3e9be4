"""The selector for those who do not say which is the one that the stored tournament names, and only then."""

from pathlib import Path

import pytest

from callup.core.catalogue import DEFAULT
from callup.experiments.reproduce.store import Results
from callup.experiments.tournament.board import Board
from callup.experiments.tournament.cup import read_cup
from callup.experiments.tournament.overview import tally
from callup.experiments.tournament.standings import standings

TOURNAMENT = Path(__file__).parents[2] / "papers" / "tournament"


@pytest.fixture(scope="module")
def tables():
    board = Board(read_cup(TOURNAMENT), Results(TOURNAMENT / "results"))
    return {place.name: standings(board, place) for place in board.places}


def test_the_default_is_best_or_tied_in_nine_of_ten_places(tables):
    # Of all places: one that is not played to its end counts against it.
    found = tally(tables, DEFAULT).accuracy
    assert len(found["best"]) + len(found["tied"]) >= 0.9 * len(tables)


def test_the_default_is_nowhere_worse_than_chance(tables):
    assert tally(tables, DEFAULT).worse_than_random == ()


def test_nobody_else_would_do_as_well(tables):
    methods = {line.method for lines in tables.values() for line in lines if not line.reference} - {DEFAULT}
    ours = tally(tables, DEFAULT).accuracy
    for method in methods:
        theirs = tally(tables, method).accuracy
        assert len(theirs["best"]) + len(theirs["tied"]) < len(ours["best"]) + len(ours["tied"]), method
