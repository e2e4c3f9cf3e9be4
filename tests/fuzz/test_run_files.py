"""Whatever the files of a run hold, reading them ends in a result or in one of our own errors.

CALLUP_FUZZ sets how many cases each reader gets; `make battery` takes many more than CI.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callup.cli.folders import CELLS, INDEX, read_plan, read_runs
from callup.core.catalogue import SELECTORS
from callup.core.errors import CallupError
from callup.core.types import Plan
from callup.journal.appending import Log
from callup.journal.entries import read_entry
from callup.journal.lock import Lock
from callup.journal.log import NAME, read_log
from callup.journal.profiles import read_profiles
from callup.journal.replay import replay
from callup.journal.snapshots import newest
from callup.journal.turns import played
from callup.simulation.recorder import Recorder
from callup.simulation.records import record_from, record_in
from callup.simulation.settings import Settings, read_settings
from callup.simulation.settings import settings as make_settings
from callup.simulation.store import load_run

CASES = int(os.environ.get("CALLUP_FUZZ", "60"))
fuzzed = settings(
    max_examples=CASES,
    deadline=None,
    derandomize=CASES <= 1000,  # CI takes the same cases every time, the battery others
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**400), 2**63, 2**64, 2**128, 10**30])
    | st.floats()
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


ENDLESS = st.sampled_from([b"9" * 5000, b"[" * 5000, b"{" * 5000, b"1e999", b"-", b"0x" + b"f" * 5000, b"\0"])


@st.composite
def changed(draw: st.DrawFn, content: bytes) -> bytes:
    """The content with a few bytes changed, added or taken away; or something else altogether."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=200))
    made = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(len(made) - 1, 0)))
        what = draw(st.sampled_from(["change", "add", "take", "cut", "double"]))
        if what == "change" and made:
            made[place] = draw(st.integers(0, 255))
        elif what == "add":
            made[place:place] = draw(st.binary(min_size=1, max_size=12) | ENDLESS)
        elif what == "take":
            del made[place : place + draw(st.integers(1, 40))]
        elif what == "cut":
            del made[place:]
        else:
            made += made[place : place + 200]
    return bytes(made)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a small run."""
    folder = tmp_path_factory.mktemp("run")
    recorder = Recorder(
        Settings(partition="dirichlet:clients=8", selector="oort", k=2, rounds=3, local={"epochs": 1}), folder
    )
    recorder.run()
    recorder.close()
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def laid_out(files: dict[str, bytes], folder: Path) -> Path:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def only_our_errors(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except CallupError as error:
        assert str(error)
        return None


@pytest.mark.parametrize("name", ["config.toml", "events.jsonl", "clients.safetensors", "state-000003.safetensors"])
@fuzzed
@given(data=st.data())
def test_a_run(name: str, data: st.DataObject, original: dict[str, bytes], tmp_path: Path) -> None:
    folder = laid_out(original, tmp_path)
    (folder / name).write_bytes(data.draw(changed(original[name])))
    run = only_our_errors(lambda: load_run(folder))
    if run is not None:
        assert [record.index for record in run.history] == list(range(1, len(run.history) + 1))
    only_our_errors(lambda: read_settings(folder / "config.toml"))


@fuzzed
@given(data=st.data())
def test_the_journal(data: st.DataObject, original: dict[str, bytes], tmp_path: Path) -> None:
    folder = laid_out(original, tmp_path)
    (folder / NAME).write_bytes(data.draw(changed(original[NAME])))
    story = only_our_errors(lambda: read_log(folder))
    if story is None:
        return
    profiles = read_profiles(folder)
    for entry in story.entries:
        only_our_errors(lambda entry=entry: record_in(entry, profiles[1]))
    # What was put right is sound, and tells the same rounds.
    Log.continued(folder, story).close()
    again = read_log(folder)
    assert again.whole
    assert [entry.number for entry in again.entries] == [entry.number for entry in story.entries]


@fuzzed
@given(data=st.data())
def test_an_entry_with_sound_checksums_and_odd_contents(
    data: st.DataObject, original: dict[str, bytes], tmp_path: Path
) -> None:
    """As somebody would write it who knows the format: facts of any kind, arrays that do not fit."""
    kinds = st.sampled_from(["float", "int", "bool", "long", "flat", "gone"])
    names = st.sampled_from(["asked", "replied", "failed", "why", "kept", "signal duration", "signal loss_rms"])
    facts = st.sampled_from(["wanted", "reasons", "dropped", "record", "weights"])
    odd_facts, odd_arrays = data.draw(
        st.tuples(st.dictionaries(facts, PLAIN, max_size=3), st.dictionaries(names, kinds, max_size=3))
    )
    folder = laid_out(original, tmp_path)
    profiles = read_profiles(folder)
    entry = read_log(folder).entries[0]
    entry.facts.update(odd_facts)
    for name, odd in odd_arrays.items():
        array = entry.arrays[name]
        if odd == "gone":
            del entry.arrays[name]
            continue
        entry.arrays[name] = {
            "float": array.astype("f8"),
            "int": array.astype("i8") - 5,
            "bool": array.astype(bool),
            "long": array.repeat(3, axis=0),
            "flat": array.reshape(-1, 1),
        }[odd]
    only_our_errors(lambda: played(1, entry.facts, entry.arrays, profiles[1]))
    only_our_errors(lambda: record_in(entry, profiles[1]))
    only_our_errors(lambda: list(replay(SELECTORS.make("oort"), Plan(2, 3, 10), 0, profiles, [entry])))


@fuzzed
@given(data=st.data())
def test_snapshots_and_profiles(data: st.DataObject, original: dict[str, bytes], tmp_path: Path) -> None:
    folder = laid_out(original, tmp_path)
    state, profile = "state-000003.safetensors", "profile-000001.safetensors"
    (folder / state).write_bytes(content := data.draw(changed(original[state])))
    refused: list[str] = []
    found = newest(folder, 3, refused)
    assert (found is None) == bool(refused)
    assert found is None or content == original[state]  # nothing but the whole truth passes
    (folder / profile).write_bytes(data.draw(changed(original[profile])))
    only_our_errors(lambda: read_profiles(folder))


@fuzzed
@given(content=st.binary(max_size=300))
def test_any_bytes_as_an_entry(content: bytes) -> None:
    only_our_errors(lambda: read_entry(1, content))
    only_our_errors(lambda: read_entry(1, b"\1" + content))


@fuzzed
@given(values=PLAIN, content=st.binary(max_size=200))
def test_any_values_as_a_record_and_any_lock(values: Any, content: bytes, tmp_path: Path) -> None:
    only_our_errors(lambda: record_from(values, "it"))
    (tmp_path / "lock").write_bytes(content)
    Lock(tmp_path).release()


@fuzzed
@given(data=st.data())
def test_a_record_with_odd_values(data: st.DataObject, original: dict[str, bytes]) -> None:
    record = json.loads(original["events.jsonl"].splitlines()[0])
    for name in data.draw(st.lists(st.sampled_from([*record, "other"]), min_size=1, max_size=3)):
        record[name] = data.draw(PLAIN)
    made = only_our_errors(lambda: record_from(record, "it"))
    if made is not None:
        json.dumps(made.notes, allow_nan=False)
        assert all(isinstance(client, int) for client in made.asked)


SETTING = st.sampled_from([*(field.name for field in fields(Settings)), "unknown"])


@fuzzed
@given(values=st.dictionaries(SETTING, PLAIN, max_size=4))
def test_settings_of_any_kind(values: dict[str, Any]) -> None:
    only_our_errors(lambda: make_settings(**values))


@fuzzed
@given(data=st.data())
def test_the_index_of_a_race(data: st.DataObject, tmp_path: Path) -> None:
    index = b"command = 'callup race'\nruns = ['a/random-0', 'a/all-0']\n"
    cells = json.dumps({"a/random-0": {"k": 3}, "a/all-0": {"selector": "all"}}).encode()
    (tmp_path / INDEX).write_bytes(data.draw(changed(index)))
    (tmp_path / CELLS).write_bytes(data.draw(changed(cells) | PLAIN.map(lambda v: json.dumps(v).encode())))
    only_our_errors(lambda: read_plan(tmp_path))
    only_our_errors(lambda: read_runs(tmp_path))
