"""The page in a real browser: nothing is refused, nothing overflows, and the buttons do what they say."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from callup.core.clients import Clients
from callup.core.randomness import stream
from callup.report import write_report
from callup.simulation.run import Ledger, RoundRecord, Run

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium or google-chrome on this machine")

# Runs in the page after its own script; what it finds is read from the document afterwards.
WATCH = """<script>
window.trouble = [];
addEventListener("error", (event) => trouble.push(event.message));
addEventListener("securitypolicyviolation", (event) => trouble.push(`${event.violatedDirective} ${event.blockedURI}`));
</script>"""
PROBE = """<script>
(() => {
const one = (selector) => document.querySelector(selector);
const many = (selector) => [...document.querySelectorAll(selector)];
const found = { trouble, width: innerWidth, overflow: document.documentElement.scrollWidth - innerWidth };
const boxes = (selector) => many(selector).filter((mark) => mark.getClientRects().length)
  .map((mark) => ({ words: mark.textContent, box: mark.getBoundingClientRect() }));
found.spill = boxes("svg.wide text, svg.narrow text")
  .filter(({ box }) => box.left < -1 || box.right > innerWidth + 1).map(({ words }) => words);
found.smallest = Math.min(...boxes("svg text").map(({ box }) => box.height));
const line = () => getComputedStyle(one('svg.wide .series[data-method="1"]')).display;
const order = () => many(".sortable tbody th").map((cell) => cell.dataset.sort);
const shade = () => getComputedStyle(document.body).backgroundColor;
const pressed = () => many("[data-toggle]").map((button) => button.getAttribute("aria-pressed"));
const second = one('[data-toggle="1"]'), theme = one("#theme");
found.before = line();
second.click(); found.hidden = line();
second.click(); found.again = line();
second.dispatchEvent(new MouseEvent("dblclick")); found.alone = pressed();
second.dispatchEvent(new MouseEvent("dblclick")); found.together = pressed();
const heading = many(".sortable thead button")[1];
heading.click(); found.up = order();
heading.click(); found.down = order();
found.sorted = heading.parentElement.getAttribute("aria-sort");
theme.click(); found.light = shade();
theme.click(); found.dark = shade();
const chart = many("svg[tabindex]").find((svg) => getComputedStyle(svg).display !== "none");
for (const key of ["End", "Home", "ArrowRight"]) chart.dispatchEvent(new KeyboardEvent("keydown", { key }));
found.tip = one(".tip").innerText;
setTimeout(() => parent.postMessage(JSON.stringify(found), "*"), 500); // violations are reported a little later
})();
</script>"""
# A window cannot be as narrow as a phone, a frame can.
FRAME = """<!doctype html><pre id="found"></pre><script>
addEventListener("message", (event) => { document.getElementById("found").textContent = event.data; });
</script><iframe src="report.html" style="width: WIDTHpx; height: 900px; border: 0"></iframe>"""


def a_run(method: str, seed: int, final: float) -> Run:
    rng = stream(seed, "browser", method)
    counts = rng.integers(1, 30, (30, 10))
    history = []
    for t in range(1, 41):
        ids = rng.choice(30, 5, replace=False).tolist()
        accuracy = final * (1 - 0.93**t)
        history.append(
            RoundRecord(
                t,
                30,
                ids,
                ids,
                ids,
                {},
                str(ids),
                0.1,
                counts[ids].sum(axis=0).tolist(),
                accuracy,
                recall=[accuracy] * 10,
                clock=90.0 * t,
                ledger=Ledger(10, 10**6, 10**6, 0, 50),
            )
        )
    settings = {"scenario": "A <i>scenario</i>", "selector": method, "seed": seed, "target": 0.7, "rare_classes": [3]}
    return Run(settings, Clients(np.arange(30), label_counts=counts), tuple(history), np.zeros(1), {})


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    finals = {"random": 0.75, "power-of-choice:d=20,variant=batch": 0.9, "<script>alert(1)</script>": 0.8}
    runs = [a_run(method, seed, final) for method, final in finals.items() for seed in range(3)]
    path = write_report(tmp_path_factory.mktemp("page") / "report.html", runs)
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace("<title>", f"{WATCH}<title>", 1).replace("</body>", f"{PROBE}</body>"), encoding="utf-8"
    )
    return path


def look(page: Path, width: int, profile: Path) -> dict[str, Any]:
    """Opens the page at this width and returns what the probe found."""
    assert BROWSER is not None
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    flags += ["--window-size=1400,1000", f"--user-data-dir={profile}", "--virtual-time-budget=5000", "--dump-dom"]
    frame = page.with_name("frame.html")
    frame.write_text(FRAME.replace("WIDTH", str(width)), encoding="utf-8")
    done = subprocess.run([BROWSER, *flags, frame.as_uri()], capture_output=True, text=True, timeout=90, check=True)
    match = re.search(r'<pre id="found">(.+?)</pre>', done.stdout, re.DOTALL)
    assert match, done.stdout[-500:]
    found: dict[str, Any] = json.loads(html.unescape(match[1]))
    return found


def test_on_a_desk(page: Path, tmp_path: Path) -> None:
    found = look(page, 1200, tmp_path)
    assert found["trouble"] == []
    assert found["overflow"] <= 0
    assert found["spill"] == []
    assert (found["before"], found["hidden"], found["again"]) == ("inline", "none", "inline")
    assert found["alone"] == ["false", "true", "false"]
    assert found["together"] == ["true", "true", "true"]
    # By final accuracy: random 0.75, the hostile name 0.8, power-of-choice 0.9.
    assert found["up"] == ["random", "<script>alert(1)</script>", "power-of-choice:d=20,variant=batch"]
    assert found["down"] == found["up"][::-1]
    assert found["sorted"] == "descending"
    assert (found["light"], found["dark"]) == ("rgb(255, 255, 255)", "rgb(19, 22, 27)")
    # The arrow went from round 1 to round 2, where 1 - 0.93^2 = 0.1351: 12.2 % of 0.9, 10.8 % of 0.8, 10.1 % of 0.75.
    shown = found["tip"].split()
    assert shown[:2] == ["round", "2"]
    assert [word for word in shown if "." in word] == ["12.2", "10.8", "10.1"]


def test_on_a_phone(page: Path, tmp_path: Path) -> None:
    found = look(page, 360, tmp_path)
    assert found["width"] == 360
    assert found["trouble"] == []
    assert found["overflow"] <= 0
    assert found["spill"] == []
    # Letters of at least 10 pixels.
    assert found["smallest"] >= 10
