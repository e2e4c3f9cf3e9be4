"""Label counts from files of each kind, and what is said of files that are not."""

import numpy as np
import pytest

from callup.core.errors import InputError
from callup.partition.label_file import read_labels


def written(folder, text, name="labels.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_line_for_each_client(tmp_path):
    table = read_labels(written(tmp_path, "client,cat,dog\n7,1,2\n\n3,0,4\n"))
    assert table.clients.ids.tolist() == [3, 7]
    assert table.names == ("3", "7") and table.classes == ("cat", "dog")
    assert table.counts.tolist() == [[0, 4], [1, 2]]


def test_names_that_are_no_numbers_are_counted(tmp_path):
    table = read_labels(written(tmp_path, "client,cat,dog\nwest,1,2\neast,0,4\n"))
    assert table.clients.ids.tolist() == [0, 1]
    assert table.names == ("west", "east")


@pytest.mark.parametrize("names", ["1,01", "1,x", "1,99999999999999999999"])
def test_ids_are_taken_only_if_all_are_different_numbers(tmp_path, names):
    a, b = names.split(",")
    table = read_labels(written(tmp_path, f"client,cat,dog\n{a},1,2\n{b},0,4\n"))
    assert table.clients.ids.tolist() == [0, 1] and table.names == (a, b)


def test_a_line_for_each_pair(tmp_path):
    text = "client,label,count\na,10,3\nb,9,2\na,9,0\nb,10,1\na,10,4\n"
    table = read_labels(written(tmp_path, text))
    assert table.classes == ("9", "10")  # in the order of numbers
    assert table.counts.tolist() == [[0, 7], [2, 1]]


def test_a_line_for_each_sample_in_any_order_of_columns(tmp_path):
    table = read_labels(written(tmp_path, "\ufefflabel,client\ndog,1\ncat,1\ndog,1\ndog,0\n"))
    assert table.classes == ("cat", "dog")
    assert table.counts.tolist() == [[0, 1], [1, 2]]


def test_json(tmp_path):
    table = read_labels(written(tmp_path, '{"ids": [4, 2], "label_counts": [[1, 2], [3, 4]]}', "x.json"))
    assert table.names == ("2", "4") and table.classes == ("0", "1")
    np.testing.assert_array_equal(table.counts, [[3, 4], [1, 2]])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the first line must be client,CLASS,CLASS"),
        ("id,cat,dog\n1,2,3\n", "the first line must be client,CLASS,CLASS"),
        ("client,cat\n1,2\n", "the first line must be client,CLASS,CLASS"),
        ("client,cat,cat\n1,2,3\n", "the first line must be client,CLASS,CLASS"),
        ("client,cat,dog\n", "names no client"),
        ("client,label\n", "names no client"),
        ("client,cat,dog\n1,2\n", "line 2 has 2 columns, the first line 3"),
        ("client,label,count\n1,cat\n", "line 2 has 2 columns, the first line 3"),
        ("client,cat,dog\n1,2,3\n1,4,5\n", "line 3: client 1 was in line 2 already"),
        ("client,cat,dog\n1,2,3\n4,5,few\n", "line 3, column dog: counts are whole numbers from 0 on, got 'few'"),
        ("client,cat,dog\n1,2,3\n\n4,-5,6\n", "line 4, column cat: counts are whole numbers from 0 on, got '-5'"),
        ("client,cat,dog\n1,2,0.5\n", "line 2, column dog: counts are whole numbers from 0 on, got '0.5'"),
        ("client,cat,dog\n1,2,99999999999999999999\n", "line 2, column dog"),
        ("client,label,count\n1,cat,-1\n", "line 2, column count: counts are whole numbers from 0 on, got '-1'"),
    ],
)
def test_what_is_wrong_is_said_by_line_and_column(tmp_path, text, said):
    with pytest.raises(InputError, match=r"labels\.csv") as refused:
        read_labels(written(tmp_path, text))
    assert said in str(refused.value)


def test_a_file_that_is_not_text(tmp_path):
    path = tmp_path / "labels.parquet"
    path.write_bytes(b"PAR1\xff\xfe\x00")
    with pytest.raises(InputError, match="is not text; label counts are read from CSV and JSON"):
        read_labels(path)
