"""The pictures show what happened: pixels, positions and shares checked against small cases."""

from __future__ import annotations

import itertools
import re
import struct
import zlib
from collections.abc import Sequence

import numpy as np
import pytest

from callup.core.clients import Clients
from callup.report import raster, styles
from callup.report.axes import apart, ticks
from callup.report.coverage import coverage, reach, seen_so_far, worst_off
from callup.report.curves import curves, recall_of
from callup.report.dots import side_by_side
from callup.report.grouping import Method
from callup.report.lorenz import GRID, spreads
from callup.report.png import png
from callup.report.svg import element, path
from callup.simulation.run import RoundRecord, Run

# Clients 0 and 3 hold mostly class 1, client 1 class 0, client 2 all of class 2.
CLIENTS = Clients([0, 1, 2, 3], label_counts=[[1, 5, 0], [6, 0, 0], [1, 1, 4], [0, 9, 0]])


def a_run(asked: Sequence[Sequence[int]], accuracy: Sequence[float | None] = (), clients: Clients = CLIENTS) -> Run:
    counts = clients.all("label_counts")
    history = tuple(
        RoundRecord(
            t,
            4,
            list(ids),
            list(ids),
            list(ids),
            {},
            "d",
            class_counts=[int(n) for n in counts[list(ids)].sum(axis=0)],
            accuracy=accuracy[t - 1] if accuracy else None,
        )
        for t, ids in enumerate(asked, start=1)
    )
    return Run({"selector": "random"}, clients, history, np.zeros(1), {})


def decoded(image: bytes) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """A reader for the one kind of PNG written here; checks every checksum."""
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(image):
        length = struct.unpack(">I", image[at : at + 4])[0]
        kind, body = image[at + 4 : at + 8], image[at + 8 : at + 8 + length]
        assert struct.unpack(">I", image[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body)
        chunks[kind], at = body, at + 12 + length
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colour) == (8, 3)
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert (lines[:, 0] == 0).all()
    rgb = [tuple(chunks[b"PLTE"][i : i + 3]) for i in range(0, len(chunks[b"PLTE"]), 3)]
    return lines[:, 1:], [(*c, a) for c, a in zip(rgb, chunks[b"tRNS"], strict=True)]


def test_a_picture_survives_the_way_to_png_and_back() -> None:
    cells = np.array([[0, 1, 2], [2, 1, 0]])
    palette = [(0, 0, 0, 0), (10, 20, 30, 255), (200, 100, 50, 128)]
    found, colours = decoded(png(cells, palette))
    np.testing.assert_array_equal(found, cells)
    assert colours == palette


def test_clients_are_sorted_by_class_and_mavericks_found() -> None:
    people = raster.roster(CLIENTS, rare=[2])
    # Class 0: client 1. Class 1: client 3 holds more of it than client 0. Class 2: client 2, its only owner.
    assert people.order.tolist() == [1, 3, 0, 2]
    assert people.maverick.tolist() == [False, False, False, True]


def test_clients_without_a_class_of_their_own_come_last() -> None:
    # Client 0 holds both classes alike, client 1 mostly class 1; 1.5 times an even share is 3 of 4.
    people = raster.roster(Clients([0, 1, 2], label_counts=[[2, 2], [1, 3], [4, 0]]), rare=[])
    assert people.order.tolist() == [2, 1, 0]
    assert people.dominant is not None
    assert people.dominant.tolist() == [0, 1, raster.MIXED]


def test_each_call_is_one_cell_in_its_row_and_column() -> None:
    run = a_run([[0, 2], [3], []])
    found = raster.cells(run, raster.roster(CLIENTS, rare=[2]))
    full, special = raster.LEVELS, 2 * raster.LEVELS
    # Rows are clients 1, 3, 0, 2.
    assert found.tolist() == [[0, 0, 0], [0, full, 0], [full, 0, 0], [special, 0, 0]]


def test_many_clients_and_rounds_share_cells() -> None:
    n, rounds = 4 * raster.ROWS, 2 * raster.COLUMNS
    clients = Clients(np.arange(n), label_counts=np.ones((n, 1)))
    asked = [[0, 1, 2, 3] if t < 2 else [4] if t == 2 else [] for t in range(rounds)]
    found = raster.cells(a_run(asked, clients=clients), raster.roster(clients, []))
    assert found.shape == (raster.ROWS, raster.COLUMNS)
    # The first cell has all its 8 calls, the one below and right 1 of 8, all others none.
    assert found[0, 0] == raster.LEVELS
    assert found[1, 1] == 1
    assert np.count_nonzero(found) == 2


def test_without_labels_clients_stand_in_the_order_of_ids() -> None:
    people = raster.roster(Clients([5, 9, 7], num_examples=[3, 1, 2]), rare=[0])
    assert people.order.tolist() == [0, 1, 2]
    assert people.dominant is None


def test_shares_seen_so_far_by_hand() -> None:
    # In all 27 samples: 8, 15, 4. Round 1 sees client 1 (6, 0, 0), round 2 adds client 2: (7, 1, 4) of 12.
    found = seen_so_far(Method("random", (a_run([[1], [2]]),)))
    assert found is not None
    expected = [[27 / 8, 0, 0], [7 / 12 * 27 / 8, 1 / 12 * 27 / 15, 4 / 12 * 27 / 4]]
    np.testing.assert_allclose(found, expected)
    assert worst_off(found[0]) == "2 classes never seen: 1, 2"
    # 1.97, 0.15 and 2.25 times their shares: 0.15 is the furthest on a scale of doublings.
    assert worst_off(found[1]) == "furthest off: class 1, 0.15× its share"
    assert reach([found]) == 3
    assert reach([np.array([[0.6, 1.9]])]) == 1


def test_nobody_trained_yet_is_drawn() -> None:
    found = seen_so_far(Method("random", (a_run([[], [1]]),)))
    assert found is not None
    assert "NaN" not in coverage(found, [2], reach([found]), "x")
    assert "nan" not in coverage(found, [2], reach([found]), "x")


def test_curves_take_what_was_measured() -> None:
    runs = (a_run([[0]] * 4, [None, 0.2, None, 0.6]), a_run([[0]] * 4, [None, 0.4, None, float("nan")]))
    (curve,) = curves([Method("random", runs)], [styles.style(0)], lambda r: r.accuracy)
    assert curve.rounds == (2, 4)
    assert curve.mean == (pytest.approx(0.3), 0.6)
    assert (curve.low, curve.high) == ((0.2, 0.6), (0.4, 0.6))


def test_recall_skips_what_is_not_a_number() -> None:
    def record(recall: list[float | None] | None) -> RoundRecord:
        return RoundRecord(1, 1, [], [], [], {}, "d", recall=recall)

    read = recall_of([0, 2, 7])
    assert read(record([0.5, 0.9, None])) == 0.5
    assert read(record([0.5, 0.9, 0.1])) == pytest.approx(0.3)
    assert read(record([float("nan"), 0.9, None])) is None
    assert read(record(None)) is None


def test_lorenz_curves_are_averaged_over_seeds() -> None:
    # All calls to one of four: the curve is 0 up to 3/4, then rises to 1. All equal: the diagonal.
    one, even = a_run([[2], [2]]), a_run([[0, 1, 2, 3]])
    (found,) = spreads([Method("random", (one, even))], [styles.style(0)])
    at = np.searchsorted(GRID, 0.5)
    assert GRID[at] == 0.5
    assert found.curve[at] == pytest.approx((0.0 + 0.5) / 2)
    assert found.jain == pytest.approx((0.25 + 1) / 2)
    assert found.gini == pytest.approx(0.75 / 2)
    assert found.never == pytest.approx(0.75 / 2)


def test_labels_keep_apart_and_near_their_place() -> None:
    placed = apart([10.0, 11.0, 50.0, 12.0], gap=10, low=0, high=100)
    # Three that collide spread about their mean of 11: 1, 11, 21; the fourth stays.
    assert placed == [1.0, 11.0, 50.0, 21.0]
    crowded = apart([99.0, 99.0, 99.0], gap=10, low=0, high=100)
    assert sorted(crowded) == [80.0, 90.0, 100.0]


def test_seeds_that_came_out_alike_are_all_seen() -> None:
    assert side_by_side([10.0, 50.0, 10.0]) == [-4.0, 0.0, 4.0]
    assert side_by_side([10.0, 12.0, 11.0]) == [-8.0, 8.0, 0.0]
    assert side_by_side([]) == []


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0.1, 0.93, 5) == [0.2, 0.4, 0.6, 0.8]
    assert ticks(1, 100, 4) == [50, 100]
    assert ticks(3, 3) == [3]


def test_a_path_goes_through_its_points() -> None:
    points = [(10.0, 20.0), (10.04, 19.5), (0.0, -3.26), (7.5, -3.3), (0.1, 0.2)]
    drawn = path(points, closed=True)
    start, _, steps = drawn.removeprefix("M").removesuffix("Z").partition("l")
    numbers = [float(n) for part in (start, steps) for n in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", part)]
    found = np.cumsum(np.reshape(numbers, (-1, 2)), axis=0)
    # Within half a tenth of a pixel everywhere: rounding does not add up along the way.
    np.testing.assert_allclose(found, points, atol=0.0501)


def test_text_is_never_markup() -> None:
    assert element("text", "<b>&", class_='"><i') == '<text class="&#34;&gt;&lt;i">&lt;b&gt;&amp;</text>'
    assert path([(0.04, -0.04), (1.25, 2.0)]) == "M0 0l1.2 2"


def _linear(colour: str) -> np.ndarray:
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _contrast(one: str, other: str) -> float:
    """As the WCAG define it."""
    a, b = sorted(float(_linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other))
    return (b + 0.05) / (a + 0.05)


@pytest.mark.parametrize("page", [0, 1])
def test_every_colour_stands_out_from_its_page(page: int) -> None:
    for pair in (*styles.PALETTE, styles.GREY):
        assert _contrast(pair[page], styles.PAGE[page]) >= 3
    for colour in (raster.CALLED, raster.MAVERICK):
        assert _contrast("#{:02x}{:02x}{:02x}".format(*colour), styles.PAGE[page]) >= 3


# Viénot, Brettel, Mollon 1999: how a colour looks without the red- or the green-sensitive cones, on linear RGB.
_PROTAN = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
_DEUTAN = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])


def _lab(linear: np.ndarray) -> np.ndarray:
    """CIE L*a*b*, in which a distance of 2 or 3 can just be seen."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(linear, 0, 1) / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("page", [0, 1])
@pytest.mark.parametrize("sight", [np.eye(3), _PROTAN, _DEUTAN], ids=["full", "protan", "deutan"])
def test_colours_stay_apart_for_every_kind_of_sight(page: int, sight: np.ndarray) -> None:
    seen = [_lab(sight @ _linear(pair[page])) for pair in (*styles.PALETTE, styles.GREY)]
    assert min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2)) > 15


def test_no_two_methods_look_alike() -> None:
    looks = [styles.style(i) for i in range(35)]
    assert len({(look.colour, look.dash) for look in looks}) == 35
