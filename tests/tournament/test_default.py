"""The selector for those who do not say which is the one that the stored tournament names, and only then."""

from pathlib import Path

import pytest

from callup.core.catalogue import DEFAULT
from callup.experiments.reproduce.store import Results
from callup.experiments.tournament.cup import read_cup
from callup.experiments.tournament.extra_time import LongBoard
from callup.experiments.tournament.overview import duel, tally
from callup.experiments.tournament.standings import standings

TOURNAMENT = Path(__file__).parents[2] / "papers" / "tournament"


@pytest.fixture(scope="module")
def board():
    return LongBoard(read_cup(TOURNAMENT), Results(TOURNAMENT / "results"))


@pytest.fixture(scope="module")
def tables(board):
    return {place.name: standings(board, place) for place in board.places}


def test_the_default_is_best_or_tied_in_nine_of_ten_places(tables):
    # Of all places: one that is not played to its end counts against it.
    found = tally(tables, DEFAULT).accuracy
    assert len(found["best"]) + len(found["tied"]) >= 0.9 * len(tables)


def test_the_default_is_nowhere_worse_than_chance(tables):
    assert tally(tables, DEFAULT).worse_than_random == ()


def test_its_recall_on_the_classes_of_mavericks_is_within_two_points_of_the_best_but_in_one_place(board, tables):
    # In squad-8, drawn after the design was frozen, astraea recalls the class 2.007 points better and is 1.6 points
    # less accurate for it. Other forms of lineup are not among those it is held to.
    duels = [duel(board, place, DEFAULT, tables[place.name]) for place in board.places]
    recalls = {one.place: one.recall.mean for one in duels if one is not None and one.recall is not None}
    assert len(recalls) >= 16
    assert [place for place, gap in recalls.items() if gap < -0.02] == ["squad-8: 20 % lost"]


def test_nobody_else_would_do_as_well(board, tables):
    house = board.cup.house
    methods = {line.method for lines in tables.values() for line in lines if not line.reference} - house
    ours = tally(tables, DEFAULT).accuracy
    for method in methods:
        theirs = tally(tables, method).accuracy
        assert len(theirs["best"]) + len(theirs["tied"]) < len(ours["best"]) + len(ours["tied"]), method
