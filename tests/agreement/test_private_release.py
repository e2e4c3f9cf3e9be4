"""Noised counts: the law of the noise, the epsilon it is worth, and a ledger that lets it out once."""

import json
import math
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from callup import Clients, stream
from callup.core.errors import InputError, UsageError
from callup.privacy import release
from callup.privacy.ledger import Ledger
from callup.privacy.release import accounted_epsilon, as_counts, noised, opendp_laplace
from callup.privacy.simulated import _seeded, simulated_release

pytest.importorskip("opendp")


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 5.0])
def test_opendp_accounts_for_the_epsilon_that_was_set(epsilon):
    assert accounted_epsilon(epsilon) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("add", [opendp_laplace, _seeded(stream(1, "noise"))], ids=["opendp", "simulated"])
@pytest.mark.parametrize("scale", [0.4, 2.0])
def test_the_noise_is_discrete_laplace(add, scale):
    # P(x) = (1 - p) / (1 + p) p^|x| with p = exp(-1/scale). Pearson's statistic over -5..5 and two tails has 12 degrees
    # of freedom: above 60 with a chance of e^-30 sum_{k<6} 30^k/k! = 2.3e-8.
    draws = add(np.zeros(20_000, np.int64), scale)
    p = math.exp(-1 / scale)
    expected = {x: (1 - p) / (1 + p) * p ** abs(x) for x in range(-5, 6)}
    tail = (1 - sum(expected.values())) / 2
    found = Counter(int(np.clip(x, -6, 6)) for x in draws)
    shares = {**expected, -6: tail, 6: tail}
    merged = [(found[x], 20_000 * share) for x, share in shares.items() if 20_000 * share >= 5]
    assert sum((seen - wanted) ** 2 / wanted for seen, wanted in merged) < 60


def test_neighbours_cannot_be_told_apart_beyond_epsilon():
    # One record of three moves from class 0 to class 1. For every outcome P(. | a) <= e^eps P(. | b). Each of the eight
    # comparisons allows 5 standard deviations: a wrong alarm has a chance below 8 x 3e-7.
    runs, epsilon = 3000, 1.0

    def law(counts, at):
        noise = iter(opendp_laplace(np.zeros(2 * runs, np.int64), 2 / at).reshape(runs, 2))
        return Counter(tuple(noised(np.array(counts), at, lambda row, _: row + next(noise))) for _ in range(runs))

    def excess(at):
        a, b = law([2, 1], at), law([1, 2], at)
        gaps = []
        for one, other in ((a, b), (b, a)):
            for outcome in one | other:
                p, q = one[outcome] / runs, other[outcome] / runs
                spread = math.sqrt((p + math.exp(2 * epsilon) * q) / runs)
                gaps.append((p - math.exp(epsilon) * q) / spread)
        return max(gaps)

    assert excess(epsilon) < 5
    assert excess(4 * epsilon) > 5  # the test can tell


def test_counts_again_by_hand():
    # 6, 0, 2 scaled from 8 to 4 is 3, 0, 1. 5, 0, 2 from 7 to 6 is 4.29, 0, 1.71: the larger remainder is rounded up.
    assert as_counts(np.array([6, -1, 2]), 4).tolist() == [3, 0, 1]
    assert as_counts(np.array([5, -3, 2]), 6).tolist() == [4, 0, 2]
    assert as_counts(np.array([3, 3]), 0).tolist() == [0, 0]
    # All negative: -7, -9 leaves 3, 1 of 4; equals share.
    assert as_counts(np.array([-7, -9]), 4).tolist() == [3, 1]
    assert as_counts(np.array([-2, -2]), 4).tolist() == [2, 2]
    assert as_counts(np.array([0, 0, 0]), 1).tolist() == [1, 0, 0]
    assert as_counts(np.array([2, 4]), 6).tolist() == [2, 4]


@pytest.mark.parametrize("seed", range(20))
def test_counts_again_are_whole_and_of_the_right_sum(seed):
    rng = stream(seed, "as counts")
    values, total = rng.integers(-40, 400, 12), int(rng.integers(0, 3000))
    found = as_counts(values, total)
    assert found.sum() == total and found.min() >= 0
    share = np.maximum(values, 0) * total / np.maximum(values, 0).sum()
    assert (np.abs(found - share) < 1).all()


def test_noised_counts_are_counts():
    counts = np.array([0, 300, 0, 2, 0])
    for _ in range(50):
        out = noised(counts, 0.2)
        assert out.sum() == 302 and out.min() >= 0 and out.dtype == np.int64


def test_simulated_noise_hangs_on_seed_and_client_alone():
    rows = stream(0, "rows").integers(0, 90, (6, 4))
    every = simulated_release(Clients(range(6), label_counts=rows), 1.0, seed=5)
    some = simulated_release(Clients([4, 2], label_counts=rows[[4, 2]]), 1.0, seed=5)
    assert (some == every[[2, 4]]).all()
    assert (simulated_release(Clients(range(6), label_counts=rows), 1.0, seed=6) != every).any()


def test_the_ledger_releases_a_version_once_and_remembers_after_a_restart(tmp_path):
    counts = [40, 0, 3]
    first = Ledger(tmp_path, client=7).release("2026-11", counts, 1.0)
    again = Ledger(tmp_path, client=7)
    with pytest.raises(InputError, match="client 7: data version '2026-11' was released before"):
        again.release("2026-11", counts, 1.0)
    with pytest.raises(InputError, match="was released before"):
        again.release("2026-11", counts, 0.1)
    assert again.released("2026-11").tolist() == first.tolist()
    again.release("2026-12", counts, 0.5)
    assert again.versions == ["2026-11", "2026-12"] and again.spent == pytest.approx(1.5)


def test_another_process_is_refused_too(tmp_path):
    Ledger(tmp_path, client=7).release("v1", [4, 4], 1.0)
    code = f"from callup.privacy.ledger import Ledger; Ledger({str(tmp_path)!r}, 7).release('v1', [4, 4], 1.0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "was released before" in done.stderr


def test_a_crash_while_noise_is_drawn_counts_as_a_release(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path, client=1)

    def crash(*_):
        raise RuntimeError("power cut")

    monkeypatch.setattr(release, "opendp_laplace", crash)
    with pytest.raises(RuntimeError):
        ledger.release("v1", [4, 4], 1.0)
    monkeypatch.undo()
    with pytest.raises(InputError, match="was released before"):
        ledger.release("v1", [4, 4], 1.0)
    with pytest.raises(InputError, match="cut off and counts as spent"):
        ledger.released("v1")
    assert ledger.spent == 1.0


def test_a_file_cut_off_at_its_start_stops_the_ledger(tmp_path):
    ledger = Ledger(tmp_path, client=1)
    ledger.release("v1", [4, 4], 1.0)
    next(tmp_path.glob("*.release")).write_text('{"clie', encoding="utf-8")
    with pytest.raises(InputError, match="cut off before it said what it cost"):
        ledger.release("v2", [4, 4], 1.0)


def test_the_budget_holds_over_versions(tmp_path):
    ledger = Ledger(tmp_path, client=1, budget=1.0)
    for version in ("a", "b"):
        ledger.release(version, [5, 5], 0.5)
    with pytest.raises(InputError, match="budget of epsilon 1 does not allow this release: 1 is spent"):
        ledger.release("c", [5, 5], 0.01)


def test_a_ledger_holds_no_true_counts_and_belongs_to_one_client(tmp_path):
    counts = [1234, 4321, 777]
    released = Ledger(tmp_path, client=1).release("v1", counts, 0.01)  # noise of scale 200: no count survives by chance
    path = next(tmp_path.glob("*.release"))
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == [{"client": 1, "version": "v1", "kind": "counts", "epsilon": 0.01}, {"released": released.tolist()}]
    assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="is the ledger of client 1, not of 2"):
        Ledger(tmp_path, client=2).release("v2", counts, 1.0)


def test_bad_input_names_the_client_and_no_count(tmp_path):
    ledger = Ledger(tmp_path, client=3)
    for counts in ([1.5, 2], [-1, 2], [math.nan, 1], [[1, 2]], [], ["a"]):
        with pytest.raises(InputError, match="client 3: label counts must be") as refusal:
            ledger.release("v", counts, 1.0)
        assert "1.5" not in str(refusal.value)
    with pytest.raises(UsageError, match="epsilon must be above 0"):
        ledger.release("v", [1, 2], -1.0)
    with pytest.raises(UsageError, match="a data version is a name"):
        ledger.release("", [1, 2], 1.0)
    assert ledger.versions == []  # nothing of this was spent
    assert ledger.release("v", [1, 2], 1.0).sum() == 3


def test_without_opendp_nothing_is_released(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    release._mechanism.cache_clear()
    with pytest.raises(InputError, match=r"needs opendp.*pip install 'callup\[dp\]'"):
        Ledger(tmp_path, client=3).release("v", [1, 2], 1.0)
    assert Ledger(tmp_path, client=3).versions == []
