"""Draws held-out worlds from a seed: python -m callup.experiments.tournament.draw --seed HEX --worlds 8 --out FOLDER.

The seed is meant to be the hash of the commit that freezes the design, so that nobody could know the worlds before.
The same seed gives the same worlds on every machine.
"""

from __future__ import annotations

import argparse
import hashlib
import string
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from callup.core.errors import CallupError, InputError, UsageError
from callup.core.randomness import stream
from callup.core.types import check_k
from callup.experiments.tournament import ranges
from callup.experiments.tournament.ranges import Dice
from callup.simulation.toml import to_toml

_SECONDS = 5e-6  # for a sample of a round, on one core
_LEAST_SECONDS = 0.03


def draw_worlds(seed: str, worlds: int, name: str = "drawn", absent: Mapping[str, str] | None = None) -> dict[str, str]:
    """File name to TOML text. Families are dealt like cards: none comes a second time before all came once.

    absent: methods that do not play in any of them, each with the reason.
    """
    if not seed or set(seed.lower()) - set(string.hexdigits):
        raise UsageError(f"seed must be a hash in hexadecimal digits, got '{seed}'")
    key = int.from_bytes(hashlib.sha256(seed.lower().encode()).digest()[:16], "big")
    order: list[str] = []
    while len(order) < check_k(worlds, "worlds"):
        deck = list(ranges.FAMILIES)
        order += [deck[i] for i in stream(key, "families", len(order)).permutation(len(deck))]
    drawn = [_world(key, nth, family) for nth, family in enumerate(order[:worlds], 1)]
    width = len(str(worlds))
    return {
        f"{name}-{nth:0{width}}.toml": _toml(base, lost, size, seed, nth, absent or {})
        for nth, (base, lost, size) in enumerate(drawn, 1)
    }


def _world(key: int, nth: int, family: str) -> tuple[dict[str, Any], float, float]:
    """Settings, drop-out and samples a round; drawn again, from the next stream, until a round is small enough."""
    for attempt in range(1000):
        dice = Dice(stream(key, "world", nth, attempt))
        clients = dice.whole(*ranges.CLIENTS, 20)
        federation = ranges.FAMILIES[family](dice, clients)
        online = dice.real(*ranges.ONLINE)
        k = min(20, max(3, round(dice.real(*ranges.CHOSEN) * online * clients)))
        local = {
            "epochs": dice.whole(*ranges.EPOCHS),
            "batch": dice.one(ranges.BATCH),
            "rate": dice.log(*ranges.RATE),
            "momentum": dice.one(ranges.MOMENTUM),
            "decay": dice.one(ranges.DECAY),
        }
        base = {
            "task": f"{dice.one(ranges.TASKS)}:hidden={dice.one(ranges.HIDDEN)}",
            "partition": federation.partition,
            "availability": "always" if online == 1 else f"uniform:fraction={online}",
            "k": k,
            "rounds": ranges.ROUNDS,
            "evaluate_every": ranges.EVALUATE_EVERY,
            "average": dice.one(ranges.AVERAGES),
            "rare_classes": federation.rare,
            "local": local,
        }
        lost, samples = dice.one(ranges.LOST), k * federation.size * local["epochs"]
        if samples <= ranges.MOST_SAMPLES:
            return base, lost, samples
    raise UsageError("no world was small enough in 1,000 draws; the ranges do not fit the limit on samples")


def _toml(base: dict[str, Any], lost: float, samples: float, seed: str, nth: int, absent: Mapping[str, str]) -> str:
    plain = {key: value for key, value in base.items() if key not in ("partition", "local")}
    head = {
        "title": f"Held out: {base['partition']} of {base['task']}, {base['k']} a round",
        "seconds": round(max(_LEAST_SECONDS, _SECONDS * samples), 3),
        "lost": 0.0,
        "sources": {"world": f"drawn with the seed {seed}, number {nth}; ranges in callup.experiments.tournament"},
        "base": {**plain, "lost": lost},
        "absent": {**absent, **({"shapley": "scores hundreds of models a round"} if base["k"] > 6 else {})},
    }
    local = to_toml({"local": base["local"]}).replace("[local]", "[base.local]").strip()
    variant = to_toml(
        {"name": f"{lost:.0%} lost".replace("%", " %") if lost else "all reply", "partition": base["partition"]}
    ).strip()
    return f"{to_toml(head).strip()}\n\n{local}\n\n[[environments]]\n{variant}\n"


def write_worlds(folder: Path, texts: dict[str, str]) -> list[Path]:
    """Writes what is not there yet; worlds of another draw are never touched."""
    for path in sorted(folder.glob("*.toml")):
        if texts.get(path.name) != path.read_text(encoding="utf-8"):
            raise InputError(f"{path} is from another draw; held-out worlds are drawn once")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", required=True, help="the hash of a commit, in hexadecimal digits")
    parser.add_argument("--worlds", type=int, default=8)
    parser.add_argument("--name", default="drawn", help="what the worlds are called, with a number behind it")
    parser.add_argument("--without", nargs="+", default=[], help="methods that do not play in them", metavar="METHOD")
    parser.add_argument("--why", help="the reason for --without, as the page gives it")
    parser.add_argument("--out", type=Path, default=Path("papers/tournament/held-out"))
    asked = parser.parse_args(args)
    try:
        if asked.without and not asked.why:
            raise UsageError("--without needs a reason; give it with --why")
        absent = dict.fromkeys(asked.without, asked.why)
        files = write_worlds(asked.out, draw_worlds(asked.seed, asked.worlds, asked.name, absent))
    except CallupError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    sys.stdout.write("".join(f"{file}\n" for file in files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
