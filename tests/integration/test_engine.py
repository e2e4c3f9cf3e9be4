"""The engine's round: who is asked and used, what is lost, what it costs, and the same luck for every method."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import callup
from callup.core.errors import InputError, MissingSignal, UsageError
from callup.core.selector import Filter, Workbench
from callup.core.types import Replies, Round, Selection
from callup.simulation.engine import Engine
from callup.simulation.run import Ledger, Run
from callup.simulation.settings import Settings, read_settings, settings
from callup.simulation.store import load_run, load_runs
from callup.simulation.supply import Prober

SMALL: dict[str, Any] = {
    "partition": "dirichlet:clients=20,alpha=0.5",
    "k": 4,
    "rounds": 3,
    "seed": 3,
    "local": {"epochs": 1},
}


def play(**changes: Any) -> Run:
    return callup.simulate(**{**SMALL, **changes})


def as_json(run: Run) -> list[str]:
    return [json.dumps(dataclasses.asdict(record), sort_keys=True) for record in run.history]


def test_the_same_seed_gives_the_same_history() -> None:
    assert as_json(play(selector="fedacs")) == as_json(play(selector="fedacs"))


def test_a_ready_made_selector_is_recorded_as_the_spec_that_makes_it_again() -> None:
    run = play(selector=callup.selector("power-of-choice:d=7,variant=batch"))
    assert run.settings["selector"] == "power-of-choice:d=7,variant=batch"
    assert as_json(play(selector=run.settings["selector"])) == as_json(run)
    assert play(selector=callup.selector("random")).settings["selector"] == "random"


def test_another_seed_gives_another_history() -> None:
    assert as_json(play(seed=3))[0] != as_json(play(seed=4))[0]


def test_changing_the_selector_leaves_federation_first_model_and_availability_alone() -> None:
    one, two = (
        Engine(settings(**{**SMALL, "selector": name, "availability": "uniform:fraction=0.5"}))
        for name in ("random", "fed-cbs")
    )
    np.testing.assert_array_equal(one.world.clients.all("label_counts"), two.world.clients.all("label_counts"))
    np.testing.assert_array_equal(one.model, two.model)
    for index in (1, 2, 9):
        np.testing.assert_array_equal(one.world.available(index), two.world.available(index))


def test_over_commit_asks_more_and_uses_the_first_to_arrive() -> None:
    engine = Engine(settings(**{**SMALL, "overcommit": 1.6, "latency": "log-normal"}))
    record = engine.play(1)
    asked = np.array(record.asked)
    assert len(asked) == 7  # ceil(4 x 1.6)
    assert len(record.used) == 4
    steps = engine.world.steps(engine.world.clients, asked)
    took = dict(zip(asked.tolist(), engine.world.durations(asked, steps, 2 * engine.world.megabytes, 1), strict=True))
    slowest_used = max(took[i] for i in record.used)
    unused = set(record.asked) - set(record.used)
    assert all(took[i] >= slowest_used for i in unused)
    assert record.failed == {str(i): "not needed" for i in record.asked if i in unused}
    assert record.seconds == slowest_used


def test_lost_replies_are_named_and_the_round_goes_on() -> None:
    run = play(lost=0.5, rounds=8)
    reasons = [reason for record in run.history for reason in record.failed.values()]
    # 32 replies lost with chance 1/2 each: none or all lost has probability 2 * 2**-32.
    assert 0 < len(reasons) < 32
    assert set(reasons) == {"no reply"}
    for record in run.history:
        assert sorted([*record.used, *map(int, record.failed)]) == sorted(record.asked)


def test_the_part_of_a_lost_reply_stays_with_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(settings(**{**SMALL, "selector": "lineup"}))
    monkeypatch.setattr(engine.world, "silent", lambda ids, index, occasion: ids == ids.max())
    averages = []
    combine = engine.average.combine
    monkeypatch.setattr(engine.average, "combine", lambda *given: averages.append(combine(*given)) or averages[-1])
    before = engine.model.copy()
    record = engine.play(engine.settings.rounds)  # early on the others take it over
    assert engine.turn is not None
    parts = dict(zip(record.asked, np.asarray(engine.turn.selection.weights), strict=True))
    heard = sum(parts[i] for i in record.used)
    assert len(record.used) == 3
    np.testing.assert_allclose(engine.model, before + heard * (averages[0] - before), atol=1e-6)


def test_a_round_without_any_reply_leaves_the_model_and_tells_the_selector(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(settings(**{**SMALL, "selector": "fedacs"}))
    monkeypatch.setattr(engine.world, "silent", lambda ids, index, occasion: np.ones(len(ids), bool))
    before = engine.model.copy()
    record = engine.play(1)
    np.testing.assert_array_equal(engine.model, before)
    assert record.used == []
    assert record.qcid is None
    assert len(record.failed) == 4


def test_a_reply_that_is_not_finite_is_set_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(settings(**SMALL))
    train = engine.world.backend.train

    def spoiled(*args: Any) -> Any:
        trained = train(*args)
        models = trained.models.copy()
        models[0, 5] = np.nan
        return dataclasses.replace(trained, models=models)

    monkeypatch.setattr(engine.world.backend, "train", spoiled)
    record = engine.play(1)
    assert list(record.failed.values()) == ["not finite"]
    assert len(record.used) == 3
    assert np.isfinite(engine.model).all()


def test_the_ledger_prices_probes() -> None:
    run = play(selector="power-of-choice:d=7", rounds=1)
    size = run.model.nbytes
    ledger = run.history[0].ledger
    assert ledger.probes == 7
    assert ledger.messages == 2 * 7 + 2 * 4
    assert ledger.bytes_down == (7 + 4) * size
    assert ledger.bytes_up == 7 * 8 + 4 * size


def test_probes_of_one_name_add_up_and_impossible_answers_count_as_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(settings(**{**SMALL, "selector": "power-of-choice"}))
    prober = Prober(engine.world, engine.model, engine.asks, 1, Ledger(), engine.watch)
    monkeypatch.setattr(engine.world.backend, "probe", lambda model, name, ids, index: np.where(ids == 2, np.inf, ids))
    first = prober.ask("loss", np.array([1, 2]))
    first[0] = -5  # what a selector does to its answer does not change the record
    prober.ask("loss", np.array([3]))
    ids, answers = prober.heard["loss"]
    assert ids.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(answers, [1, np.nan, 3])


def test_a_federation_too_large_for_a_method_is_refused_before_it_starts() -> None:
    class Small(type(callup.selector("random"))):  # type: ignore[misc]
        max_clients = 19

        def start(self, *args: Any) -> None:
            raise AssertionError("started all the same")

    with pytest.raises(InputError, match="made for up to 19 clients, this federation has 20"):
        play(selector=Small())


def test_selector_weights_reach_the_average() -> None:
    class Heavy(type(callup.selector("random"))):  # type: ignore[misc]
        def select(self, now: Round, k: int) -> Selection:
            ids = now.available[:k]
            return Selection(ids, weights=np.array([1e9, *[1.0] * (len(ids) - 1)]))

    engine = Engine(settings(**{**SMALL, "average": "mean"}), Heavy())
    engine.play(1)
    first = Engine(settings(**{**SMALL, "average": "mean"}), Heavy())
    alone = first.world.backend.train(first.model, np.array([0]), 1, first.world.local.rates(1, np.zeros(1)), [])
    np.testing.assert_allclose(engine.model, alone.models[0], atol=1e-5)


class FirstOnly(Filter):
    """Keeps the reply of the lowest id."""

    def keep(self, replies: Replies, bench: Workbench) -> np.ndarray:
        return np.asarray(replies.ids == replies.ids.min())


def test_weights_of_local_models_mean_the_same_to_every_rule() -> None:
    unequal = {"selector": "lineup", "partition": "mavericks:clients=20,count=1", "k": 20, "rounds": 2}
    plain, nova = (play(**unequal, average=rule) for rule in ("weighted", "fednova"))
    np.testing.assert_array_equal(plain.model, nova.model)
    random = [play(**{**unequal, "selector": "random"}, average=rule) for rule in ("weighted", "fednova")]
    assert not np.array_equal(random[0].model, random[1].model)


def test_a_filter_decides_what_is_averaged() -> None:
    engine = Engine(settings(**SMALL))
    engine.filter = FirstOnly()
    start = engine.model
    record = engine.play(1)
    lowest = min(record.used)
    assert record.kept == [lowest]
    alone = engine.world.backend.train(start, np.array([lowest]), 1, engine.world.local.rates(1, np.zeros(1)), [])
    np.testing.assert_allclose(engine.model, alone.models[0], atol=1e-5)


def test_evaluation_at_an_interval_and_at_the_end() -> None:
    run = play(rounds=5, evaluate_every=2)
    assert [record.accuracy is not None for record in run.history] == [False, True, False, True, True]


def test_a_run_survives_the_disk(tmp_path: Path) -> None:
    run = play(selector="fedacs", lost=0.3)
    back = load_run(run.save(tmp_path / "a"))
    assert as_json(back) == as_json(run)
    np.testing.assert_array_equal(back.model, run.model)
    assert {k: back.settings[k] for k in run.settings} == {
        k: list(v) if isinstance(v, tuple) else v for k, v in run.settings.items() if k != "local"
    } | {"local": run.settings["local"]}
    assert {role: set(state) for role, state in back.states.items()} == {
        role: set(state) for role, state in run.states.items()
    }
    for role, state in run.states.items():
        for name, array in state.items():
            np.testing.assert_array_equal(back.states[role][name], array)
    again = callup.simulate(**read_settings(tmp_path / "a" / "config.toml").plain())
    assert as_json(again) == as_json(run)


def test_a_run_cut_off_while_writing_keeps_its_whole_rounds(tmp_path: Path) -> None:
    play().save(tmp_path)
    events = tmp_path / "events.jsonl"
    text = events.read_text()
    events.write_text(text[: len(text) - 40])
    assert [record.index for record in load_run(tmp_path).history] == [1, 2]


def test_damage_in_the_middle_is_named(tmp_path: Path) -> None:
    play().save(tmp_path)
    events = tmp_path / "events.jsonl"
    lines = events.read_text().splitlines()
    events.write_text("\n".join([lines[0][:30], *lines[1:]]) + "\n")
    with pytest.raises(InputError, match="line 1 is damaged"):
        load_run(tmp_path)


def test_no_run_here(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run in"):
        load_runs(tmp_path)


def test_a_need_that_cannot_be_met_is_refused_before_the_first_round() -> None:
    class NeedsOwner(type(callup.selector("random"))):  # type: ignore[misc]
        @property
        def needs(self) -> Any:
            from callup.core.signals import Needs

            return Needs.of(("owner",))

    with pytest.raises(MissingSignal, match="needs owner"):
        play(selector=NeedsOwner())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"k": 0}, "k must be a whole number of at least 1, got 0"),
        ({"k": -3}, "at least 1, got -3"),
        ({"k": 2.5}, "k must be a whole number, got 2.5"),
        ({"rounds": 0}, "rounds must be"),
        ({"seed": -1}, "seed must be"),
        ({"overcommit": 0.5}, "overcommit must be 'auto' or at least 1"),
        ({"lost": 1.0}, "lost must be a chance"),
        ({"target": 70}, "target must be an accuracy"),
        ({"partitoin": "iid"}, "did you mean 'partition'"),
        ({"local": {"epoch": 2}}, "did you mean 'epochs'"),
        ({"local": 3}, "local must be a table"),
        ({"local": {"rate": -1}}, "rate must be above 0"),
        ({"partition": "dirichlet:clients=0,alpha=0.5"}, "clients"),
    ],
)
def test_bad_settings_are_one_clear_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises((UsageError, InputError), match=sentence) as caught:
        play(**changes)
    assert "\n" not in str(caught.value)


def test_settings_read_from_toml_name_the_file(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("k = = 3")
    with pytest.raises(InputError, match=r"bad\.toml is not valid TOML"):
        read_settings(bad)
    bad.write_text("kk = 3")
    with pytest.raises(InputError, match=r"bad\.toml: settings has no parameter 'kk'"):
        read_settings(bad)
    bad.write_text('k = 3\nselector = "fedemd"\n[local]\nepochs = 2\n')
    assert read_settings(bad) == Settings(k=3, selector="fedemd", local={"epochs": 2})


def test_label_statistics_reach_the_selector_as_the_privacy_mode_says() -> None:
    world = {**SMALL, "partition": "dirichlet:clients=24,alpha=0.2", "selector": "fed-cbs"}
    plain = Engine(settings(**world))
    noised = Engine(settings(**world, privacy="dp:epsilon=0.5"))
    assert "label_counts" in plain.visible
    assert "label_counts" in noised.visible
    assert not np.array_equal(plain.visible.all("label_counts"), noised.visible.all("label_counts"))
    np.testing.assert_array_equal(plain.world.clients.all("label_counts"), noised.world.clients.all("label_counts"))


def test_protected_by_shares_and_noise_the_same_clients_are_called_as_by_noise_alone() -> None:
    pytest.importorskip("tenseal", reason="the extra 'he' is not installed")
    world = {**SMALL, "partition": "dirichlet:clients=24,alpha=0.2", "selector": "fed-cbs", "rounds": 5}
    clear = callup.simulate(**world, privacy="dp:epsilon=0.2")
    shared = Engine(settings(**world, privacy="shared+dp:epsilon=0.2"))
    assert "label_counts" not in shared.visible
    assert [r.asked for r in shared.run().history] == [r.asked for r in clear.history]
    # Noise that is felt: else both might have seen the true counts.
    assert [r.asked for r in callup.simulate(**world).history] != [r.asked for r in clear.history]


def test_a_selector_that_needs_what_the_mode_hides_is_refused_at_the_start() -> None:
    with pytest.raises(MissingSignal, match=r"balanced needs label_counts.*privacy 'shared' gives label_gram"):
        Engine(settings(**{**SMALL, "selector": "balanced"}, privacy="shared"))
    with pytest.raises(UsageError, match="unknown privacy mode 'dpp'"):
        settings(**SMALL, privacy="dpp")


def test_fedacs_calls_the_same_clients_when_they_score_themselves() -> None:
    world = {**SMALL, "rounds": 6}
    server, client = (play(**world, selector=f"fedacs:insight={by}") for by in ("gradient", "skewness"))
    assert [r.asked for r in server.history] == [r.asked for r in client.history]
