"""Power-of-Choice: candidates by data share, then the k of highest loss among those who were asked."""

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.core.errors import UsageError


class Answers:
    """A probe that answers from a table and keeps what it was asked."""

    def __init__(self, loss):
        self.loss, self.asked = loss, []

    def __call__(self, name, ids):
        self.asked.append((name, ids.tolist()))
        return np.array([self.loss[client] for client in ids.tolist()], float)


def started(spec, clients, k):
    made = selector(spec)
    made.start(clients, Plan(k=k), stream(0, "start"))
    return made


def test_the_two_worst_of_three_candidates():
    # Client 10 has no data, so the three candidates are 20, 30 and 40. Their losses rank 40 > 20 > 30.
    clients = Clients([10, 20, 30, 40], num_examples=[0, 5, 5, 5])
    probe = Answers({10: 99.0, 20: 2.0, 30: 1.0, 40: 3.0})
    cohort = started("power-of-choice:d=3", clients, 2).select(Round(1, clients.ids, clients, stream(0, "r"), probe), 2)
    assert cohort.ids.tolist() == [40, 20]
    assert cohort.scores["loss"].tolist() == [3.0, 2.0]
    assert probe.asked == [("loss", [20, 30, 40])]


def test_candidates_come_by_data_share():
    # d = k = 1: client i is drawn with n_i / sum n = 1/8, 2/8, 5/8.
    clients = Clients([4, 5, 6], num_examples=[1, 2, 5])
    chosen, counts, draws = started("power-of-choice:d=1", clients, 1), np.zeros(3), 4000
    now = Round(1, clients.ids, clients, stream(0, "share"), Answers({4: 1.0, 5: 1.0, 6: 1.0}))
    for _ in range(draws):
        counts[chosen.select(now, 1).ids[0] - 4] += 1
    expected = draws * np.array([1, 2, 5]) / 8
    # Chi-square with 2 degrees of freedom exceeds 27.63 once in 1e6.
    assert ((counts - expected) ** 2 / expected).sum() < 27.63


@pytest.mark.parametrize("seed", range(30))
def test_top_k_of_the_probed_and_never_an_unprobed_one(seed):
    # Ids are far from positions, and the worst losses of all lie outside the candidates in most rounds.
    rng = stream(seed, "losses")
    clients = Clients(np.arange(50) * 7 + 1000, num_examples=rng.integers(1, 100, 50))
    available = rng.choice(clients.ids, 40, replace=False)
    probe = Answers(dict(zip(clients.ids.tolist(), rng.permutation(50) / 10, strict=True)))
    cohort = started("power-of-choice", clients, 10).select(Round(1, available, clients, stream(seed, "r"), probe), 10)
    (_, asked), *more = probe.asked
    assert not more
    assert len(asked) == 20
    assert set(asked) <= set(available.tolist())
    worst_first = sorted(asked, key=lambda client: -probe.loss[client])
    assert cohort.ids.tolist() == worst_first[:10]


def test_silence_comes_last():
    clients = Clients([1, 2, 3, 4], num_examples=[1, 1, 1, 1])
    probe = Answers({1: np.nan, 2: 0.1, 3: np.nan, 4: 0.2})
    chosen = started("power-of-choice:d=4", clients, 2)
    assert chosen.select(Round(1, clients.ids, clients, stream(0, "r"), probe), 2).ids.tolist() == [4, 2]
    three = chosen.select(Round(1, clients.ids, clients, stream(0, "r"), probe), 3)
    assert three.ids.tolist()[:2] == [4, 2]
    assert three.ids[2] in (1, 3)


def test_d_below_k_asks_k():
    clients = Clients(np.arange(6), num_examples=np.ones(6))
    probe = Answers(dict.fromkeys(range(6), 1.0))
    cohort = started("power-of-choice:d=2", clients, 4).select(Round(1, clients.ids, clients, stream(0, "r"), probe), 4)
    assert len(cohort.ids) == 4
    assert len(probe.asked[0][1]) == 4


def test_batch_asks_for_a_mini_batch_loss():
    clients = Clients([1, 2], num_examples=[1, 1])
    probe, chosen = Answers({1: 0.5, 2: 0.7}), started("power-of-choice:variant=batch", clients, 1)
    assert chosen.select(Round(1, clients.ids, clients, stream(0, "r"), probe), 1).ids.tolist() == [2]
    assert probe.asked == [("batch_loss", [1, 2])]
    assert chosen.needs.names() == ["num_examples", "batch_loss"]


def test_stale_asks_nobody_and_remembers_the_last_training_loss():
    clients = Clients([1, 2, 3], num_examples=[1, 1, 1])
    chosen = started("power-of-choice:variant=stale,d=3", clients, 2)

    def pick(index, k):  # a Round without a probe refuses questions
        return chosen.select(Round(index, clients.ids, clients, stream(0, "r", index)), k).ids.tolist()

    chosen.update(Feedback(1, np.array([1, 3]), {"train_loss": np.array([0.4, 0.9])}, clients))
    assert pick(2, 3) == [2, 3, 1]  # 2 was never heard of: worst of all
    # 2 is asked and says nothing: still unknown. 3 improves below 1.
    chosen.update(Feedback(2, np.array([3]), {"train_loss": np.array([0.2])}, clients, failed={2: "no reply"}))
    assert pick(3, 3) == [2, 1, 3]
    chosen.update(Feedback(3, np.array([2]), {"train_loss": np.array([0.3])}, clients))
    assert pick(4, 3) == [1, 2, 3]


def test_d_must_be_positive():
    with pytest.raises(UsageError, match="d must be at least 1, got 0"):
        selector("power-of-choice:d=0")
