"""Held-out worlds: the same from the same seed, within the ranges that are written down, and playable."""

import hashlib
import re

import pytest

from callup.core.errors import UsageError
from callup.core.randomness import stream
from callup.experiments.tournament import ranges
from callup.experiments.tournament.draw import draw_worlds, main
from callup.experiments.tournament.worlds import read_world
from callup.partition.scheme import PARTITIONS
from callup.simulation.settings import settings


def test_the_same_seed_gives_the_same_worlds_for_ever():
    texts = draw_worlds("0", 8)
    assert list(texts) == [f"drawn-{n}.toml" for n in range(1, 9)]
    assert draw_worlds("0", 8) == texts
    assert draw_worlds("1", 8) != texts
    # Frozen when the ranges were: a change of these digits is a change of what a seed means.
    assert hashlib.sha256("".join(texts.values()).encode()).hexdigest()[:16] == "385475ff4399337f"


def test_upper_and_lower_case_are_the_same_seed_and_words_are_none():
    lower, upper = draw_worlds("ab12", 2), draw_worlds("AB12", 2)
    assert [text.replace("ab12", "") for text in lower.values()] == [t.replace("AB12", "") for t in upper.values()]
    with pytest.raises(UsageError, match="hexadecimal digits, got 'HEAD'"):
        draw_worlds("HEAD", 2)
    with pytest.raises(UsageError, match="worlds"):
        draw_worlds("0", 0)


def test_families_come_once_before_any_comes_twice(tmp_path):
    partitions = [re.search(r'^partition = "([a-z0-9-]+):', text, re.M)[1] for text in draw_worlds("0", 14).values()]
    assert sorted(partitions[:7]) == sorted(partitions[7:]) == sorted(ranges.FAMILIES)


def test_every_world_is_within_the_ranges_and_can_be_played(tmp_path):
    labels = stream(0, "labels").permutation(55_000) % 10
    for seed in range(12):
        folder = tmp_path / f"{seed:x}"
        assert main(["--seed", f"{seed:x}", "--worlds", "7", "--out", str(folder)]) == 0
        for path in sorted(folder.glob("*.toml")):
            world = read_world(path, held_out="held-out")
            (place,) = world.places
            run = settings(**world.base, **place.changes)
            scheme = PARTITIONS.make(run.partition)
            assert 40 <= scheme.clients <= 240
            assert scheme.clients % 20 == 0
            assert 3 <= run.k <= 20
            assert run.lost in ranges.LOST
            assert run.average in ranges.AVERAGES
            assert 0.01 <= run.local["rate"] <= 0.1
            assert 1 <= run.local["epochs"] <= 5
            shards = scheme.split(labels, 10, stream(0, "partition"), None)
            assert len(shards.ids) == scheme.clients
            mean = shards.sizes.mean()
            assert run.k * mean * run.local["epochs"] <= 1.01 * ranges.MOST_SAMPLES
            fraction = re.fullmatch(r"uniform:fraction=([0-9.]+)", run.availability)
            online = float(fraction[1]) if fraction else 1.0
            assert 0.2 <= online <= 1.0
            assert run.k <= round(online * scheme.clients)


def test_worlds_are_drawn_once(tmp_path, capsys):
    out = ["--out", str(tmp_path)]
    assert main(["--seed", "a", "--worlds", "2", *out]) == 0
    assert main(["--seed", "a", "--worlds", "2", *out]) == 0
    assert main(["--seed", "b", "--worlds", "2", *out]) == 3
    assert "drawn-1.toml is from another draw; held-out worlds are drawn once" in capsys.readouterr().err
    assert main(["--seed", "xyz", *out]) == 2


def test_who_does_not_play_is_named_with_the_reason(tmp_path, capsys):
    asked = ["--seed", "a", "--worlds", "3", "--out", str(tmp_path), "--without", "fedacs", "oort"]
    assert main(asked) == 2
    assert "--without needs a reason; give it with --why" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert main([*asked, "--why", "was clearly out before"]) == 0
    plain = draw_worlds("a", 3)
    for path in tmp_path.glob("*.toml"):
        absent = dict(read_world(path).absent)
        assert {absent.pop("fedacs"), absent.pop("oort")} == {"was clearly out before"}
        (tmp_path / path.name).write_text(plain[path.name])
        assert absent == read_world(path).absent
