"""How many public vectors of number formats are shown right: the test tables of SheetJS/ssf.

    git clone https://github.com/SheetJS/ssf /tmp/ssf && python -m benchmarks.number_formats /tmp/ssf

Runs of white space count as one, and none around the text: that is how a cell stands in a canonical text. Vectors
of `General` beyond eleven characters are left out: Pincite shows up to 15 digits there, on purpose.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pincite.tasks.extraction.office.number_format import Scalar, shown

Vector = tuple[str, Scalar, str]
"""(code, value, what the sheet shows)"""

_SKIPPED = 20  # of the long tables of dates and times, one line in so many is tried
_BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??",
    37: "#,##0 ;(#,##0)", 38: "#,##0 ;[Red](#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;[Red](#,##0.00)",
    48: "##0.0E+0", 49: "@",
}  # fmt: skip


def vectors(folder: Path) -> Iterator[tuple[str, Vector]]:
    """(table, vector) of each test table, those that must raise left out."""
    for code, *cases in json.loads((folder / "oddities.json").read_text()):
        yield from (("oddities", (code, case[0], case[1])) for case in cases if len(case) == 2)
    for value, code, text in json.loads((folder / "fraction.json").read_text()):
        yield "fraction", (code, value, text)
    for value, _, text in json.loads((folder / "general.json").read_text()):
        if len(text) < 11 and "E" not in text:
            yield "general", ("General", value, text)
    for entry in json.loads((folder / "implied.json").read_text()):
        cases = entry[1] if isinstance(entry[1], list) else [entry[1:]]
        for named, text in cases:
            code = _BUILT_IN.get(named, "") if isinstance(named, int) else named
            if text and code:
                yield "implied", (code, entry[0], text)
    for table, every in (("exp", 1), ("comma", 1), ("dates", _SKIPPED), ("times", _SKIPPED)):
        path = folder / f"{table}.tsv"
        if path.exists():
            yield from ((table, vector) for vector in _table(path, every))


def _table(path: Path, every: int) -> Iterator[Vector]:
    header, *lines = path.read_text().splitlines()
    for line in lines[::every]:
        value, *texts = line.split("\t")
        for code, text in zip(header.split("\t")[1:], texts, strict=False):
            if value and text and not text.startswith(("|", "###")):
                yield code, float(value), text


def main(folder: Path) -> None:
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for table, (code, value, text) in vectors(folder / "test"):
        if not isinstance(code, str):  # a built-in code that this table gives by number
            continue
        total[table] += 1
        if " ".join(shown(value, code).split()) == " ".join(text.split()):
            right[table] += 1
        elif "-v" in sys.argv:
            print(f"{table}: {code!r} of {value!r} reads {shown(value, code)!r}, not {text!r}")
    for table, count in total.items():
        print(f"{table:10} {right[table]:6,} of {count:6,}  {right[table] / count:.3f}")
    print(f"{'all':10} {right.total():6,} of {total.total():6,}  {right.total() / total.total():.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
