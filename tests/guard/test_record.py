"""Strikes, sentences and release."""

from __future__ import annotations

import numpy as np

from callup.guard.offences import OFFENCES
from callup.guard.record import Objection, Record

ONE = np.array([7])


def judge(record: Record, index: int, *found: Objection) -> None:
    record.judge(index, found, limit=2.0, memory=10, sentence=5)


def test_two_strikes_and_five_rounds_away() -> None:
    record = Record.empty()
    judge(record, 1, Objection(7, "not finite", 3))
    assert not record.away(ONE, 2)[0]
    judge(record, 4, Objection(7, "copied update", 1))
    assert [bool(record.away(ONE, index)[0]) for index in (5, 9, 10)] == [True, True, False]
    judge(record, 10)
    assert [event.name for event in record.events()] == ["not finite", "copied update", "quarantined", "released"]


def test_several_findings_about_one_reply_are_one_strike() -> None:
    record = Record.empty()
    judge(record, 1, Objection(7, "not finite", 3), Objection(7, "copied update", 1), Objection(7, "replayed model"))
    assert not record.away(ONE, 2)[0]


def test_no_offence_alone_reaches_the_limit() -> None:
    for offence in OFFENCES:
        record = Record.empty()
        judge(record, 1, Objection(7, offence.name, 1))
        assert not record.away(ONE, 2)[0], offence.name


def test_doubtful_evidence_weighs_half() -> None:
    record = Record.empty()
    for index in (1, 2, 3):
        judge(record, index, Objection(7, "claimed labels", -0.5))
    assert not record.away(ONE, 4)[0]
    judge(record, 4, Objection(7, "claimed labels", -0.5))
    assert record.away(ONE, 5)[0]


def test_old_strikes_are_forgotten() -> None:
    record = Record.empty()
    judge(record, 1, Objection(7, "not finite", 1))
    judge(record, 12, Objection(7, "not finite", 1))
    assert not record.away(ONE, 13)[0]
    judge(record, 13, Objection(7, "not finite", 1))
    assert record.away(ONE, 14)[0]


def test_an_excused_finding_is_written_down_and_is_no_strike() -> None:
    record = Record.empty()
    for index in range(1, 6):
        judge(record, index, Objection(7, "not finite", 1, excused=True))
    assert not record.away(ONE, 6)[0]
    assert len(record.events()) == 5


def test_release_by_hand_clears_the_name() -> None:
    record = Record.empty()
    judge(record, 1, Objection(7, "not finite", 1))
    judge(record, 2, Objection(7, "not finite", 1))
    record.release(3, 7)
    assert not record.away(ONE, 3)[0]
    judge(record, 4, Objection(7, "not finite", 1))
    assert not record.away(ONE, 5)[0]


def test_events_are_sentences() -> None:
    record = Record.empty()
    judge(record, 3, Objection(7, "enormous update", 1234.5))
    judge(record, 4, Objection(7, "claimed labels", -0.61))
    assert [str(event) for event in record.events()] == [
        "round 3: client 7 sent an update 1.23e+03 times as long as usual",
        "round 4: client 7 claims labels that its update contradicts: correlation -0.61",
    ]


def test_the_record_does_not_grow_for_ever() -> None:
    record = Record.empty()
    record.judge(1, [Objection(i, "late", 1) for i in range(10_050)], 2.0, 10, 5)
    assert len(record.events()) == 10_000
    assert record.events()[0].client == 50
