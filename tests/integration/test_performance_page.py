"""The page on speed says what the stored results say, and is up to date with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import performance_page

    return performance_page


def peer(name: str, ms: float, times: float) -> dict[str, Any]:
    return {
        **{"work": "mlp", "name": name, "version": "1.0", "ms": ms, "times_callup": times},
        **{"threads": 2, "start_up_s": 1.0},
    }


def test_aims_are_marked_as_reached_or_missed(page: Any) -> None:
    facts = {"date": "2026-01-02", "cores": 2, "processor": "some"}
    peers = {
        **facts,
        "flaws": ["others used 9% of the cores"],
        "matmul_gflops": {"1": 80.0, "2": 160.0},
        "floor_ms": {"mlp": 19.0},
        "rows": [peer("Callup", 38.0, 1.0), peer("pfl", 190.0, 5.0), peer("FedJAX", 114.0, 3.0)],
        "failed": {"Flower simulation engine": "cannot be installed: no wheel"},
    }
    alone = {
        **facts,
        "work": "ten clients",
        "rows": [{"name": "ours", "ms": 10.0, "best_ms": 9.0, "processor_ms": 8.0}],
        "ratios": [{"what": "ours against theirs", "times": 2.5, "aim": 3.0}, {"what": "other", "times": 1.0}],
    }
    written = page.page({"peers": peers, "cnn": alone})
    # 190 / 38 is below the aim of 6, 114 / 38 is above 2.5, and 38 is twice 19: within 2.2.
    assert "| pfl (1.0) | 190.0 | 5.00 | 6: **missed** | 2 | 1.0 |" in written
    assert "| FedJAX (1.0) | 114.0 | 3.00 | 2.5: reached | 2 | 1.0 |" in written
    assert (
        "take 19.0 ms at the speed of all cores; Callup takes 2.00 times that, aim at most 2.2 times: reached."
        in written
    )
    assert "Flower simulation engine cannot be installed: no wheel." in written
    assert "Not a clean measurement: others used 9% of the cores." in written
    assert "- ours against theirs: 2.50 times, aim 3: **missed**\n- other: 1.00 times\n" in written
    assert "Not measured yet: `make bench` stores `benchmarks/results/lstm.json`." in written


def test_the_pages_are_those_of_the_stored_results() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "performance_page.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
