"""Who plays on: validation accuracy alone decides, and the same results always give the same plan."""

from dataclasses import replace

import pytest

from callup.core.errors import InputError
from callup.experiments.tournament.board import Board


def first_seeds(played, **scores):
    for name, values in scores.items():
        for seed, value in enumerate(values):
            played.put(name, seed, 0.5, value)


def test_everybody_plays_the_first_seeds_and_then_all_who_are_not_clearly_out(case):
    played = case.played(case.cup("random", "a", "b", "c"))
    everybody = [(name, seed) for name in ("a", "b", "c", "random") for seed in (0, 1)]
    assert played.names() == everybody
    # Mean scores: a .70, b .66, c .655, random .55. The leader is a; b is 2.9 points behind it with one of the seeds.
    first_seeds(played, a=[0.70, 0.70], b=[0.671, 0.649], c=[0.66, 0.65], random=[0.55, 0.55])
    assert played.board.clearly_out(played.board.places[0]) == {"c": pytest.approx(0.045)}
    assert played.names() == [(name, seed) for name in ("a", "b", "random") for seed in (2, 3, 4)]


def test_nobody_is_cut_before_all_first_seeds_are_in(case):
    played = case.played(case.cup("random", "a", "b"))
    first_seeds(played, a=[0.9, 0.9], b=[0.1, 0.1], random=[0.5])
    assert played.board.clearly_out(played.board.places[0]) is None
    assert played.names() == [("random", 1)]


def test_test_accuracy_has_no_part_in_it(case):
    for test in (0.2, 0.99):
        played = case.played(case.cup("random", "a", "b"))
        first_seeds(played, a=[0.8, 0.8], random=[0.8, 0.8])
        for seed in (0, 1):
            played.put("b", seed, test, 0.7)
        assert set(played.board.clearly_out(played.board.places[0])) == {"b"}


def test_the_champion_and_random_play_on_and_references_never_do(case):
    played = case.played(case.cup("random", "a", "b", "all", champion="a", references=("all",)))
    # The reference is ahead of all, but nobody is measured against it.
    first_seeds(played, random=[0.5, 0.5], a=[0.5, 0.5], b=[0.6, 0.6], all=[0.9, 0.9])
    assert played.board.clearly_out(played.board.places[0]) == {}
    assert played.names() == [(name, seed) for name in ("a", "b", "random") for seed in (2, 3, 4)]


def test_the_champion_cuts_nobody(case):
    played = case.played(case.cup("random", "a", "b", "c", champion="a"))
    # b and c are far behind the champion; b leads the others, and c is 4 points behind b.
    first_seeds(played, a=[0.9, 0.9], b=[0.7, 0.7], c=[0.66, 0.66], random=[0.5, 0.5])
    assert set(played.board.clearly_out(played.board.places[0])) == {"c"}


def test_the_champion_in_another_form_cuts_nobody_and_plays_on(case):
    for score in (0.9, 0.1):
        played = case.played(case.cup("random", "a", "b", "c", "d", champion="a", ours=("d",)))
        first_seeds(played, a=[0.9, 0.9], b=[0.7, 0.7], c=[0.66, 0.66], random=[0.5, 0.5], d=[score, score])
        assert set(played.board.clearly_out(played.board.places[0])) == {"c"}
        assert ("d", 2) in played.names()


def test_the_margin_is_the_worlds_own(case):
    scores = {"a": [0.10, 0.10], "b": [0.08, 0.08], "random": [0.10, 0.10]}
    for margin, out in ((0.03, set()), (0.01, {"b"})):
        played = case.played(case.cup("random", "a", "b", worlds=(case.world(margin=margin),)))
        first_seeds(played, **scores)
        assert set(played.board.clearly_out(played.board.places[0])) == out


def test_every_variant_is_played_with_lost_replies_too(case):
    played = case.played(case.cup("random", "a", worlds=(case.world(lost=0.2),)))
    plain, lossy = played.board.places
    assert (plain.name, lossy.name) == ("w: e", "w: e, 20 % lost")
    random = played.board.cup.method("random")
    assert played.board.cell(plain, random, 0).settings.lost == 0
    assert played.board.cell(lossy, random, 0).settings.lost == 0.2


def test_who_is_absent_does_not_play_and_presets_go_before_the_methods_own_settings(case):
    here = case.world(absent={"b": "cannot"}, presets={"a": {"selector": "fed-cbs:sharp", "local": {"epochs": 2}}})
    played = case.played(case.cup("random", "a", "b", worlds=(here,)))
    made = {cell.settings.selector: cell.settings for _, cell in played.board.open()}
    assert set(made) == {"random", "fed-cbs:sharp"}
    assert made["fed-cbs:sharp"].local == {"epochs": 2}


def test_the_plan_says_what_may_come(case):
    played = case.played(case.cup("random", "a", "b", "c"))
    # Two seeds of four methods, and three more of half of them.
    assert len(played.board.open()) == 8
    assert len(played.board.likely(0.5)) == 8 + 3 * 2
    assert len(played.board.likely(1.0)) == 8


def test_an_unknown_name_is_told_with_its_world(case):
    wrong = case.world(presets={"a": {"selector": "fed-cbz"}})
    with pytest.raises(InputError, match=r"w: e, a: unknown selector 'fed-cbz'; did you mean 'fed-cbs'\?"):
        case.played(case.cup("random", "a", worlds=(wrong,))).names()


def test_who_is_clearly_out_does_not_begin_where_replies_are_lost(case):
    worlds = (case.world(lost=0.2),)
    played = case.played(case.cup("random", "a", "b", "all", champion="a", references=("all",), worlds=worlds))
    plain, lossy = played.board.places
    assert played.board.out_before(plain) == {}
    # Nobody begins there before the place without losses is decided.
    assert played.board.playing(lossy) is None
    assert {cell.settings.lost for _, cell in played.board.open()} == {0.0}
    first_seeds(played, random=[0.7, 0.7], a=[0.1, 0.1], b=[0.5, 0.5], all=[0.9, 0.9])
    assert played.board.out_before(lossy) == {"all": "a reference", "b": "w: e"}
    assert {(m, s) for m, s in played.names() if s < 2} == {(m, s) for m in ("random", "a") for s in (0, 1)}


def test_a_dear_world_comes_after_a_cheap_one_of_its_kind(case):
    cheap, dear = case.world("cheap"), case.world("dear", after="cheap")
    two = replace(cheap, environments=({"name": "e"}, {"name": "f", "k": 4}))
    everything = case.cup("random", "a", "b", "c", worlds=(two, replace(dear, base={**dear.base, "k": 5})))
    played = case.played(everything)
    for place, scores in enumerate(({"a": 0.90, "b": 0.88, "c": 0.90}, {"a": 0.88, "b": 0.90, "c": 0.86})):
        for name, score in {**scores, "random": 0.5}.items():
            for seed in (0, 1):
                assert played.board.playing(played.board.places[2]) is None
                played.put(name, seed, 0.5, score, place)
    # a and b are 2 points behind in one place of the two and lead in the other; c is 2 points behind on the mean. Half
    # of the margin is 1.5 points.
    assert played.board.out_before(played.board.places[2]) == {"c": "cheap"}
    # The same when the dear world alone is asked for.
    alone = Board(replace(everything, worlds=everything.worlds[1:]), played.results)
    assert [method.name for method in alone.playing(alone.places[0])] == ["random", "a", "b"]
