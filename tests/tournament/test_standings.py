"""The table of a place, against intervals worked out by hand."""

from dataclasses import replace

import pytest

from callup.experiments.tournament.board import Board
from callup.experiments.tournament.comparison import comparison
from callup.experiments.tournament.markdown import by_reason
from callup.experiments.tournament.overview import duel, remembered, tallies, tally
from callup.experiments.tournament.page import page, tables_of
from callup.experiments.tournament.standings import standings


def seeds(played, name, values, **more):
    for seed, value in enumerate(values):
        played.put(name, seed, value, **more)


def by_name(played, place=0):
    return {line.method: line for line in standings(played.board, played.board.places[place])}


@pytest.fixture
def full(case):
    """Differences to a: b tied, c behind, random too scattered to say."""
    played = case.played(case.cup("random", "a", "b", "c"))
    seeds(played, "a", [0.80] * 5)
    seeds(played, "b", [0.798, 0.804, 0.796, 0.800, 0.797])
    seeds(played, "c", [0.78, 0.78, 0.78, 0.78, 0.77])
    seeds(played, "random", [0.70, 0.82, 0.70, 0.70, 0.78])
    return played


def test_intervals_ranks_and_standings(full):
    lines = by_name(full)
    # b: mean -0.001, variance 40e-6 / 4, so 2.7764 sqrt(10e-6 / 5) = 0.0039264 to each side.
    gap = lines["b"].to_best
    assert (gap.mean, gap.low, gap.high) == pytest.approx((-0.001, -0.0049264, 0.0029264), abs=2e-6)
    # c: mean -0.022, variance 80e-6 / 4, so 2.7764 * 0.002 = 0.0055528.
    gap = lines["c"].to_best
    assert (gap.mean, gap.low, gap.high) == pytest.approx((-0.022, -0.0275528, -0.0164472), abs=2e-6)
    # random: mean -0.06, variance 0.0128 / 4, so 2.7764 sqrt(0.0032 / 5) = 0.0702380: above 0 and far below -0.01.
    gap = lines["random"].to_best
    assert (gap.mean, gap.low, gap.high) == pytest.approx((-0.06, -0.130238, 0.010238), abs=2e-6)
    assert {name: line.standing for name, line in lines.items()} == {
        "a": "best",
        "b": "tied",
        "c": "behind",
        "random": "unclear",
    }
    assert {name: line.rank for name, line in lines.items()} == {"a": 1, "b": 2, "c": 3, "random": 4}
    assert lines["b"].accuracy.value == pytest.approx(0.799)
    assert lines["b"].accuracy.std == pytest.approx(0.0031623, abs=1e-6)


def test_a_world_of_low_accuracies_asks_for_more_to_be_tied(case):
    for point, standing in ((0.01, "tied"), (0.0025, "behind")):
        played = case.played(case.cup("random", "a", worlds=(case.world(point=point),)))
        seeds(played, "a", [0.04] * 5)
        seeds(played, "random", [0.034] * 5)
        assert by_name(played)["random"].standing == standing


def test_worse_than_random_needs_the_whole_interval(case):
    played = case.played(case.cup("random", "a", "b"))
    seeds(played, "random", [0.80] * 5)
    seeds(played, "a", [0.79, 0.79, 0.79, 0.79, 0.78])
    seeds(played, "b", [0.70, 0.82, 0.70, 0.70, 0.78])
    lines = by_name(played)
    assert lines["a"].worse_than_random
    assert not lines["b"].worse_than_random
    assert tally(tables_of(played.board), "a").worse_than_random == ("w: e",)


def test_few_seeds_leave_a_place_open_but_who_was_cut_is_behind(case):
    played = case.played(case.cup("random", "a", "b", "c"))
    for name, value in (("random", 0.7), ("a", 0.8), ("b", 0.79), ("c", 0.6)):
        seeds(played, name, [value] * 2)
    assert {name: line.standing for name, line in by_name(played).items()} == {
        "a": "open",
        "b": "open",
        "random": "open",
        "c": "behind",
    }
    assert by_name(played)["c"].out == pytest.approx(0.2)
    # Random alone has all seeds: that does not make it the best, nor the one to beat.
    seeds(played, "random", [0.7] * 5)
    assert by_name(played)["random"].standing == "open"
    place = played.board.places[0]
    assert duel(played.board, place, "a", standings(played.board, place)) is None
    seeds(played, "a", [0.8] * 5)
    seeds(played, "b", [0.79] * 5)
    assert by_name(played)["a"].standing == "best"


def test_references_are_shown_without_rank(case):
    played = case.played(case.cup("random", "a", "all", references=("all",)))
    seeds(played, "random", [0.7] * 5)
    seeds(played, "a", [0.8] * 5)
    seeds(played, "all", [0.9] * 2)
    *ranked, last = standings(played.board, played.board.places[0])
    assert [line.method for line in ranked] == ["a", "random"]
    assert (last.method, last.rank, last.to_best.mean) == ("all", None, pytest.approx(0.1))


def curve(first, level=0.9):
    """Low before round `first`, then at this level."""
    return [0.1] * (first - 1) + [level] * (11 - first)


def test_rounds_are_counted_to_where_random_selection_ends(case):
    played = case.played(case.cup("random", "a", "b", "c"))
    for seed in range(5):
        played.put("random", seed, 0, 0.5, curve=curve(8, 0.5))  # ends at 0.5, first reached in round 8
        played.put("a", seed, 0, 0.5, curve=curve(2, 0.6))
        played.put("b", seed, 0, 0.5, curve=curve(4, 0.5))
        played.put("c", seed, 0, 0.5, curve=curve(1, 0.49))  # never
    lines = by_name(played)
    assert {name: line.rounds.text(0) for name, line in lines.items()} == {
        "random": "8 ± 0",
        "a": "2 ± 0",
        "b": "4 ± 0",
        "c": "> 10",
    }
    # b is at 0.5 in round 4; a comes from 0.1 in round 1 to 0.6 in round 2, so it is there at 1.8. In every seed.
    assert lines["b"].to_fastest.mean == pytest.approx(4 / 1.8 - 1)
    assert {name: line.rounds_standing for name, line in lines.items()} == {
        "a": "best",
        "b": "behind",
        "random": "behind",
        "c": "behind",
    }


def test_recall_over_places_is_compared_where_both_have_played(case):
    larger = replace(case.world("w", rare=[0]), environments=({"name": "e", "k": 4},))
    worlds = (case.world("v", rare=[0]), larger, case.world("x"))
    played = case.played(case.cup("random", "a", "b", worlds=worlds, champion="a"))
    for place, (own, other) in enumerate([(0.6, 0.7), (0.8, None)]):
        seeds(played, "a", [0.8] * 3, recall=[own] * 10, place=place)
        seeds(played, "random", [0.7] * 3, recall=[0.2] * 10, place=place)
        if other is not None:
            seeds(played, "b", [0.8] * 3, recall=[other] * 10, place=place)
    seeds(played, "a", [0.8] * 3, place=2)
    found = [(one.method, one.places, one.recall, one.champion) for one in remembered(tables_of(played.board), "a")]
    assert [one[:2] for one in found] == [("b", 1), ("a", 2), ("random", 2)]
    assert [one[2:] for one in found] == [pytest.approx(pair) for pair in ((0.7, 0.6), (0.7, 0.7), (0.2, 0.7))]


def test_recall_is_the_mean_over_the_last_fifth_and_zero_counts(case):
    played = case.played(case.cup("random", "a", worlds=(case.world(rare=[0]),)))
    seeds(played, "random", [0.7] * 3, recall=[0.9] * 8 + [0.0, 0.0])
    seeds(played, "a", [0.8] * 3, recall=[0.9] * 8 + [0.2, 0.4])
    lines = by_name(played)
    assert lines["random"].recall.value == 0
    assert lines["a"].recall.value == pytest.approx(0.3)


def test_the_count_over_places(case):
    played = case.played(case.cup("random", "a", "b", worlds=(case.world(lost=0.2),)))
    for place, (a, b) in enumerate(((0.80, 0.77), (0.798, 0.80))):
        seeds(played, "random", [0.5] * 5, place=place)
        seeds(played, "a", [a] * 5, place=place)
        seeds(played, "b", [b] * 5, place=place)
    first, second, last = tallies(tables_of(played.board))
    # a is best in the first place and 0.2 points off in the second; b is 3 points off in the first.
    assert (first.method, first.share, first.mean_rank) == ("a", 1.0, 1.5)
    assert (second.method, second.share, second.mean_rank) == ("b", 0.5, 1.5)
    assert (last.method, last.share, last.mean_rank) == ("random", 0.0, 3.0)
    assert first.accuracy["tied"] == ("w: e, 20 % lost",)
    assert tally({}, "a").share is None


def test_the_rival_is_chosen_by_validation_accuracy(case):
    played = case.played(case.cup("random", "a", "b", "c", champion="a"))
    for seed in range(5):
        played.put("random", seed, 0.5)
        played.put("a", seed, 0, 0.8, curve=curve(3, 0.85))
        played.put("b", seed, 0, 0.8, curve=curve(6, 0.80))
        played.put("c", seed, 0, 0.7, curve=curve(2, 0.95))  # best on test data, which is not asked
    place = played.board.places[0]
    one = duel(played.board, place, "a", standings(played.board, place))
    assert one.rival == "b"
    assert one.accuracy.mean == pytest.approx(0.05)
    # To b's 0.80: a comes from 0.1 in round 2 to 0.85 in round 3, so it is there at 2.9333; b in round 6.
    assert one.rounds.mean == pytest.approx(2.93333 / 6 - 1, abs=1e-5)


def test_forms_of_the_champion_are_held_to_the_others_and_not_to_each_other(case):
    played = case.played(case.cup("random", "a", "b", "d", champion="a", ours=("d",), seeds=3))
    for seed in range(3):
        for name, score in (("random", 0.5), ("a", 0.8), ("b", 0.7), ("d", 0.9)):
            played.put(name, seed, score)
    lines = {line.method: line for line in standings(played.board, played.board.places[0])}
    assert [line.rank for line in lines.values()] == [1, 2, 3, 4]
    assert list(lines) == ["d", "a", "b", "random"]
    assert [line.standing for line in lines.values()] == ["best", "best", "behind", "behind"]
    assert lines["b"].to_best.mean == pytest.approx(-0.2)  # the others are held to the best of all


def test_the_champion_is_not_held_to_another_form_of_itself(case):
    cup = case.cup("random", "a", "b", "d", worlds=(case.world(rare=[0]),), champion="a", ours=("d",), seeds=3)
    played = case.played(cup)
    for seed in range(3):
        for name, score in (("random", 0.5), ("a", 0.8), ("b", 0.7), ("d", 0.9)):
            played.put(name, seed, score, recall=[score] * 10)
    place = played.board.places[0]
    one = duel(played.board, place, "a", standings(played.board, place))
    assert (one.rival, one.recalls_best) == ("b", "a")


@pytest.mark.parametrize(
    ("own", "shown"), [((0.6, 0.7, 0.8), "-10.0 [-34.8, +14.8] (b)"), ((0.9, 0.9, 0.9), "highest")]
)
def test_the_page_says_how_far_the_champion_is_from_the_best_recall(case, own, shown):
    cup = case.cup("random", "a", "b", worlds=(case.world(rare=[0]),), champion="a", seeds=3)
    played = case.played(cup)
    # Differences of -0.2, -0.1 and 0.0 to b: -0.1 -+ 4.3027 x 0.1 / sqrt(3).
    for seed, recall in enumerate(own):
        played.put("a", seed, 0, 0.8, curve=[0.8] * 10, recall=[recall] * 10)
        played.put("b", seed, 0, 0.8, curve=[0.8] * 10, recall=[0.8] * 10)
        played.put("random", seed, 0, 0.7, curve=[0.7] * 10, recall=[0.0] * 10)
    line = next(line for line in page(played.board) if line.startswith("| w: e | b |"))
    assert line.endswith(f"| {shown} |")


def test_the_page_says_what_there_is_and_what_is_missing(full):
    text = "\n".join(page(full.board))
    assert "| 2 | b | 5 | 79.9 ± 0.3 | 80.9 | -0.1 [-0.5, +0.3] |" in text
    assert "20 of 20 cells that are known to be needed are stored." in text
    assert "made up" in text


def test_an_empty_page(case):
    text = "\n".join(page(case.played(case.cup("random", "a")).board))
    assert "0 of 4 cells" in text
    assert "Not played yet: e." in text
    assert "in 1 place: w: e." in text


def test_whoever_is_absent_for_the_same_reason_is_named_together():
    reasons = {"all": "a reference", "oort": "too dear", "shapley": "too dear", "random": "a reference"}
    assert by_reason(reasons) == "all, random: a reference; oort, shapley: too dear"


def test_the_page_spells_out_how_the_champion_stands(case):
    played = case.played(case.cup("random", "a", "b", champion="a", worlds=(case.world(lost=0.2),)))
    for place in (0, 1):
        for seed in range(5):
            played.put("random", seed, 0, 0.5, place=place, curve=curve(8, 0.5))
            played.put("a", seed, 0, 0.7, place=place, curve=curve(2 + place, 0.60 + 0.1 * place))
            played.put("b", seed, 0, 0.8, place=place, curve=curve(4, 0.64))
    text = "\n".join(page(played.board))
    # In the first place a ends 4 points behind b; in the second it is 6 ahead, and at b's 0.64 after 2.9 rounds, not 4.
    assert "best or tied in 50 % by accuracy and in\n100 % by rounds. Not tied: w: e (behind)." in text
    assert "Not tied by rounds: nowhere." in text
    assert "| w: e | b | -4.0 [-4.0, -4.0] | not in every seed | – |" in text
    assert "| w: e, 20 % lost | b | +6.0 [+6.0, +6.0] | 0.73 [0.73, 0.73] | – |" in text


def test_a_small_cup_is_shown_against_its_champion(case, full):
    cup = replace(full.board.cup, name="parts", champion="a")
    text = "\n".join(comparison(Board(cup, full.results)))
    assert "callup reproduce tournament/parts --scale small" in text
    assert "| a | 80.0 |" in text
    assert "| c | -2.2 [-2.8, -1.6] |" in text


def test_a_small_cup_shows_recall_where_there_are_mavericks(case):
    worlds = (case.world("v"), replace(case.world("w", rare=[0]), environments=({"name": "e", "k": 4},)))
    played = case.played(case.cup("random", "a", worlds=worlds, champion="a"))
    seeds(played, "a", [0.8, 0.8], place=0)
    seeds(played, "a", [0.8, 0.8], recall=[0.6] * 10, place=1)
    seeds(played, "random", [0.7], recall=[0.25] * 10, place=1)
    text = "\n".join(comparison(played.board))
    told = text.partition("recall on the classes of Mavericks, in %:\n\n")[2].splitlines()
    assert told == ["| method | w: e |", "|---|---|", "| a | 60.0 |", "| random | 25.0 |"]


def test_a_small_cup_without_mavericks_says_nothing_of_recall(full):
    assert "recall" not in "\n".join(comparison(Board(replace(full.board.cup, champion="a"), full.results)))
