"""A method of one's own: from `callup new` to a race, in processes of their own, as a file adds to what is known."""

import json
import os
import subprocess
import sys

import pytest

BROKEN = """
from dataclasses import dataclass
from callup.core.catalogue import SELECTORS
from callup.core.selector import Selector
from callup.core.types import Selection

@SELECTORS.add("first", paper="nobody")
@dataclass(repr=False)
class First(Selector):
    '''Call whoever comes first, and remember while looking.'''

    def select(self, now, k):
        self.seen_ = now.index
        return Selection(now.available[:k])
"""


def callup(folder, *args, code=0, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "callup", *args],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    made = callup(folder, "new", "selector", "my-method")
    assert made.stdout.split() == ["my_method.py", "test_my_method.py"]
    return folder


def test_the_starter_keeps_every_rule(home):
    document = json.loads(callup(home, "validate", "my_method.py", "--format", "json").stdout)
    assert document["success"] and len(document["rules"]) >= 34
    assert {row["method"] for row in document["rules"]} == {"my-method"}


def test_the_starters_test_passes(home):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_method.py"],
        cwd=home,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout


def test_it_races_in_workers_too_and_is_known_again_only_when_named(home):
    options = ["--rounds", "2", "--seeds", "2", "--scenario", "skewed", "--out", "race", "--format", "json"]
    raced = callup(home, "race", "random", "my_method.py:patience=2", "--jobs", "2", *options)
    assert {row["method"] for row in json.loads(raced.stdout)["runs"]} == {"random", "my-method:patience=2"}
    run = "race/skewed/my-method_patience_2-0"
    # The file is not looked for by itself, whatever a run that somebody sent says.
    assert "unknown selector 'my-method'" in callup(home, "verify", run, code=2).stderr
    assert "2 selections as recorded" in callup(home, "--plugin", "my_method.py", "verify", run).stdout
    assert "2 selections as recorded" in callup(home, "verify", run, CALLUP_PLUGINS="my_method.py").stdout


def test_a_file_name_in_a_stored_spec_is_no_file(home):
    (home / "evil.py").write_text("open('ran', 'w')")
    config = home / "run.toml"
    config.write_text('task = "fashion14-mlp"\nselector = "evil.py"\nk = 2\nrounds = 1\n')
    assert "unknown selector 'evil.py'" in callup(home, "run", "run.toml", code=2).stderr
    assert not (home / "ran").exists()


def test_broken_rules_are_named(home):
    (home / "first.py").write_text(BROKEN)
    document = json.loads(callup(home, "validate", "first.py", "--format", "json", code=4).stdout)
    broken = {row["rule"]: row["broken"] for row in document["rules"] if row["broken"]}
    assert not document["success"] and any("select" in rule for rule in broken)
    told = callup(home, "validate", "first.py", code=4)
    assert "rules are broken; each says what to look for" in told.stderr and "broken  first" in told.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "bad.py adds no selector; decorate a class with @SELECTORS.add('name')"),
        ("x = 1\ndef f(:\n", "bad.py, line 2: SyntaxError"),
        ("x = 1\n\nimport nowhere_to_be_found\n", "bad.py, line 3: ModuleNotFoundError"),
        (BROKEN.replace('"first"', '"random"'), "bad.py, line 7: ValueError: selector 'random' is already"),
    ],
)
def test_a_file_that_does_not_work(home, text, said):
    (home / "bad.py").write_text(text)
    assert said in callup(home, "validate", "bad.py", code=3).stderr


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["new", "selector", "my-method"], 3, "my_method.py exists already; nothing was written"),
        (["new", "selector", "fed-cbs"], 2, "there is a selector 'fed-cbs' already"),
        (["new", "selector", "My Method"], 2, "a name is small letters, digits and single dashes"),
        (["new", "selecter", "x"], 2, "did you mean 'selector'?"),
        (["new", "selector", "other", "--in", "nowhere"], 3, "there is no folder nowhere"),
        (["validate", "nowhere.py"], 3, "there is no file nowhere.py"),
        (["validate", "fed-cbss"], 2, "unknown selector 'fed-cbss'; did you mean 'fed-cbs'?"),
        (["validate", "my_method.py:patienc=2"], 2, "my-method has no parameter 'patienc'; did you mean 'patience'?"),
        (["--plugin", "nowhere.py", "list"], 3, "own0/nowhere.py"),
    ],
)
def test_mistakes(home, args, code, said):
    assert said in callup(home, *args, code=code).stderr
