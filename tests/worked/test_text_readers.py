"""Readers of texts, on files made here in each published form, whole and broken."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest

from callup.core.errors import InputError, UsageError
from callup.simulation.data.text import json_lines
from callup.simulation.data.text.by_user import read_by_user
from callup.simulation.data.text.leaf import read_leaf
from callup.simulation.data.text.posts import Post
from callup.simulation.data.text.stack_exchange import read_stack_exchange
from callup.simulation.data.text.yelp import read_yelp
from callup.simulation.task import TASKS

Reader = Callable[[Path], Iterator[Post]]


def lines(path: Path, *objects: Any) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in objects))
    return path


def posts_xml(path: Path, *rows: dict[str, str]) -> Path:
    inside = "".join(f"  <row {' '.join(f'{k}={quoteattr(v)}' for k, v in row.items())} />\n" for row in rows)
    path.write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<posts>\n{inside}</posts>\n', encoding="utf-8")
    return path


def leaf(path: Path, **users: dict[str, Any]) -> Path:
    sizes = [len(data["x"]) for data in users.values()]
    path.write_text(json.dumps({"users": list(users), "num_samples": sizes, "user_data": users}))
    return path


def refused(reader: Reader, path: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(reader(path))
    assert str(path) in str(caught.value) and "\n" not in str(caught.value) and caught.value.exit_code == 3
    return str(caught.value)


def test_by_user(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "a.jsonl",
        {"user": "ann", "n": 2, "samples": [{"t": "hello there", "ts": "2018"}, {"t": "ünïcode"}]},
        {"user": "bob", "n": 0, "samples": []},
    )
    expected = [Post("ann", "hello there", "2018"), Post("ann", "ünïcode", "")]
    assert list(read_by_user(path)) == expected
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert list(read_by_user(packed)) == expected


def test_by_user_broken(tmp_path: Path) -> None:
    packed = tmp_path / "cut.jsonl.gz"
    whole = gzip.compress(json.dumps({"user": "a", "n": 1, "samples": [{"t": "x" * 5000}]}).encode() + b"\n")
    packed.write_bytes(whole[:-12])
    assert "cannot be read" in refused(read_by_user, packed)
    packed.write_bytes(b"no gzip at all")
    assert "cannot be read" in refused(read_by_user, packed)
    path = tmp_path / "b.jsonl"
    path.write_text('{"user": "a", "n": 1, "sam')
    assert "line 1: is not JSON" in refused(read_by_user, path)
    assert "1 samples, not the 2" in refused(read_by_user, lines(path, {"user": "a", "n": 2, "samples": [{"t": "x"}]}))
    assert "'t' is 3" in refused(read_by_user, lines(path, {"user": "a", "n": 1, "samples": [{"t": 3}]}))
    assert "expected an object" in refused(read_by_user, lines(path, {"user": "a", "n": 1, "samples": ["x"]}))
    assert "'user' is None" in refused(read_by_user, lines(path, {"name": "a"}))
    assert "holds list" in refused(read_by_user, lines(path, [1]))
    path.write_text("[" * 100_000)
    assert "is not JSON" in refused(read_by_user, path)
    path.write_bytes(b'{"user": "\xff"}')
    assert "is not JSON" in refused(read_by_user, path)
    assert "cannot be read" in refused(read_by_user, tmp_path / "absent.jsonl")


def test_a_line_that_does_not_end_is_not_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "LONGEST", 1000)
    packed = tmp_path / "bomb.jsonl.gz"
    packed.write_bytes(gzip.compress(b" " * 1001))
    assert "line 1: is longer than 1,000 bytes" in refused(read_by_user, packed)
    packed.write_bytes(gzip.compress(b" " * 999 + b"\n" + b" " * 1000))
    assert list(read_by_user(packed)) == []


def test_leaf_strings_and_lists_of_words(tmp_path: Path) -> None:
    path = leaf(
        tmp_path / "all_data.json",
        ann={"x": ["a tweet", "another"], "y": [0, 4]},
        # As in LEAF's Reddit: a sample is a list of rows of ten words, padded.
        bob={
            "x": [[["<BOS>", "hi", "all", "<EOS>", "<PAD>"], ["<BOS>", "bye", "<EOS>"]]],
            "y": [{"target_tokens": []}],
        },
    )
    assert list(read_leaf(path)) == [Post("ann", "a tweet"), Post("ann", "another"), Post("bob", "hi all bye")]


def test_leaf_overlapping_letters_become_text_again(tmp_path: Path) -> None:
    """ "to be or" and "not" as windows of four letters, each with the letter that follows."""
    spoken = ["to be or", "not."]
    x = [text[i : i + 3] for text in spoken for i in range(len(text) - 3)]
    y = [text[i + 3] for text in spoken for i in range(len(text) - 3)]
    path = leaf(tmp_path / "all_data.json", hamlet={"x": x, "y": y})
    assert list(read_leaf(path)) == [Post("hamlet", "to be or"), Post("hamlet", "not.")]


def test_leaf_folder_in_the_order_of_names(tmp_path: Path) -> None:
    leaf(tmp_path / "all_data_1.json", bob={"x": ["second"], "y": [0]})
    leaf(tmp_path / "all_data_0.json", ann={"x": ["first"], "y": [0]})
    (tmp_path / "readme.txt").write_text("not data")
    assert [post.text for post in read_leaf(tmp_path)] == ["first", "second"]


def test_leaf_broken(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert "holds no .json file" in refused(read_leaf, tmp_path)
    path.write_text('{"users": ["a"], "user_data": {')
    assert "is not JSON" in refused(read_leaf, path)
    path.write_text('{"users": ["a"], "user_data": {}}')
    assert "user 'a'" in refused(read_leaf, path)
    path.write_text('{"users": ["a"]}')
    assert "'user_data' is None" in refused(read_leaf, path)
    assert "expected text or lists of words" in refused(read_leaf, leaf(path, a={"x": [[1, 2]], "y": [0]}))


def test_stack_exchange_posts(tmp_path: Path) -> None:
    path = posts_xml(
        tmp_path / "Posts.xml",
        {
            "Id": "1",
            "PostTypeId": "1",
            "OwnerUserId": "7",
            "CreationDate": "2011-01-01T00:00:00.000",
            "Body": "<p>Why does <code>ls</code> &lt;hang&gt; &amp; die?</p><pre>rm\nall</pre><p>Thanks</p>",
        },
        {"Id": "2", "PostTypeId": "2", "OwnerUserId": "8", "Body": "<p>No idea.</p>"},
        {"Id": "3", "PostTypeId": "5", "OwnerUserId": "8", "Body": "<p>A tag's page.</p>"},
        {"Id": "4", "PostTypeId": "2", "OwnerDisplayName": "gone", "Body": "<p>Author unknown.</p>"},
    )
    question, answer = read_stack_exchange(path)
    assert (question.author, question.when) == ("7", "2011-01-01T00:00:00.000")
    assert question.text.split() == ["Why", "does", "ls", "<hang>", "&", "die?", "Thanks"]
    assert answer.author == "8" and answer.text.split() == ["No", "idea."]


def test_stack_exchange_comments(tmp_path: Path) -> None:
    path = posts_xml(
        tmp_path / "Comments.xml", {"Id": "1", "UserId": "7", "Text": "a < b, is it?", "CreationDate": "2"}
    )
    assert list(read_stack_exchange(path)) == [Post("7", "a < b, is it?", "2")]


def test_stack_exchange_explosives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "Posts.xml"
    bombs = [
        '<!DOCTYPE posts [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><posts><row OwnerUserId="1" Body="&b;"/></posts>',
        '<!DOCTYPE posts [<!ENTITY a SYSTEM "file:///etc/hostname">]><posts><row OwnerUserId="1" Body="x"/></posts>',
        '<!DOCTYPE posts SYSTEM "http://127.0.0.1/x.dtd"><posts><row OwnerUserId="1" Body="x"/></posts>',
    ]
    for bomb in bombs:
        path.write_text(bomb)
        assert "declares a document type or entities" in refused(read_stack_exchange, path)


def test_stack_exchange_broken(tmp_path: Path) -> None:
    path = posts_xml(tmp_path / "Posts.xml", *[{"OwnerUserId": "1", "Body": "x" * 100}] * 30)
    path.write_bytes(path.read_bytes()[:-50])
    assert "is not whole XML" in refused(read_stack_exchange, path)
    path.write_text("<users></users>")
    assert "has no rows" in refused(read_stack_exchange, path)
    path.write_text("")
    assert "is not whole XML" in refused(read_stack_exchange, path)


def test_yelp(tmp_path: Path) -> None:
    review = {"review_id": "r", "user_id": "u", "business_id": "b", "stars": 4.0, "text": "Good.", "date": "2015-03-01"}
    path = lines(tmp_path / "review.json", review, {**review, "user_id": "v", "text": "Bad."})
    assert list(read_yelp(path)) == [Post("u", "Good.", "2015-03-01"), Post("v", "Bad.", "2015-03-01")]
    assert "'text' is None" in refused(read_yelp, lines(path, {"user_id": "u"}))


ESSAY = " ".join(f"word{(i * i) % 23}" for i in range(120))


@pytest.mark.parametrize("form", ["leaf", "stackexchange", "yelp"])
def test_tasks_of_your_own_files(tmp_path: Path, form: str) -> None:
    users = ["ann", "bob", "eve"]
    path = {
        "leaf": lambda p: leaf(p, **{user: {"x": [ESSAY], "y": [0]} for user in users}),
        "stackexchange": lambda p: posts_xml(p, *[{"OwnerUserId": user, "Body": f"<p>{ESSAY}</p>"} for user in users]),
        "yelp": lambda p: lines(p, *[{"user_id": user, "text": ESSAY} for user in users]),
    }[form](tmp_path / "file")
    loaded = TASKS.make(f"text-{form}:small,tokens=100,path={path},length=4").load()
    # 120 words in rows of 4: 3 rows for validation, 3 for the test, 24 for training.
    assert loaded.data.train.x.shape == (72, 4) and len(loaded.data.test) == 9
    assert loaded.data.owners is not None and loaded.data.owners.max() == 2
    with pytest.raises(InputError, match="none of 3 authors"):
        TASKS.make(f"text-{form}:path={path}").load()
    with pytest.raises(UsageError, match="needs a value for 'path'"):
        TASKS.make(f"text-{form}")
    with pytest.raises(InputError, match="cannot be read"):
        TASKS.make(f"text-{form}:path={tmp_path / 'absent'}").load()
    with pytest.raises(UsageError, match="tokens"):
        TASKS.make(f"text-{form}:path={path},tokens=0")
