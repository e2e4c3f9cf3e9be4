"""What a method went by, read back from the notes of its selections."""

import pytest

from callup.core.basis import goes_by, told_by, went_by

COUNTS, UPDATE, LOSS, NOTHING = (goes_by(name) for name in ("label_counts", "update", "loss", None))


def test_the_note_is_a_plain_number_and_comes_back_among_others():
    assert goes_by("label_counts") == {"by_label_counts": 1.0}
    assert told_by({"objective": 0.3, **goes_by("update")}) == "update"
    assert goes_by(None) == {}
    assert told_by({"objective": 0.3}) is None


@pytest.mark.parametrize(
    ("rounds", "words"),
    [
        ([], ""),
        ([NOTHING, NOTHING], ""),
        ([COUNTS, COUNTS], "label_counts"),
        ([NOTHING, UPDATE, UPDATE], "update from round 2"),
        ([NOTHING, LOSS, UPDATE], "loss from round 2, update from round 3"),
        ([UPDATE, LOSS, UPDATE, LOSS], "update and loss"),
    ],
)
def test_a_run_in_words(rounds, words):
    assert went_by(enumerate(rounds, 1)) == words
