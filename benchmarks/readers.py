"""What a reindex does to the searches of a reader that stays open.

    python -m benchmarks.readers                      some 5,400 chunks; six minutes, most of them for the index
    python -m benchmarks.readers --documents 100      some 1,500 chunks
    python -m benchmarks.readers --folder DIR         keeps the index in DIR and takes it up again: two minutes

The alternative is the same reader over the same index while nothing else goes on. The two take turns: idle, reindex,
idle, reindex. In each reindex `pincite index` takes up 300 short documents, which are new in the first and changed in
the others. The reader is this process: one search after the other, each with its own query, hybrid and BM25 in turn,
with pauses like those between the requests of several people.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psutil

from benchmarks.corpus import sentence, write_corpus
from pincite.retrieval.ranking import Mode
from pincite.retrieval.searcher import Searcher, open_index

MODES: tuple[Mode, ...] = ("hybrid", "bm25")
MOST_RATIO = 1.5


@dataclass(frozen=True, slots=True)
class Search:
    mode: Mode
    wall_s: float
    version: int
    took_up: bool  # the first search of a version, which reads what is new


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn measured."""

    searches: Sequence[Search]
    wall_s: float
    others: float  # cores that other processes than ours used


class Reader:
    """Searches with a query of its own each time."""

    def __init__(self, searcher: Searcher, pause_s: float) -> None:
        self._searcher = searcher
        self._pause_s = pause_s
        self._draw = random.Random(1)
        self._modes = _in_turn()
        self._version = searcher.search("pump", "hybrid").version

    def read_while(self, goes_on: Callable[[], bool]) -> list[Search]:
        """All searches until it no longer goes on."""
        searches = []
        while goes_on():
            searches.append(self._search())
            time.sleep(self._draw.expovariate(1 / self._pause_s))
        return searches

    def _search(self) -> Search:
        query = " ".join(sentence(self._draw).split()[: self._draw.randint(4, 10)])
        mode = next(self._modes)
        began = time.perf_counter()
        results = self._searcher.search(query, mode)
        wall_s = time.perf_counter() - began
        took_up, self._version = results.version != self._version, results.version
        return Search(mode, wall_s, results.version, took_up)


def _in_turn() -> Iterator[Mode]:
    for number in count():
        yield MODES[number % len(MODES)]


def _index_command(source: Path, index: Path) -> list[str]:
    return [sys.executable, "-m", "pincite", "index", str(source), "--index", str(index), "--json"]


def _idle(reader: Reader, seconds: float) -> Turn:
    until = time.monotonic() + seconds
    return _turn(lambda: reader.read_while(lambda: time.monotonic() < until))


def _reindex(reader: Reader, source: Path, index: Path) -> Turn:
    with subprocess.Popen(_index_command(source, index), stdout=subprocess.PIPE, text=True) as process:
        turn = _turn(lambda: reader.read_while(lambda: process.poll() is None))
        output = process.stdout.read() if process.stdout else ""
    if process.returncode:
        raise SystemExit(f"pincite index ended with {process.returncode}: {output}")
    counts = json.loads(output)
    print(f"  reindex: {counts['indexed']} indexed, {counts['chunks']} chunks", file=sys.stderr)
    return turn


def _turn(read: Callable[[], list[Search]]) -> Turn:
    began, busy_s, own_s = time.monotonic(), _busy_s(), _own_s()
    searches = read()
    wall_s = time.monotonic() - began
    return Turn(searches, wall_s, max(0.0, (_busy_s() - busy_s - (_own_s() - own_s)) / wall_s))


def _busy_s() -> float:
    """CPU seconds that the machine has worked."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)


def _own_s() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def _milliseconds(values: Sequence[float]) -> dict[str, float]:
    if len(values) < 2:
        return {"n": len(values)}
    return {
        "n": len(values),
        "median": round(1e3 * statistics.median(values), 1),
        "p95": round(1e3 * _p95(values), 1),
        "most": round(1e3 * max(values), 1),
    }


def _compared(idle: Sequence[Search], during: Sequence[Search]) -> dict[str, object]:
    """What searches took, and the ratio of the two."""
    before, after = ([one.wall_s for one in some] for some in (idle, during))
    return {
        "idle_ms": _milliseconds(before),
        "reindex_ms": _milliseconds(after),
        "median ratio": round(statistics.median(after) / statistics.median(before), 2),
        "p95 ratio": round(_p95(after) / _p95(before), 2),
    }


def report(idle: Sequence[Turn], during: Sequence[Turn]) -> dict[str, object]:
    """The turns as JSON: all searches, those of each mode, those that took up a version, and each turn."""
    quiet, busy = ([one for turn in turns for one in turn.searches] for turns in (idle, during))
    by_mode: dict[str, object] = {
        mode: _compared([one for one in quiet if one.mode == mode], [one for one in busy if one.mode == mode])
        for mode in MODES
    }
    taking_up = [one.wall_s for one in busy if one.took_up]
    return {
        "all": _compared(quiet, busy),
        **by_mode,
        "first searches of a version, ms": _milliseconds(taking_up),
        "turns": [
            {
                "turn": name,
                "wall_s": round(turn.wall_s, 1),
                "p95_ms": round(1e3 * _p95([one.wall_s for one in turn.searches]), 1),
                "cores used by others": round(turn.others, 2),
            }
            for pair in zip(idle, during, strict=True)
            for name, turn in zip(("idle", "reindex"), pair, strict=True)
        ],
        f"p95 of a reindex to idle (at most {MOST_RATIO})": max(
            _p95([one.wall_s for one in busy if one.mode == mode])
            / _p95([one.wall_s for one in quiet if one.mode == mode])
            for mode in MODES
        ),
    }


def _make_index(folder: Path, documents: int) -> tuple[Path, Path]:
    """(source, index), made unless they are there."""
    source, index = folder / "documents", folder / "index"
    if not source.exists():
        source.mkdir(parents=True)
        write_corpus(source / "stay", documents, paragraphs=12, scans=False)
        subprocess.run(_index_command(source, index), check=True, stdout=sys.stderr)
    return source, index


def _change(source: Path, documents: int, number: int) -> None:
    """Gives each of the documents that change another text."""
    newer = source.parent / f"newer-{number}"
    write_corpus(newer, documents, paragraphs=2, scans=False, seed=10 + number)
    (source / "change").mkdir(exist_ok=True)
    for path in sorted(newer.iterdir()):
        path.replace(source / "change" / path.name)
    newer.rmdir()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--documents", type=int, default=350, help="of 15 chunks each, which stay as they are"
    )
    parser.add_argument("--changed", type=int, default=300, help="short ones, in each reindex")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--idle-s", type=float, default=25.0)
    parser.add_argument("--pause-s", type=float, default=0.1, help="mean time between two searches")
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    os.environ["DO_NOT_TRACK"] = "1"
    with tempfile.TemporaryDirectory() as temporary:
        source, index = _make_index(arguments.folder or Path(temporary), arguments.documents)
        idle, during = [], []
        with open_index(index) as searcher:
            reader = Reader(searcher, arguments.pause_s)
            for _ in range(arguments.turns):
                _change(source, arguments.changed, searcher.search("pump", "bm25").version)
                idle.append(_idle(reader, arguments.idle_s))
                during.append(_reindex(reader, source, index))
    print(json.dumps(report(idle, during), indent=2))


if __name__ == "__main__":
    main()
