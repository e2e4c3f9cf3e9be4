"""The schedule of mini-batches and the learning rate, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from callup.core.errors import UsageError
from callup.core.randomness import stream
from callup.simulation.local import LocalTraining


@pytest.mark.parametrize(
    ("size", "equal", "steps"),
    [
        (120, False, 6),  # 3 mini-batches a pass, 2 epochs
        (100, False, 4),  # nothing left over
        (1, False, 2),
        (0, False, 0),
        (120, True, 14),  # the largest client has 301 samples: 7 mini-batches a pass
        (301, True, 14),
        (0, True, 0),
    ],
)
def test_number_of_steps(size: int, equal: bool, steps: int) -> None:
    local = LocalTraining(epochs=2, batch=50, equal_steps=equal)
    assert local.steps(size, largest=301) == steps
    assert len(local.batches(size, 301, stream(0))) == steps


def test_each_pass_visits_every_sample_once_in_a_new_order() -> None:
    batches = LocalTraining(epochs=3, batch=50).batches(120, 120, stream(0))
    assert [len(batch) for batch in batches] == [50, 50, 20] * 3
    passes = [np.concatenate(batches[i : i + 3]) for i in (0, 3, 6)]
    for order in passes:
        assert sorted(order) == list(range(120))
    assert not np.array_equal(passes[0], passes[1])


def test_equal_steps_send_a_small_client_round_and_round_and_cut_its_last_pass() -> None:
    batches = LocalTraining(epochs=1, batch=50, equal_steps=True).batches(70, 250, stream(0))
    # 250 samples need 5 mini-batches; 70 samples give 50 + 20 a pass, so the third pass stops after its first.
    assert [len(batch) for batch in batches] == [50, 20, 50, 20, 50]
    assert sorted(np.concatenate(batches[:2])) == list(range(70))


def test_the_schedule_comes_from_the_generator_alone() -> None:
    local = LocalTraining(epochs=1, batch=10)
    first, again, other = (np.concatenate(local.batches(40, 40, stream(seed))) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_rate_decays_per_round() -> None:
    local = LocalTraining(epochs=2, rate=0.8, decay=0.5)
    assert local.rates(1, np.array([0, 4])).tolist() == [[0.8, 0.8], [0.8, 0.8]]
    assert local.rates(3, np.array([0, 4])).tolist() == [[0.2, 0.2], [0.2, 0.2]]


def test_rate_decays_per_local_epoch_and_carries_over_between_rounds() -> None:
    local = LocalTraining(epochs=2, rate=0.8, decay=0.5, decay_per="epoch")
    assert local.rates(1, np.array([0])).tolist() == [[0.8, 0.4]]
    assert local.rates(2, np.array([0])).tolist() == [[0.2, 0.1]]


def test_rate_decays_with_every_tenth_participation_down_to_a_floor() -> None:
    # FedEMD's own setting: a tenth after every ten times the client took part.
    local = LocalTraining(epochs=1, rate=1.0, decay=0.1, decay_per="participation", decay_every=10, rate_floor=0.005)
    rates = local.rates(99, np.array([0, 9, 10, 29, 30]))
    np.testing.assert_allclose(rates[:, 0], [1.0, 1.0, 0.1, 0.01, 0.005])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"epochs": 1.5}, "epochs must be a whole number of at least 1, got 1.5"),
        ({"batch": -3}, "batch"),
        ({"decay_every": 0}, "decay_every"),
        ({"rate": 0.0}, "rate must be above 0"),
        ({"rate": float("nan")}, "rate"),
        ({"decay": float("inf")}, "decay"),
        ({"momentum": 1.0}, "momentum must be below 1"),
        ({"momentum": -0.1}, "momentum must not be negative"),
        ({"weight_decay": -1e-4}, "weight_decay"),
        ({"proximal": float("nan")}, "proximal"),
        ({"augment": "cropflip"}, "did you mean 'crop-flip'"),
        ({"decay_per": "rounds"}, "did you mean 'round'"),
    ],
)
def test_impossible_values_are_refused_by_name(values: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match="local training: ") as caught:
        LocalTraining(**values)  # type: ignore[arg-type]
    assert words in str(caught.value)
