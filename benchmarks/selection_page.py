"""The page on the speed of selection, made from stored results."""

from __future__ import annotations

from typing import Any

from callup.core.catalogue import SELECTORS

Case = dict[str, Any]
TARGETS = {("fed-cbs", 100): 4_000.0, ("fed-cbs", 10): 500.0}
SELECT_MS, UPDATE_MS, PEAK_MB, MILLION = 1_000.0, 10.0, 1_000.0, 1_000_000
TRAINING = ("nccb", "nccb:explore=0,clusters=100")
OWN_LIMITS = """Limits of their own: methods that look at everyone for each of k places, or compare everyone with
everyone, refuse more clients than stand in the table below; `:pool` lifts the limit where there is one. `nccb` trains a
network on every reward it remembers, and its update takes as long as that does; `nccb:recent` takes the last 300."""
HEAD = """# How long selection takes

Written by `make bench-select` from `benchmarks/results/select.json`. Every selector, from a thousand clients to a
million, in a process of its own with one BLAS thread. The federation is made up: ten classes, label counts, latencies,
fingerprints of 64 bits; vectors in replies have 64 numbers. Everybody is available. 10,000 replies were learned from
before the clock starts, fewer or more where the table says so: with `fed-cucb` everyone has replied once, because its
opening, which calls everyone, is the cheap part. What clients take to answer is not counted.

Times are milliseconds of processor time, which other work on the machine changes little; wall time stands beside it.
`x random` divides the median by that of `random` with as many clients, so that machines can be compared. Memory is the
largest resident size of the whole process, with Python, numpy and the table of clients.
"""


def row(case: Case) -> str:
    """One case as a line on the screen."""
    select, update = case["select_ms"], case["update_ms"]
    return (
        f"{case['spec']:<24}{case['clients']:>9,} k={case['k']:<4} "
        f"select {select['cpu_p50']:8.1f} {select['cpu_p95']:8.1f} (wall {select['wall_p95']:8.1f}) ms  "
        f"update {update['cpu_p50']:7.2f} {update['cpu_p95']:7.2f} (wall {update['wall_p95']:7.2f}) ms  "
        f"start {case['start_ms']['cpu_p50']:8.0f} ms  peak {case['peak_mb']:6.0f} MB"
    )


def misses(case: Case) -> list[str]:
    """Which targets a case of a million clients does not reach."""
    if case["clients"] < MILLION:
        return []
    found = []
    most = TARGETS.get((case["spec"], case["k"]), SELECT_MS)
    if case["select_ms"]["cpu_p95"] > most:
        found.append(f"select takes {case['select_ms']['cpu_p95']:,.0f} ms, aim {most:,.0f}")
    if case["update_ms"]["cpu_p50"] > UPDATE_MS and case["spec"] not in TRAINING:
        found.append(f"update takes {case['update_ms']['cpu_p50']:,.0f} ms, aim {UPDATE_MS:g}")
    if case["peak_mb"] > PEAK_MB:
        found.append(f"peak memory is {case['peak_mb']:,.0f} MB, aim {PEAK_MB:,.0f}")
    return found


def page(stored: dict[str, Any]) -> str:
    cases, facts = stored["cases"], stored["machine"]
    lines = [HEAD]
    lines += ["Machine: " + ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in facts.items()) + ".", ""]
    lines += [f"Of this result: {remark}\n" for remark in stored.get("remarks", [])]
    lines += ["## A million clients", "", *_verdict(cases), ""]
    largest = [c for c in cases if c["clients"] == max(x["clients"] for x in cases if _line(x) == _line(c))]
    lines += [*_table(sorted(largest, key=lambda c: (-c["clients"], _line(c))), cases), ""]
    lines += ["Methods with a limit of their own stand at that limit.", "", "## Growth with the number of clients", ""]
    lines += ["Median of select, ms of processor time.", "", *_growth(cases), ""]
    lines += ["## Memory over many rounds", "", *_steady(stored["growth"])]
    return "\n".join(lines).rstrip() + "\n"


def _line(case: Case) -> tuple[str, int]:
    return case["spec"], case["k"]


def unreached(cases: list[Case]) -> list[str]:
    """A line for each aim that is not reached, or was not tried, by a method without a limit of its own."""
    found = [f"- `{c['spec']}`, k = {c['k']}: {'; '.join(misses(c))}." for c in cases if misses(c)]
    for line in dict.fromkeys(map(_line, cases)):
        last = max((c for c in cases if _line(c) == line), key=lambda c: c["clients"])
        if last["clients"] < (SELECTORS.make(line[0]).max_clients or MILLION):
            slow = f"{last['select_ms']['cpu_p50']:,.0f} ms with {last['clients']:,} clients"
            found.append(f"- `{line[0]}`, k = {line[1]}: not tried with a million; select takes {slow}.")
    return found


def _verdict(cases: list[Case]) -> list[str]:
    found = unreached(cases)
    aims = (
        "Aims: select within 1 s (95th percentile; Fed-CBS exact 4 s, with k = 10 half a second), an update from 100 "
        "replies within 10 ms (median), memory within 1 GB."
    )
    return [aims, "", *(["Not reached:", "", *found] if found else ["All are reached."]), "", OWN_LIMITS]


def _table(shown: list[Case], cases: list[Case]) -> list[str]:
    lines = [
        "| selector | clients | k | select p50 | p95 | wall p95 | x random | update p50 | p95 | start | MB | after |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for c in shown:
        select, update = c["select_ms"], c["update_ms"]
        base = [x["select_ms"]["cpu_p50"] for x in cases if x["spec"] == "random" and x["clients"] == c["clients"]]
        ratio = f"{select['cpu_p50'] / base[0]:.1f}" if base else "–"
        lines.append(
            f"| `{c['spec']}` | {c['clients']:,} | {c['k']} | {select['cpu_p50']:,.1f} | {select['cpu_p95']:,.1f} | "
            f"{select['wall_p95']:,.1f} | {ratio} | {update['cpu_p50']:.2f} | {update['cpu_p95']:.2f} | "
            f"{c['start_ms']['cpu_p50']:,.0f} | {c['peak_mb']:,.0f} | {c['past_replies']:,} |"
        )
    return [*lines, "", "*after*: replies learned from before. Times in ms."]


def _growth(cases: list[Case]) -> list[str]:
    sizes = sorted({c["clients"] for c in cases if c["spec"] == "random"})
    lines = ["| selector | k | " + " | ".join(f"{n:,}" for n in sizes) + " | limit | cost |"]
    lines.append("|---|--:|" + "--:|" * len(sizes) + "--:|---|")
    for spec, k in dict.fromkeys(_line(c) for c in cases):
        times = {c["clients"]: c["select_ms"]["cpu_p50"] for c in cases if _line(c) == (spec, k)}
        limit = SELECTORS.make(spec).max_clients
        shown = " | ".join(f"{times[n]:,.1f}" if n in times else "–" for n in sizes)
        cost = SELECTORS.card(spec.partition(":")[0]).cost.replace("|", "\\|")
        lines.append(f"| `{spec}` | {k} | {shown} | {f'{limit:,}' if limit else '–'} | {cost} |")
    return lines


def _steady(growth: list[dict[str, Any]]) -> list[str]:
    if not growth:
        return ["Not measured yet: `python benchmarks/selection.py --growth random`."]
    lines = ["| selector | clients | rounds | MB after 1,000 rounds | at the end | mean growth per 1,000 rounds, MB |"]
    lines.append("|---|--:|--:|--:|--:|--:|")
    for g in growth:
        sizes = g["resident_mb"]
        lines.append(
            f"| `{g['spec']}` | {g['clients']:,} | {g['rounds']:,} | {sizes[0]:.1f} | {sizes[-1]:.1f} | "
            f"{g['mean_growth_mb_per_1000_rounds']:.2f} |"
        )
    return [*lines, "", "The aim is less than 1 MB."]
