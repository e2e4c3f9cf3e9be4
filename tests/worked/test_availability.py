"""Who is online: counts by arithmetic, laws by their means, and traces read or refused."""

import json

import numpy as np
import pytest

from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.core.randomness import stream
from callup.simulation.availability import AVAILABILITIES

# Forty clients, four for each of ten classes, with ids that are not positions.
IDS = np.arange(40) * 3 + 5
CLASS = np.repeat(np.arange(10), 4)
CLIENTS = Clients(IDS, label_counts=np.eye(10)[CLASS] * 20)


def online(spec, index=1, clients=CLIENTS, seed=0):
    return AVAILABILITIES.make(spec).available(clients, index, stream(seed, "availability", index))


def per_class(ids):
    return np.bincount(CLASS[np.searchsorted(IDS, ids)], minlength=10).tolist()


@pytest.mark.parametrize("spec", ["always", "uniform", "uniform:count=40", "per-class:count=20", "per-class:ratio=1"])
def test_sorted_distinct_known_and_repeatable(spec):
    first = online(spec)
    assert (np.diff(first) > 0).all()
    assert np.isin(first, IDS).all()
    np.testing.assert_array_equal(first, online(spec))
    if len(first) < 40:
        assert any(not np.array_equal(first, online(spec, index)) for index in range(2, 6))


def test_always_is_everyone():
    np.testing.assert_array_equal(online("always", 7), IDS)


@pytest.mark.parametrize(
    ("spec", "many"),
    [
        ("uniform", 12),
        ("uniform:fraction=0.5", 20),
        ("uniform:fraction=1", 40),
        ("uniform:fraction=0.001", 1),
        ("uniform:count=7", 7),
    ],
)
def test_uniform_counts(spec, many):
    assert len(online(spec)) == many


def test_uniform_gives_each_client_the_same_chance():
    seen = np.zeros(40)
    for index in range(1, 3001):
        seen += np.isin(IDS, online("uniform:count=10", index))
    # 750 of 3,000 each, standard deviation 23.7; six of them for forty clients: wrong once in ten million seeds.
    assert np.abs(seen - 750).max() < 6 * 23.7


def test_per_class_quotas():
    assert per_class(online("per-class:count=20,ratio=3")) == [3] * 5 + [1] * 5
    assert per_class(online("per-class:quota=4/0/1/1/1/2/0/0/0/3")) == [4, 0, 1, 1, 1, 2, 0, 0, 0, 3]


@pytest.mark.parametrize(("ratio", "quota"), [(3, [9] * 5 + [3] * 5), (5, [10] * 5 + [2] * 5)])
def test_per_class_is_case_2_by_default(ratio, quota):
    clients = Clients(range(200), label_counts=np.repeat(np.eye(10), 20, axis=0))
    ids = online(f"per-class:ratio={ratio}", clients=clients)
    assert np.bincount(ids // 20, minlength=10).tolist() == quota


def test_per_class_goes_by_the_most_frequent_class():
    clients = Clients([1, 2, 3], label_counts=[[5, 6], [9, 1], [0, 2]])
    np.testing.assert_array_equal(online("per-class:quota=1/0", clients=clients), [2])
    np.testing.assert_array_equal(online("per-class:quota=0/2", clients=clients), [1, 3])


def test_per_class_gives_each_client_of_a_class_the_same_chance():
    seen = np.zeros(40)
    for index in range(1, 2001):
        seen += np.isin(IDS, online("per-class:count=20,ratio=3", index))
    # 3 of 4 in the first half, 1 of 4 in the second: standard deviation 19.4 of 2,000 in both; six of them for forty
    # clients: wrong once in ten million seeds.
    assert np.abs(seen - np.where(CLASS < 5, 1500, 500)).max() < 6 * 19.4


def test_per_class_shortage_takes_the_whole_class():
    assert per_class(online("per-class:quota=9/0/0/0/0/0/0/0/0/0")) == [4] + [0] * 9


@pytest.fixture
def trace(tmp_path):
    def write(content):
        file = tmp_path / "trace.json"
        file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return f"trace:file={file}"

    return write


def test_trace_by_round(trace):
    spec = trace({"rounds": {"2": [], "1": [11, 5]}})
    assert online(spec, 1).tolist() == [5, 11]
    assert online(spec, 2).tolist() == []


def test_trace_by_client(trace):
    spec = trace({"clients": {"5": [[1, 2], [4, 4]], "8": [[2, 3]], "11": []}})
    assert [online(spec, index).tolist() for index in (1, 2, 3, 4)] == [[5], [5, 8], [8], [5]]


def test_trace_ends_or_repeats(trace):
    spec = trace({"clients": {"5": [[1, 1]], "8": [[2, 3]]}})
    with pytest.raises(InputError, match="ends with round 3; lengthen it or set repeat=true"):
        online(spec, 4)
    assert [online(f"{spec},repeat=true", index).tolist() for index in (4, 5, 6, 7)] == [[5], [8], [8], [5]]


def test_trace_names_a_stranger(trace):
    with pytest.raises(InputError, match="client 6 of round 1 is not in the federation"):
        online(trace({"rounds": {"1": [5, 6]}}))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ([1, 2], "must hold"),
        ({"rounds": {}, "clients": {}}, "and nothing else"),
        ({"round": {"1": []}}, "must hold"),
        ({"rounds": [[1]]}, "'rounds' must map numbers to lists"),
        ({"rounds": {}}, "must not be empty"),
        ({"rounds": {"0": [5]}}, "'0' under 'rounds' must be a whole number from 1"),
        ({"rounds": {"one": [5]}}, "'one' under 'rounds' must be a whole number from 1"),
        ({"clients": {"-1": [[1, 2]]}}, "'-1' under 'clients' must be a whole number from 0"),
        ({"clients": {"9" * 30: [[1, 2]]}}, "under 'clients' must be a whole number from 0"),
        ({"rounds": {"1": [5], "3": [5]}}, "leaves out round 2; write an empty list if nobody is online"),
        ({"rounds": {"1": 5}}, "round 1 must be a list of client ids"),
        ({"rounds": {"1": [5.5]}}, "round 1 must be a list of client ids"),
        ({"rounds": {"1": [True]}}, "round 1 must be a list of client ids"),
        ({"rounds": {"1": []}}, "no client is ever online"),
        ({"clients": {"5": [[2, 1]]}}, r"client 5 must be a list of \[first, last\] rounds"),
        ({"clients": {"5": [1, 2]}}, r"client 5 must be a list of \[first, last\] rounds"),
        ({"clients": {"5": [[0, 2]]}}, r"client 5 must be a list of \[first, last\] rounds"),
        ({"clients": {"5": [[1, 2, 3]]}}, r"client 5 must be a list of \[first, last\] rounds"),
    ],
)
def test_malformed_traces_are_named(trace, content, message):
    with pytest.raises(InputError, match=message) as refused:
        online(trace(content))
    assert "\n" not in str(refused.value)


def test_missing_and_unreadable_traces(tmp_path):
    with pytest.raises(InputError, match=r"cannot read the trace .*nowhere\.json: No such file"):
        online(f"trace:file={tmp_path / 'nowhere.json'}")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is not JSON"):
        online(f"trace:file={tmp_path / 'bytes.json'}")
    with pytest.raises(UsageError, match="trace needs a value for 'file'"):
        online("trace")


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("uniform:fraction=0", UsageError, "fraction must be above 0 and at most 1, got 0"),
        ("uniform:fraction=1.5", UsageError, "fraction must be above 0 and at most 1, got 1.5"),
        ("uniform:count=0", UsageError, "uniform: count must be a whole number of at least 1, got 0"),
        ("uniform:count=41", InputError, "count is 41, but the federation has 40 clients"),
        ("per-class:quota=1/2", InputError, "quota names 2 classes, the data has 10"),
        ("per-class:quota=0/0", UsageError, "must not be negative nor all 0, got 0/0"),
        ("per-class:quota=-1/2", UsageError, "must not be negative nor all 0, got -1/2"),
        ("per-class:count=30", UsageError, "per-class: count: 30 cannot be split 3:1 over 10 classes"),
        ("per-class:ratio=0", UsageError, "per-class: ratio must be a whole number of at least 1, got 0"),
    ],
)
def test_unusable_parameters_are_named(spec, error, message):
    with pytest.raises(error, match=message):
        online(spec)


def test_per_class_needs_label_counts():
    with pytest.raises(InputError, match="label_counts"):
        online("per-class", clients=Clients([1, 2], num_examples=[5, 5]))
