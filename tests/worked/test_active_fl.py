"""Active FL: valuations by hand, the law of the draws, and what other implementations get wrong."""

import math

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.core.errors import UsageError

# Eight clients of 100, 25, 4, 1, 1, 1, 1, 1 samples and losses 3, 4, 5, 2, 1.5, 1, 0.5, 0.1:
# valuations sqrt(n) * loss of 30, 20, 10, 2, 1.5, 1, 0.5, 0.1.
IDS = np.array([11, 22, 33, 44, 55, 66, 77, 88])
CLIENTS = Clients(IDS, num_examples=[100, 25, 4, 1, 1, 1, 1, 1])
LOSS = np.array([3, 4, 5, 2, 1.5, 1, 0.5, 0.1])
VALUATION = [30, 20, 10, 2, 1.5, 1, 0.5, 0.1]


def started(spec="active-fl", clients=CLIENTS):
    made = selector(spec)
    made.start(clients, Plan(k=4), stream(0, "start"))
    return made


def heard(spec="active-fl"):
    """A selector to which everyone has reported once."""
    made = started(spec)
    made.update(Feedback(1, IDS, {"loss": LOSS}, CLIENTS))
    return made


def now(path, index=2, ids=IDS, clients=CLIENTS):
    return Round(index, ids, clients, stream(0, "active", path))


def test_valuations_are_root_size_times_mean_loss():
    # Mean loss over the root of the size, as one code has it, would put client 44 (2.0) above client 11 (0.3).
    cohort = heard().select(now("all"), 8)
    assert dict(zip(cohort.ids.tolist(), cohort.scores["valuation"].tolist(), strict=True)) == pytest.approx(
        dict(zip(IDS.tolist(), VALUATION, strict=True))
    )


def test_three_quarters_are_left_out_not_kept():
    # floor(0.75 * 8) = 6 of 8 are left out: 11 and 22 stay. Both places are drawn by value when alpha3 is 0.
    made = heard("active-fl:alpha3=0")
    for path in range(50):
        cohort = made.select(now(path), 2)
        assert sorted(cohort.ids.tolist()) == [11, 22]
        assert cohort.notes == {"left_out": 6.0}
        assert cohort.scores["by_value"].tolist() == [1, 1]


def test_the_first_place_goes_by_softmax():
    # exp(0.1 * 30) against exp(0.1 * 20): 1 / (1 + e^-1) = 0.7311.
    made, n, here = heard("active-fl:alpha2=0.1,alpha3=0"), 1200, now("softmax")
    first = sum(int(made.select(here, 1).ids[0]) == 11 for _ in range(n)) / n
    expected = 1 / (1 + math.exp(-1))
    # 4.9 standard errors: once in 1e6.
    assert abs(first - expected) < 4.9 * math.sqrt(expected * (1 - expected) / n)


def test_the_uniform_share_comes_from_everyone_left():
    # k = 2, alpha3 = 0.5: one by value (11 or 22), one uniformly from the other seven, the left-out ones included.
    made, n, counts, here = heard("active-fl:alpha3=0.5"), 1400, dict.fromkeys(IDS.tolist(), 0), now("uniform")
    for _ in range(n):
        cohort = made.select(here, 2)
        assert cohort.ids[0] in (11, 22)
        assert cohort.scores["by_value"].tolist() == [1, 0]
        counts[int(cohort.ids[1])] += 1
    # p(11) = 1 / (1 + exp(-0.1)). Second place: 1/7 for each of the six, (1 - p) / 7 for 11, p / 7 for 22.
    p = 1 / (1 + math.exp(-0.1))
    expected = n / 7 * np.array([1 - p, p, 1, 1, 1, 1, 1, 1])
    observed = np.array([counts[i] for i in IDS.tolist()])
    # Chi-square with 7 degrees of freedom exceeds 40.5 once in 1e6.
    assert ((observed - expected) ** 2 / expected).sum() < 40.5


def test_places_are_rounded_down_and_rounding_errors_do_not_count():
    # floor((1 - alpha3) k): 9 of 10 by default, none of 1, and one of 10 at 0.9 although (1 - 0.9) * 10 < 1.
    clients = Clients(np.arange(40), num_examples=np.ones(40))
    for spec, k, by_value in (("active-fl", 10, 9), ("active-fl", 1, 0), ("active-fl:alpha3=0.9", 10, 1)):
        cohort = started(spec, clients).select(now("places", ids=clients.ids, clients=clients), k)
        assert len(cohort.ids) == k
        assert cohort.scores["by_value"].sum() == by_value


def test_whoever_never_reported_comes_first():
    made = started("active-fl:alpha3=0,alpha1=0")
    made.update(Feedback(1, IDS[:6], {"loss": LOSS[:6]}, CLIENTS, failed={77: "no reply"}))
    for path in range(20):
        assert set(made.select(now(path), 2).ids.tolist()) == {77, 88}
        assert set(made.select(now(path), 4).ids[:2].tolist()) == {77, 88}
    flat = started("active-fl:alpha3=0,alpha1=0,alpha2=0")
    flat.update(Feedback(1, IDS[:6], {"loss": LOSS[:6]}, CLIENTS))
    assert set(flat.select(now("flat"), 2).ids.tolist()) == {77, 88}


def test_being_left_out_is_never_remembered():
    # Another code overwrites valuations with -inf for good. Here selecting changes nothing, and when 11 and 22 are
    # away the next two lead.
    made = heard("active-fl:alpha3=0")
    before = made.valuation_.get(IDS).tolist()
    for path in range(10):
        made.select(now(path), 2)
    assert made.valuation_.get(IDS).tolist() == before == pytest.approx(VALUATION)
    # Six are here: floor(4.5) = 4 are left out, 33 and 44 stay.
    assert sorted(made.select(now("away", ids=IDS[2:]), 2).ids.tolist()) == [33, 44]


def test_valuations_stay_until_the_client_reports_again():
    made = heard("active-fl:alpha3=0")
    # 11 now fits well, 10 * 0.01 = 0.1; 22 was asked and said nothing; 88 got worse, 1 * 50.
    made.update(Feedback(2, np.array([88, 11]), {"loss": np.array([50.0, 0.01])}, CLIENTS, failed={22: "no reply"}))
    assert made.valuation_.get(IDS).tolist() == pytest.approx([0.1, 20, 10, 2, 1.5, 1, 0.5, 50])
    assert sorted(made.select(now("again", 3), 2).ids.tolist()) == [22, 88]


def test_too_few_with_a_chance_are_topped_up_uniformly():
    # alpha1 = 1 leaves everyone out: each pair of the eight is as likely as any other.
    made, n, counts, here = heard("active-fl:alpha1=1,alpha3=0"), 1000, np.zeros(8), now("top up")
    for _ in range(n):
        counts[np.searchsorted(IDS, made.select(here, 2).ids)] += 1
    # Each client is in a quarter of the pairs; 5.2 standard deviations for eight clients: about once in 1e6.
    assert (np.abs(counts - n / 4) < 5.2 * math.sqrt(n * 0.25 * 0.75)).all()


def test_an_enormous_loss_stays_finite_and_does_not_hide_the_others():
    clients = Clients([1, 2, 3, 4], num_examples=[1e300, 4, 1, 1])
    made = started("active-fl:alpha1=0.5,alpha3=0,alpha2=10", clients)
    made.update(Feedback(1, clients.ids, {"loss": np.array([1e300, 3.0, 2.0, 1.0])}, clients))
    cohort = made.select(now("huge", clients=clients, ids=clients.ids), 4)
    assert cohort.ids[:2].tolist() == [1, 2]
    assert np.isfinite(cohort.scores["valuation"]).all()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("active-fl:alpha1=1.5", "alpha1 must be a share from 0 to 1, got 1.5"),
        ("active-fl:alpha3=-0.1", "alpha3 must be a share from 0 to 1, got -0.1"),
        ("active-fl:alpha2=inf", "alpha2 must not be negative and must be finite, got inf"),
        ("active-fl:alpha=1", "did you mean 'alpha3'|no parameter 'alpha'"),
    ],
)
def test_bad_parameters_are_named(spec, message):
    with pytest.raises(UsageError, match=message):
        selector(spec)
