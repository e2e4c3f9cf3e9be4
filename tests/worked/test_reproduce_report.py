"""The same rows as a page, as CSV and as LaTeX."""

import csv
import io

from callup.report.reproduction import as_csv, as_html, as_latex, counted, write_reproduction

ROW = {
    "paper": "p",
    "table": "table-1",
    "measure": "accuracy_50%",
    "unit": "%",
    "environment": "a & b",
    "method": "<b>new</b>",
    "reading": "",
    "scale": "2 of 3,000 rounds",
    "published": "> 200",
    "ours": "1.0 ± 0.5",
    "runs": 3,
    "verdict": "direction only",
    "why": "0.50 of rand, published 0.75",
}
TITLES = {"p/table-1": "A <title>"}


def test_the_page_shows_everything_and_runs_nothing():
    page = as_html([ROW], TITLES, "callup reproduce 'x<y'")
    assert "&lt;b&gt;new&lt;/b&gt;" in page
    assert "<b>new</b>" not in page
    for text in ("A &lt;title&gt;", "2 of 3,000 rounds", "1.0 ± 0.5", "0 reproduced, 1 direction only", "x&lt;y"):
        assert text in page
    assert "<script" not in page


def test_a_size_is_written_once_and_named_in_every_row():
    rows = [ROW, {**ROW, "method": "other"}, {**ROW, "scale": "1 seed"}, {**ROW, "scale": "full"}]
    page = as_html(rows, TITLES, "")
    assert [page.count(text) for text in ("scaled [1]", "scaled [2]", "[1] 2 of 3,000 rounds", "[2] 1 seed")] == [
        2,
        1,
        1,
        1,
    ]
    assert page.count(">full<") == 1


def test_csv_reads_back():
    (back,) = csv.DictReader(io.StringIO(as_csv([ROW])))
    assert back == {name: str(value) for name, value in ROW.items()}
    assert as_csv([]) == ""


def test_latex_escapes_what_it_must():
    line = next(line for line in as_latex([ROW]).splitlines() if "new" in line)
    first = r"accuracy\_50\% & a \& b & $<$b$>$new$<$/b$>$ & 2 of 3,000 rounds"
    expected = first + r" & $>$ 200 & 1.0 $\pm$ 0.5 & 3 & direction only \\"
    assert line == expected
    assert "(sharp)" in as_latex([{**ROW, "reading": "sharp"}])


def test_counts_name_all_five_verdicts():
    assert counted([ROW, ROW]) == {
        "reproduced": 0,
        "direction only": 2,
        "not reproduced": 0,
        "contradicts itself": 0,
        "not attempted": 0,
    }


def test_three_files_and_no_leftovers(tmp_path):
    written = write_reproduction(tmp_path / "out", [ROW], TITLES, "")
    assert [path.name for path in written] == ["report.html", "rows.csv", "tables.tex"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.html", "rows.csv", "tables.tex"]
