"""The dashboard on a run that goes on: what it shows, to whom, and in a real browser that it moves."""

import asyncio
import contextlib
import http.client
import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

import callup
from callup.cli.main import run
from callup.core.errors import InputError
from callup.dashboard import pages
from callup.dashboard.live_run import LiveRun, runs_below
from callup.dashboard.now import alerts, now, sentence
from callup.journal.why import why

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "a"
    settings = {"partition": "mavericks:clients=12,count=1", "faults": "dropout:chance=0.3", "guard": "on"}
    callup.simulate(task="fashion14-mlp", selector="random", k=4, rounds=6, seed=1, **settings).save(folder)
    return folder


def part_of(finished, folder, rounds):
    """The folder as it was when so many rounds had ended, and half a line of the next."""
    shutil.copytree(finished, folder, dirs_exist_ok=True)
    lines = (finished / "events.jsonl").read_text().splitlines(keepends=True)
    (folder / "events.jsonl").write_text("".join(lines[:rounds]) + "".join(lines[rounds : rounds + 1])[:20])
    return lines


def test_only_what_was_added_is_read(finished, tmp_path):
    lines = part_of(finished, tmp_path, 2)
    live = LiveRun(tmp_path)
    assert len(live.history) == 2 and not live.finished and not live.refresh()
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write(lines[2][20:])
    assert live.refresh() and [record.index for record in live.history] == [1, 2, 3]
    # After a crash the file is written anew, and shorter.
    (tmp_path / "events.jsonl").write_text(lines[0])
    assert live.refresh() and len(live.history) == 1
    (tmp_path / "events.jsonl").write_text("".join(lines))
    assert live.refresh() and live.finished


def test_where_it_stands(finished):
    one = now(LiveRun(finished))
    assert (one.rounds, one.planned, one.state, one.clients) == (6, 6, "finished", 12)
    assert one.asked == one.used + sum(one.failed.values())
    assert one.accuracy is not None and one.best >= one.accuracy
    assert sentence(one).startswith("round 6 of 6 · finished · accuracy")


def test_what_should_worry(finished, tmp_path):
    lines = part_of(finished, tmp_path, 0)
    rows = [json.loads(line) for line in lines]
    for row, accuracy in zip(rows, (0.2, 0.6, 0.7, 0.7, 0.5, 0.6), strict=True):
        row |= {"accuracy": accuracy, "abandoned": row["index"] > 3}
    rows[-1] |= {"failed": dict.fromkeys(map(str, rows[-1]["asked"][:3]), "no reply")}
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert alerts(LiveRun(tmp_path))[:3] == [
        "the last 3 rounds had too few replies; the model stands still",
        "accuracy is 10.0 points below its best, 70.0\u202f%",
        "3 of 4 clients failed in the last round",
    ]


def test_no_run_yet(tmp_path, capsys):
    with pytest.raises(InputError, match=r"no run in .* yet; start one with: callup run"):
        runs_below(tmp_path)
    assert run(["top", str(tmp_path)]) == 3
    assert run(["dashboard", str(tmp_path)]) == 3
    assert "no run in" in capsys.readouterr().err


def test_top(finished, capsys):
    assert run(["top", str(finished)]) == 0
    assert capsys.readouterr().out.startswith("round 6 of 6 · finished")
    assert run(["top", str(finished), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == 6


@contextlib.contextmanager
def served(folder):
    process = subprocess.Popen(
        [sys.executable, "-m", "callup", "dashboard", str(folder), "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


class Site:
    """A dashboard that runs, and what it answers."""

    def __init__(self, address):
        root, _, self.token = address.partition("/?token=")
        self.port = int(root.rpartition(":")[2])

    def get(self, path, method="GET", known=True, **headers):
        given = {"Authorization": f"Bearer {self.token}"} if known else {}
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        line.request(method, path, headers=given | headers)
        answer = line.getresponse()
        text = answer.read().decode()
        line.close()
        return answer.status, dict(answer.getheaders()), text


@pytest.fixture(scope="module")
def site(finished):
    with served(finished) as address:
        yield Site(address)


@pytest.mark.parametrize("page", ["/", "/live", "/client?id=3", "/state", "/metrics", "/news", "/dashboard.js"])
def test_nobody_looks_in_without_the_token(site, page):
    assert site.get(page, known=False)[0] == 403
    assert site.get(page, Authorization="Bearer wrong")[0] == 403
    assert site.get(page, Cookie="callup-token=wrong", known=False)[0] == 403
    assert site.get(page, Host="evil.example")[0] == 403  # a foreign name that points here
    assert site.get(page, "POST")[0] == 405


def test_the_token_becomes_a_cookie(site):
    status, headers, _ = site.get(f"/?token={site.token}", known=False)
    assert status == 307 and headers["location"] == "/"
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    status, headers, page = site.get("/", known=False, Cookie=cookie.partition(";")[0])
    assert status == 200 and "default-src 'none'" in headers["content-security-policy"]
    assert "http" not in page  # asks nobody else
    assert "Last rounds" in page and "Guard" in page


def test_programs_look_too(site):
    assert json.loads(site.get("/state")[2])["rounds"] == 6
    assert "callup_round 6\n" in site.get("/metrics")[2]


def test_one_client_and_no_client(site):
    said = site.get("/client?id=3")[2]
    assert "Client 3" in said and "labels" in said
    for odd in ("99", "x", "%3Cb%3E", "", "9" * 40):
        status, _, text = site.get(f"/client?id={odd}")
        assert status == 200 and "knows no client" in text and "<b>" not in text


def test_why_a_client_was_called(tmp_path):
    folder = tmp_path / "run"
    settings = {"task": "fashion14-mlp", "partition": "mavericks:clients=12,count=1", "selector": "fed-cbs"}
    (tmp_path / "run.toml").write_text("".join(f'{key} = "{value}"\n' for key, value in settings.items()))
    with (tmp_path / "run.toml").open("a") as file:
        file.write("k = 4\nrounds = 5\nseed = 1\n")
    assert run(["run", str(tmp_path / "run.toml"), "--out", str(folder)]) == 0
    told = why(folder, 3)
    said = pages.client_page(LiveRun(folder), ".", "3")
    assert f"and was in {told.calls}." in said
    assert said.count("<td>replied</td>") == told.calls > 0
    assert all(f"<td>{one.scores['qcid']:.4g}</td>" in said for one in told.appearances if one.place)
    assert "<th>qcid</th>" in said and "No scores" not in said


def test_runs_of_a_race_and_no_others(finished, tmp_path):
    for name in ("one", "deep/two"):
        shutil.copytree(finished, tmp_path / "race" / name)
    with served(tmp_path / "race") as address:
        site = Site(address)
        assert "<option selected>deep/two</option><option>one</option>" in site.get("/")[2]
        assert site.get("/state?run=one")[0] == 200
        for outside in ("../../a", "/etc", "deep", "one/.."):
            assert site.get(f"/state?run={outside}")[0] == 404


def test_it_says_news_while_rounds_come(finished, tmp_path):
    lines = part_of(finished, tmp_path, 2)
    with served(tmp_path) as address:
        root, _, token = address.partition("/?token=")
        request = urllib.request.Request(f"{root}/news", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=20) as stream:
            first = next(line for line in stream if line.startswith(b"data"))
            (tmp_path / "events.jsonl").write_text("".join(lines))
            began = time.monotonic()
            assert next(line for line in stream if line.startswith(b"data")) != first
            assert time.monotonic() - began < 10


@pytest.mark.skipif(BROWSER is None, reason="no chromium or google-chrome on this machine")
def test_the_page_moves_in_a_browser(finished, tmp_path):
    connect = pytest.importorskip("websockets.asyncio.client").connect
    lines = part_of(finished, tmp_path / "run", 2)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    with served(tmp_path / "run") as address:
        browser = subprocess.Popen(
            [BROWSER, *options, f"--remote-debugging-port={port}", address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            asyncio.run(_watch(port, connect, lambda: (tmp_path / "run/events.jsonl").write_text("".join(lines))))
        finally:
            browser.terminate()
            browser.wait(20)


async def _watch(port, connect, play_on):
    async with connect(await _tab(port), max_size=None) as line:
        count = 0

        async def value(expression):
            nonlocal count
            count += 1
            await line.send(
                json.dumps({"id": count, "method": "Runtime.evaluate", "params": {"expression": expression}})
            )
            while (answer := json.loads(await line.recv())).get("id") != count:
                pass
            return answer["result"]["result"].get("value")

        async def becomes(expression, wanted):
            for _ in range(100):
                if await value(expression) == wanted:
                    return
                await asyncio.sleep(0.1)
            raise AssertionError(f"{expression} is {await value(expression)!r}, not {wanted!r}")

        rounds = "parseInt(document.querySelector('.cards dd')?.textContent)"
        await becomes(rounds, 2)
        await becomes("document.getElementById('line').textContent", "live")
        assert await value("location.search") == ""
        play_on()
        await becomes(rounds, 6)
        assert await value("document.documentElement.scrollWidth <= innerWidth") is True


async def _tab(port):
    for _ in range(100):
        with contextlib.suppress(OSError, StopIteration):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=5) as answer:
                tabs = json.loads(answer.read())
            return next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
        await asyncio.sleep(0.1)
    raise AssertionError("the browser did not start")
