"""The vocabulary and how needs are written."""

from __future__ import annotations

import pytest

from callup.core.errors import MissingSignal, UsageError
from callup.core.signals import SIGNALS, Ask, Needs, signal

WORDS = [
    "num_examples",
    "label_counts|label_gram",
    "duration?",
    "loss@probe",
    "loss@probe|batch_loss|train_loss?",
    "contribution:by=shapley",
    "contribution:by=shapley,rounds=3|kept",
]


def test_needs_are_printed_as_they_are_written() -> None:
    assert [str(need) for need in Needs.of(WORDS)] == WORDS
    assert Needs.of(map(str, Needs.of(WORDS))) == Needs.of(WORDS)


def test_a_need_knows_its_time() -> None:
    needs = Needs.of(("loss", "loss@probe", "gradient@probe", "kept", "owner"))
    assert [ask.time for need in needs for ask in need.any_of] == ["reply", "probe", "probe", "server", "profile"]
    assert needs.names("probe") == ["loss", "gradient"]
    assert needs.names() == ["loss", "gradient", "kept", "owner"]


def test_options_are_kept() -> None:
    (need,) = Needs.of(("contribution:by=shapley",))
    assert need.any_of[0].options == {"by": "shapley"}


@pytest.mark.parametrize(
    "word, sentence",
    [
        ("num_exmples", "unknown signal 'num_exmples'; did you mean 'num_examples'?"),
        ("num_examples@reply", "signal 'num_examples' is known at profile, not at 'reply'"),
        ("loss@server", "signal 'loss' is known at reply or probe, not at 'server'"),
        ("loss@prob", "signal 'loss' is known at reply or probe, not at 'prob'"),
        ("loss|", "expected name:key=value"),
        ("", "expected name:key=value"),
        ("contribution:shapley", "cannot read 'shapley' in the need"),
    ],
)
def test_needs_that_make_no_sense_are_refused(word: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        Needs.of((word,))
    assert sentence in str(caught.value)


def test_the_first_alternative_that_can_be_had_is_taken() -> None:
    needs = Needs.of(("label_counts|label_gram", "duration?", "loss@probe|loss"))

    def settled(*names: str) -> list[str]:
        return [str(ask) for ask in needs.settle(lambda ask: str(ask) in names, "it")]

    assert settled("label_counts", "label_gram", "duration", "loss@probe") == ["label_counts", "duration", "loss@probe"]
    assert settled("label_gram", "loss") == ["label_gram", "loss"]
    with pytest.raises(MissingSignal, match=r"it needs loss@probe\|loss, which this runtime cannot supply"):
        settled("label_counts", "duration")


def test_every_signal_says_what_it_is() -> None:
    for name, found in SIGNALS.items():
        assert found.name == name == signal(name).name
        assert found.meaning
        assert found.reveals
        assert found.times
        # Pairs and totals exist before any round: afterwards facts come client by client.
        assert found.shape in ("number", "row") or found.times == ("profile",)
        assert str(Ask(found, found.times[0])) == name
