"""The rule that judges a row, on numbers small enough to check by hand."""

import pytest

from callup.experiments.metrics import Measured
from callup.experiments.reproduce.bounds import allowed
from callup.experiments.reproduce.published import Published
from callup.experiments.reproduce.tables import Contradiction
from callup.experiments.reproduce.verdict import Pair, at_full_size, direction, scaled, spread


def row(value, std=None, method="ours", censored=False, digits=2):
    return Published("m", "", "d", "e", method, value, std, None, True, censored, "", digits)


def values(*numbers):
    return [Measured(float(n)) for n in numbers]


def test_spread_is_the_published_one_but_not_below_rounding_and_one_per_cent():
    assert spread(row(8.20, 0.21)) == 0.21
    assert spread(row(6.17, 0.04)) == pytest.approx(0.0617)  # 1 %
    assert spread(row(74.0, None, digits=1)) == pytest.approx(3.7)  # none printed: 5 %
    assert spread(row(0.001, 0.0, digits=3)) == pytest.approx(0.0005)  # half of the last digit


def test_reproduced_within_the_spread_and_two_standard_errors():
    published = row(0.62, 0.20)
    # 0.85 is 0.23 away: more than 0.20, less than 0.20 + 2 * 0.08/sqrt(16) = 0.24.
    assert at_full_size(published, Measured(0.85, n=16, std=0.08), None).word == "reproduced"
    assert at_full_size(published, Measured(0.87, n=16, std=0.08), None).word == "not reproduced"


def test_our_own_noise_cannot_make_a_row():
    # A standard error of 1 counts as half of the spread, 0.1 of 0.2: 0.62 + 0.20 + 0.20 is the limit.
    published = row(0.62, 0.20)
    assert at_full_size(published, Measured(1.01, n=4, std=2.0), None).word == "reproduced"
    assert at_full_size(published, Measured(1.03, n=4, std=2.0), None).word == "not reproduced"


def test_a_full_run_is_about_values_and_direction_is_only_said():
    pair = Pair(row(100), row(200, method="rand"), values(150, 160), values(190, 210))
    verdict = at_full_size(row(100), Measured(155.0, n=2, std=7.0), pair)
    assert verdict.word == "not reproduced"
    assert verdict.why == "0.78 of rand, published 0.50"  # 155/200, 100/200


def test_a_row_beyond_the_horizon():
    never = row(200, censored=True, digits=0)
    assert at_full_size(never, Measured(200.0, "above", 3), None).word == "reproduced"
    assert at_full_size(never, Measured(150.0, n=3, std=5.0), None).word == "not reproduced"
    # We never got there, the paper did.
    assert at_full_size(row(131.3), Measured(200.0, "above", 3), None).word == "not reproduced"


def test_a_scaled_run_is_never_reproduced():
    same = Pair(row(100), row(200, method="rand"), values(100, 100), values(200, 200))
    assert scaled(same).word == "direction only"
    assert scaled(None).word == "not attempted"


def test_direction_is_judged_seed_by_seed():
    # Differences -10, -10, -10: certain, although both methods vary by 100 between seeds.
    pair = Pair(row(100), row(200, method="rand"), values(90, 190, 290), values(100, 200, 300))
    assert direction(pair).word == "direction only"
    # Differences -30, +20, -5: mean -5, standard error 14.5.
    pair = Pair(row(100), row(200, method="rand"), values(70, 220, 295), values(100, 200, 300))
    assert direction(pair).word == "not reproduced"
    assert "within our noise" in direction(pair).why
    pair = Pair(row(100), row(200, method="rand"), values(210, 220), values(200, 200))
    assert direction(pair).word == "not reproduced"
    assert "the other way round" in direction(pair).why


def test_where_the_paper_claims_no_difference():
    near = row(78.42, 0.79), row(78.46, 0.90, method="rand")
    # Differences of +3 and +5 points: mean 4, standard error 1, so two errors against the printed sign.
    assert direction(Pair(*near, values(83, 85), values(80, 80))).word == "not reproduced"
    assert direction(Pair(*near, values(79, 82), values(80, 80))).word == "direction only"


def test_one_seed_is_said():
    assert direction(Pair(row(100), row(200, method="rand"), values(90), values(100))).why.endswith("one seed")


def test_targets_that_nobody_reached_say_nothing():
    late = [Measured(300.0, "above")]
    assert direction(Pair(row(100), row(200, method="rand"), late, late)).word == "not attempted"
    # One of the two got there: that is an answer.
    assert direction(Pair(row(100), row(200, method="rand"), values(250), late)).word == "direction only"


@pytest.mark.parametrize(
    ("bound", "value", "std", "limit"),
    [("expected", 2.90, 0.02, 4.22), ("expected_ten", 9.33, 0.17, 10.59), ("least", 0.57, 0.04, 1.12)],
)
def test_case_1_contradicts_its_own_settings(bound, value, std, limit):
    # 18 and 6 clients a class: values by closed form, worked out in the tests of partitions and of Fed-CBS.
    holders = (18,) * 5 + (6,) * 5
    chosen = 10 if bound == "expected_ten" else 36
    entry = Contradiction("", "e", "m", ("x",), bound.removesuffix("_ten"), holders, 36, chosen)
    found = allowed(entry, 100.0)
    assert round(found.value, 2) == limit
    assert found.conflict(row(value, std))
    # 16 and 8 give the printed values: no conflict.
    sixteen = Contradiction("", "e", "m", ("x",), bound.removesuffix("_ten"), (16,) * 5 + (8,) * 5, 36, chosen)
    assert not allowed(sixteen, 100.0).conflict(row(value, std))
