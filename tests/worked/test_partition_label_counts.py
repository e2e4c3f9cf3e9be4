"""Public data dealt out as a file of label counts says."""

import numpy as np
import pytest

from callup import stream
from callup.core.errors import InputError
from callup.partition.scheme import PARTITIONS

LABELS = np.repeat([0, 1], [100, 40])


def dealt(folder, text, labels=LABELS, classes=2, seed=0, more=""):
    path = folder / "labels.csv"
    path.write_text("client,cat,dog\n" + text)
    shards = PARTITIONS.make(f"label-counts:file={path}{more}").split(labels, classes, stream(seed, "partition"))
    return shards.label_counts(labels, classes)


def test_counts_that_fit_are_dealt_as_they_are(tmp_path):
    assert dealt(tmp_path, "1,60,0\n2,0,40\n3,40,0\n").tolist() == [[60, 0], [0, 40], [40, 0]]


def test_the_scarcest_class_sets_the_scale(tmp_path):
    # 80 dogs are asked for and 40 there: everybody gets half.
    assert dealt(tmp_path, "1,60,20\n2,0,60\n3,20,0\n").tolist() == [[30, 10], [0, 30], [10, 0]]


def test_parts_of_a_sample_go_by_chance_and_none_is_lost(tmp_path):
    # Half of 3 + 3 + 74 dogs: 1.5, 1.5 and 37.
    seen = {tuple(dealt(tmp_path, "1,2,3\n2,2,3\n3,2,74\n", seed=seed)[:, 1].tolist()) for seed in range(20)}
    assert seen == {(2, 1, 37), (1, 2, 37)}


def test_who_has_nothing_is_left_out_and_who_has_little_keeps_one(tmp_path):
    counts = dealt(tmp_path, "1,0,0\n2,1,0\n3,3999,0\n4,2000,0\n")
    assert len(counts) == 3
    assert counts[0].tolist() == [1, 0] and counts.sum() <= 140


def test_some_of_the_clients(tmp_path):
    text = "1,1,0\n2,2,0\n3,3,0\n4,0,0\n"
    seen = {tuple(dealt(tmp_path, text, seed=seed, more=",clients=2")[:, 0].tolist()) for seed in range(30)}
    assert seen == {(1, 2), (1, 3), (2, 3)}
    with pytest.raises(InputError, match="has 3 clients with samples, not 4"):
        dealt(tmp_path, text, more=",clients=4")


def test_other_classes_than_the_data_have(tmp_path):
    with pytest.raises(InputError, match="has 2 classes, the data 1; take data with as many"):
        dealt(tmp_path, "1,5,5\n", np.zeros(50, int), 1)
    with pytest.raises(InputError, match="samples of class 1, the data none"):
        dealt(tmp_path, "1,5,5\n", np.zeros(50, int), 2)


def test_more_clients_than_samples(tmp_path):
    with pytest.raises(InputError, match="200 clients cannot share 140 samples"):
        dealt(tmp_path, "".join(f"{n},1,1\n" for n in range(200)))
