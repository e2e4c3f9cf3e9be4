"""Methods side by side, on runs small enough to do in the head."""

import pytest

from callup import Clients
from callup.core.errors import InputError, UsageError
from callup.report.comparison import compare, failing, metric_named, names
from callup.report.comparison_files import as_csv, as_latex, plain
from callup.report.grouping import scenarios
from callup.simulation.run import Ledger, RoundRecord, Run

CLIENTS = Clients([0, 1])

# The end is the mean of the last five evaluations; these have two.
ENDS = {"a": [0.6, 0.7, 0.8], "b": [0.5, 0.6, 0.6]}


def a_run(accuracies, **settings):
    history = tuple(
        RoundRecord(t, 2, [0], [0], [0], {}, "", None, accuracy=accuracy, ledger=Ledger(2, 1, 1, 0, 1))
        for t, accuracy in enumerate(accuracies, start=1)
    )
    return Run({"scenario": "small", **settings}, CLIENTS, history, model=None, states={})


def race(**more):
    return scenarios(
        [
            a_run([end - 0.1, end + 0.1], selector=name, seed=seed, scenario="S & T", **more)
            for name, ends in ENDS.items()
            for seed, end in enumerate(ends)
        ]
    )


def test_the_difference_by_hand():
    (scenario,) = race()
    one = compare(scenario, "a", "b", metric_named("accuracy"))
    assert (one.mean, one.other) == pytest.approx((0.7, 1.7 / 3))
    assert one.difference.mean == pytest.approx(0.4 / 3)  # .1, .1 and .2
    assert (one.won, one.seeds) == (3, 3)
    assert one.loss == pytest.approx(-(0.7 - 1.7 / 3) / (1.7 / 3))
    back = compare(scenario, "b", "a", metric_named("accuracy"))
    assert back.won == 0 and back.difference.low == pytest.approx(-one.difference.high, abs=0.01)


def test_lower_is_better_for_rounds():
    (scenario,) = race()
    # To .75: a takes two rounds in its last two seeds (.8, .9), and b none; not reached is one round more than two.
    one = compare(scenario, "a", "b", metric_named("rounds@0.75"))
    assert (one.mean, one.other, one.won) == pytest.approx((7 / 3, 3.0, 2))
    assert one.loss == pytest.approx((7 / 3 - 3) / 3)


def test_verdicts():
    even = scenarios(
        [
            a_run([0.5 + more], selector=name, seed=seed)
            for name, gain in (("a", 0.0), ("b", 0.1), ("c", 0.001))
            for seed, more in enumerate([gain, gain + (0.002 if name == "c" else 0.0), gain + 0.001])
        ]
    )[0]
    said = {n: compare(even, n, "a", metric_named("best")).verdict for n in ("b", "c")}
    assert said == {"b": "better", "c": "unclear"}
    assert compare(even, "a", "b", metric_named("best")).verdict == "worse"
    assert not failing("worse")(compare(even, "a", "c", metric_named("best")))  # not for sure


@pytest.mark.parametrize(
    ("rule", "fails"), [("worse", True), ("worse>5%", True), ("worse > 20 %", False), ("worse>19.0%", True)]
)
def test_rules(rule, fails):
    (scenario,) = race()
    one = compare(scenario, "b", "a", metric_named("accuracy"))
    assert one.loss == pytest.approx(1 - 1.7 / 2.1)  # 19.05 %
    assert failing(rule)(one) is fails


@pytest.mark.parametrize("rule", ["", "better", "worse>", "worse>5", "worse<5%", "worse>-1%"])
def test_rules_that_cannot_be_read(rule):
    with pytest.raises(UsageError, match="cannot read --fail-if"):
        failing(rule)


@pytest.mark.parametrize("name", ["rounds@", "rounds@2", "rounds@x", "accuracy@0.5", "rounds@nan"])
def test_metrics_that_cannot_be_read(name):
    with pytest.raises(UsageError, match="cannot read the metric"):
        metric_named(name)


def test_what_cannot_be_compared():
    (scenario,) = race()
    with pytest.raises(InputError, match=r"'S & T' has no runs of 'aa'; did you mean"):
        compare(scenario, "aa", "b", metric_named("accuracy"))
    with pytest.raises(InputError, match="a and b have no rounds_to_target to compare"):
        compare(scenario, "a", "b", metric_named("rounds"))
    apart = scenarios([a_run([0.5], selector="a", seed=0), a_run([0.5], selector="b", seed=1)])[0]
    with pytest.raises(InputError, match="share no seed"):
        compare(apart, "a", "b", metric_named("accuracy"))


def test_files():
    found = race()
    one = compare(found[0], "a", "b", metric_named("accuracy"))
    assert as_csv([one]).splitlines()[1].startswith("S & T,a,b,final_accuracy,")
    table = as_latex(found, names(found), metric_named("accuracy"))
    assert r"method & S \& T \\ \hline" in table
    assert r"a & \textbf{70.0 $\pm$ 10.0} \\" in table
    alone = scenarios([a_run([0.5], selector=name, seed=0) for name in "ab"])[0]
    row = plain(compare(alone, "a", "b", metric_named("accuracy")))
    assert (row["low"], row["high"], row["seeds"]) == (None, None, 1)
