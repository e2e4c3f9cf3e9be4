"""Whatever laws of availability, latency and fault there are: repeatable, in range, and of the client alone."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from callup.core.clients import Clients
from callup.core.randomness import stream
from callup.simulation.availability import AVAILABILITIES
from callup.simulation.fault import FAULTS
from callup.simulation.latency import LATENCIES

IDS = np.arange(40) * 3 + 1
COUNTS = stream(5, "counts").integers(0, 30, (40, 10)) + 1
CLIENTS = Clients(IDS, label_counts=COUNTS)
ROWS = stream(6, "shuffled").permutation(40)
SHUFFLED = Clients(IDS[ROWS], label_counts=COUNTS[ROWS])
FILES = {
    "availability": {"rounds": {"1": [1, 4], "2": [7], "3": [1, 7, 10]}},
    "latency": {"seconds_per_step": {str(i): 0.5 for i in IDS}},
}


def made(registry: Any, name: str, tmp_path: Any) -> Any:
    """An instance with its defaults; a law that reads a file gets one."""
    needs_file = any(p.name == "file" for p in registry.card(name).parameters)
    if not needs_file:
        return registry.make(name)
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(FILES[registry.kind]))
    return registry.make(f"{name}:file={path}")


def names(registry: Any) -> list[str]:
    return [card.name for card in registry.cards()]


@pytest.mark.parametrize("registry", [AVAILABILITIES, LATENCIES, FAULTS], ids=lambda r: r.kind)
def test_every_law_says_what_it_does(registry: Any) -> None:
    for card in registry.cards():
        assert card.summary.endswith((".", ":")), card.name
        assert all(p.kind for p in card.parameters)


@pytest.mark.parametrize("name", names(AVAILABILITIES))
def test_availability_is_sorted_known_repeatable_and_blind_to_row_order(name: str, tmp_path: Any) -> None:
    law = made(AVAILABILITIES, name, tmp_path)
    for index in (1, 2, 3):
        online = law.available(CLIENTS, index, stream(0, "a", index))
        assert online.dtype == np.int64
        assert (np.diff(online) > 0).all()
        assert np.isin(online, IDS).all()
        np.testing.assert_array_equal(online, law.available(SHUFFLED, index, stream(0, "a", index)))


@pytest.mark.parametrize("name", names(LATENCIES))
def test_latency_is_positive_repeatable_and_a_client_keeps_its_own(name: str, tmp_path: Any) -> None:
    law = made(LATENCIES, name, tmp_path)
    speeds = law.speeds(CLIENTS, stream(0, "speeds"))
    assert speeds.shape == (40,)
    assert (speeds > 0).all()
    assert np.isfinite(speeds).all()
    np.testing.assert_array_equal(speeds, law.speeds(SHUFFLED, stream(0, "speeds")))
    whole = law.stretch(IDS, 2, stream(0, "stretch"))
    assert (whole > 0).all()
    np.testing.assert_array_equal(whole[5:9], law.stretch(IDS[5:9], 2, stream(0, "stretch")))


@pytest.mark.parametrize("name", names(FAULTS))
def test_a_fault_hits_a_client_whoever_else_was_asked(name: str) -> None:
    fault = FAULTS.make(name)
    some = slice(5, 19)
    models = stream(1, "models").normal(size=(40, 30)).astype(np.float32)
    before = models.copy()

    def all_of(ids: np.ndarray, rows: slice) -> list[np.ndarray]:
        fresh = [stream(0, "fault", what) for what in ("silent", "stretch", "spoil", "told")]
        return [
            fault.silent(CLIENTS, ids, 2, fresh[0]),
            fault.stretch(ids, 2, fresh[1]),
            fault.spoil(models[rows], ids, 2, fresh[2]),
            fault.told(np.full(len(ids), 9.0), ids, 2, fresh[3]),
        ]

    silent, stretch, spoiled, told = whole = all_of(IDS, slice(None))
    assert silent.dtype == bool
    assert (stretch >= 1).all()
    assert spoiled.shape == models.shape
    assert np.isfinite(told).all()
    np.testing.assert_array_equal(models, before)  # the clients' own copies stay whole
    for everyone, few in zip(whole, all_of(IDS[some], some), strict=True):
        np.testing.assert_array_equal(everyone[some], few)
    members = fault.members(CLIENTS, 2, stream(0, "members"))
    assert members.dtype == bool
    assert members.any()
    np.testing.assert_array_equal(members, fault.members(SHUFFLED, 2, stream(0, "members")))
