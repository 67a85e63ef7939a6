"""PDF extraction against plain pdfplumber and plain pypdfium2, on generated files with known truth.

    python -m benchmarks.extraction [--seeds 3]

Prints one row a kind of file: text error, order and table F1 of the three, and the CPU as a ratio to pdfplumber.
"""

import argparse
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean

import numpy as np
import pdfplumber
import pypdfium2

from benchmarks.pdf_files import KINDS, Table, Truth, make
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.pdf.reader import extract_pdf

Result = tuple[str, list[Table]]


def ours(path: Path) -> Result:
    extraction = extract_pdf(path, Settings(), lambda page: None)
    tables: list[Table] = []
    for block in extraction.blocks:
        if block.kind == "table":
            rows = markdown_rows(extraction.text[block.start : block.end])
            if tables and block.repeat and "---" not in extraction.text[block.start : block.end]:
                tables[-1] += rows  # goes on over the page
            else:
                tables.append(rows)
    return extraction.text, tables


def plumber(path: Path) -> Result:
    with pdfplumber.open(path) as pdf:
        texts, tables = [], []
        for page in pdf.pages:
            texts.append(page.extract_text())
            tables += [[[cell or "" for cell in row] for row in t] for t in page.extract_tables()]
    return "\n".join(texts), tables


def plumber_text(path: Path) -> Result:
    with pdfplumber.open(path) as pdf:
        return "\n".join(page.extract_text() for page in pdf.pages), []


def pdfium(path: Path) -> Result:
    pdf = pypdfium2.PdfDocument(path)
    texts = []
    for page in pdf:
        text_page = page.get_textpage()
        texts.append(text_page.get_text_range())
        text_page.close()
        page.close()
    pdf.close()
    return "\n".join(texts), []


def markdown_rows(markdown: str) -> Table:
    rows = []
    for line in markdown.split("\n"):
        if not re.fullmatch(r"[|\s-]+", line) or "---" not in line:
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return rows


def words_of(text: str) -> list[str]:
    return re.sub(r"\|( --- \|)+|\|", " ", text).split()


def plain(text: str) -> str:
    """The text on one line without table markup, and without hyphens that other extractors leave at line ends."""
    return " ".join(words_of(text))


def edit_distance(a: str, b: str) -> int:
    """Levenshtein distance in characters."""
    if not a or not b:
        return max(len(a), len(b))
    x = np.frombuffer(a.encode("utf-32-le"), dtype=np.uint32)
    y = np.frombuffer(b.encode("utf-32-le"), dtype=np.uint32)
    steps = np.arange(len(y) + 1)
    row = steps.copy()
    for index, character in enumerate(x, 1):
        new = np.empty_like(row)
        new[0] = index
        new[1:] = np.minimum(row[1:] + 1, row[:-1] + (y != character))
        row = np.minimum.accumulate(new - steps) + steps
    return int(row[-1])


def text_error(text: str, truth: Truth) -> float:
    """Share of characters that differ when order does not count: each block against the words it needs."""
    expected, found = Counter(words_of(truth.text)), Counter(words_of(text))
    missing = sum(len(word) * n for word, n in (expected - found).items())
    added = sum(len(word) * n for word, n in (found - expected).items())
    return max(missing, added) / sum(len(word) * n for word, n in expected.items())


def order(text: str, truth: Truth) -> float:
    """Share of blocks that stand whole and after the block before them; tables are judged apart."""
    flat, position, good = plain(text), 0, 0
    tables = {" ".join(cell for row in table for cell in row if cell) for table in truth.tables}
    blocks = [block for block in truth.blocks if block not in tables]
    for block in blocks:
        found = flat.find(block, position)
        if found >= 0:
            good += 1
            position = found + len(block)
    return good / len(blocks) if blocks else 1.0


def relations(table: Table) -> Counter[tuple[str, str, str]]:
    """Neighbouring cells that are not empty, as in the ICDAR 2013 table competition."""
    found: Counter[tuple[str, str, str]] = Counter()
    for direction, lines in (("row", table), ("column", list(map(list, zip(*table, strict=False))))):
        for line in lines:
            cells = [" ".join(cell.split()) for cell in line if cell.strip()]
            found.update((direction, a, b) for a, b in pairwise(cells))
    return found


def table_f1(tables: Sequence[Table], truth: Truth) -> float:
    expected: Counter[tuple[str, str, str]] = Counter()
    found: Counter[tuple[str, str, str]] = Counter()
    for table in truth.tables:
        expected += relations(table)
    for table in tables:
        width = max(map(len, table), default=0)
        found += relations([row + [""] * (width - len(row)) for row in table])
    both = sum((expected & found).values())
    return 2 * both / max(sum(expected.values()) + sum(found.values()), 1)


def timed(read: Callable[[Path], Result], path: Path, rounds: int = 3) -> tuple[Result, float]:
    """(result, CPU seconds of the fastest round)."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        result = read(path)
        best = min(best, time.process_time() - start)
    return result, best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    readers = (ours, plumber, pdfium)
    print("| kind | text error ours / plumber / pdfium | order | table F1 | CPU ours ÷ plumber |")
    print("|---|---|---|---|---|")
    totals: dict[str, list[float]] = {"ours": [], "plumber": []}
    with tempfile.TemporaryDirectory() as folder:
        for kind, content in KINDS.items():
            if arguments.only not in kind:
                continue
            rows = []
            for seed in range(arguments.seeds):
                path = Path(folder) / f"{seed}.pdf"
                truth = make(path, seed, content)
                results = [timed(read, path) for read in readers]
                text_only = timed(plumber_text, path)[1]
                totals["ours"].append(results[0][1])
                totals["plumber"].append(text_only)
                rows.append(
                    [
                        [text_error(result[0], truth) for result, _ in results],
                        [order(result[0], truth) for result, _ in results],
                        [table_f1(result[1], truth) for result, _ in results] if truth.tables else [],
                        [results[0][1] / text_only],
                    ]
                )
            cells = [
                " / ".join(f"{mean(v):.3f}" for v in zip(*(row[i] for row in rows), strict=True))
                for i in range(4)
            ]
            print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)
    ratio = sum(totals["ours"]) / sum(totals["plumber"])
    print(f"\nCPU over all files: {ratio:.2f} × pdfplumber's extract_text()")


if __name__ == "__main__":
    main()
