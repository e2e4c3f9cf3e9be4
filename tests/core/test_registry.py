"""Names, cards, and what happens to a typo."""

from __future__ import annotations

import string
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from callup.core.catalogue import AVERAGES, FILTERS, SELECTORS
from callup.core.errors import UsageError, suggest
from callup.core.registry import Registry


def fresh() -> Registry[Any]:
    registry: Registry[Any] = Registry("thing", "callup.core")
    registry._read = True  # nothing to read: what is added here is all there is
    return registry


def added(registry: Registry[Any], name: str = "sample", **facts: Any) -> type:
    @registry.add(name, **facts)
    @dataclass
    class Sample:
        """What it does.

        More words.

        Differs from the paper: in one
        place.
        """

        d: int = 2

    return Sample


def edits(word: str) -> Iterator[str]:
    """Everything one slip of the finger away: a letter lost, doubled or added, changed, or swapped with the next."""
    letters = string.ascii_lowercase + "-"
    for i in range(len(word) + 1):
        yield from (word[:i] + c + word[i:] for c in letters)
        if i < len(word):
            yield word[:i] + word[i + 1 :]
            yield from (word[:i] + c + word[i + 1 :] for c in letters)
        if i + 1 < len(word):
            yield word[:i] + word[i + 1] + word[i] + word[i + 2 :]


@pytest.mark.parametrize("registry", [SELECTORS, AVERAGES, FILTERS], ids=lambda r: r.kind)
def test_a_typo_gets_the_right_suggestion(registry: Registry[Any]) -> None:
    names = [card.name for card in registry.cards()]
    typos = [(name, typo) for name in names for typo in set(edits(name)) - set(names) if typo]
    right = sum(f"'{name}'" in suggest(typo, names) for name, typo in typos)
    assert right >= 0.95 * len(typos), f"{right} of {len(typos)}"


def test_an_unknown_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="unknown selector 'randon'; did you mean 'random'\\?"):
        SELECTORS.make("randon")
    with pytest.raises(UsageError, match=r"unknown selector 'qqqqqq'; known: .*random"):
        SELECTORS.make("qqqqqq")
    assert suggest("x", []) == ""


def test_a_spec_makes_an_instance() -> None:
    registry = fresh()
    sample = added(registry, presets={"deep": {"d": 9}})
    assert registry.make("sample").d == 2
    assert registry.make("sample:d=5").d == 5
    assert registry.make("sample:deep").d == 9
    assert registry.make("sample:deep,d=5").d == 5
    assert registry.make("sample:deep,d=5", d=6).d == 6
    ready = sample(3)
    assert registry.make(ready) is ready


def test_bad_specs_are_refused() -> None:
    registry = fresh()
    sample = added(registry, presets={"deep": {"d": 9}})
    with pytest.raises(UsageError, match="sample has no preset 'deeep'; did you mean 'deep'\\?"):
        registry.make("sample:deeep")
    with pytest.raises(UsageError, match="parameters \\['d'\\] cannot be set on a ready-made thing"):
        registry.make(sample(3), d=4)


def test_a_card_reads_the_docstring() -> None:
    registry = fresh()
    added(registry, paper="A paper", needs=("loss@probe|duration",))
    card = registry.card("sample")
    assert (card.name, card.paper, card.summary) == ("sample", "A paper", "What it does.")
    assert card.differs.split() == ["in", "one", "place."]
    assert [(p.name, p.kind, p.default) for p in card.parameters] == [("d", "a whole number", 2)]
    assert str(card.needs[0]) == "loss@probe|duration"


def test_a_name_belongs_to_one_class() -> None:
    registry = fresh()
    sample = added(registry)
    registry.add("sample")(sample)  # the same class again, as when a module is read twice

    @dataclass
    class Other:
        pass

    with pytest.raises(ValueError, match=r"thing 'sample' is already .*Sample"):
        registry.add("sample")(Other)
    Other.__qualname__, Other.__module__ = sample.__qualname__, "another.module"
    with pytest.raises(ValueError, match=r"thing 'sample' is already .*Sample"):
        registry.add("sample")(Other)


def test_a_method_is_a_dataclass() -> None:
    with pytest.raises(TypeError, match="must be a dataclass"):
        fresh().add("plain")(type("Plain", (), {}))


def test_a_catalogue_with_a_broken_module_fails_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "half_broken"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "broken.py").write_text("import a_module_that_does_not_exist")
    monkeypatch.syspath_prepend(tmp_path)
    registry: Registry[Any] = Registry("thing", "half_broken")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError):
            registry.cards()
    sys.modules.pop("half_broken", None)


def test_cards_come_by_name() -> None:
    names = [card.name for card in SELECTORS.cards()]
    assert names == sorted(names)
    assert {"all", "random"} <= set(names)
