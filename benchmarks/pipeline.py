"""What the pipeline costs beside extraction and inference, a run without changes, and memory over documents.

    python -m benchmarks.pipeline            500 and 5,000 documents: half an hour on two cores
    python -m benchmarks.pipeline --small    50 and 500
    python -m benchmarks.pipeline --night 2000   a night in which 1 % of so many mixed documents changed

The alternative is a bare loop in one process: extract each file, chunk it, embed the chunks; no isolation, no
ledger, no Prefect, no BM25, nothing stored. CPU is that of the process and all of its children.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.corpus import write_corpus


@dataclass(frozen=True, slots=True)
class Cost:
    cpu_s: float
    wall_s: float
    peak_bytes: int  # proportional set size of the process and all of its children


def measure(*arguments: str) -> Cost:
    """Runs a module of this checkout; exit code 0 is required."""
    before = _children_cpu_s()
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.PIPE, text=True)
    peak = _Peak(process.pid)
    output, _ = process.communicate()
    peak.ended.set()
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}: {output}")
    print(f"  {' '.join(arguments[:2])}: {' '.join(output.split())}", file=sys.stderr)
    return Cost(_children_cpu_s() - before, time.monotonic() - began, peak.highest)


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class _Peak(threading.Thread):
    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.highest = 0
        self._process = psutil.Process(pid)
        self.start()

    def run(self) -> None:
        while not self.ended.wait(0.5):
            try:
                tree = [self._process, *self._process.children(recursive=True)]
            except psutil.NoSuchProcess:
                return
            self.highest = max(self.highest, sum(map(_proportional_bytes, tree)))


def _proportional_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:  # it ended meanwhile
        return 0


def bare_loop(source: Path) -> None:
    """The alternative."""
    from pincite.encoders.embedding import load_embedder
    from pincite.encoders.models import resolve_model
    from pincite.encoders.wordpieces import WordPieces
    from pincite.schemas.settings import Settings
    from pincite.tasks.chunking.chunk import chunk
    from pincite.tasks.extraction.extract import extract

    model = resolve_model("all-MiniLM-L6-v2")
    embedder, wordpieces, settings = load_embedder(model), WordPieces(model), Settings()
    chunks = 0
    for path in sorted(source.iterdir()):
        extraction = extract(path, settings, lambda _page: None)
        made = chunk(extraction, path.stem, settings.chunker, wordpieces.count_many, model.window)
        chunks += len(embedder.embed([one.text for one in made]))
    print(chunks, "chunks")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--night", type=int, metavar="DOCUMENTS")
    parser.add_argument("--bare-loop", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    if arguments.bare_loop:
        bare_loop(arguments.bare_loop)
        return
    few, many = (50, 500) if arguments.small else (500, 5_000)
    os.environ["DO_NOT_TRACK"] = "1"
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        result = _night(root, arguments.night) if arguments.night else _run(root, few, many)
        print(json.dumps(result, indent=2))


def _night(root: Path, documents: int) -> dict[str, object]:
    """The CPU of a run in which one document of a hundred changed, as a share of that of indexing all of them."""
    source, index = root / "mixed", root / "index"
    write_corpus(source, documents, paragraphs=12)
    arguments = ("pincite", "index", str(source), "--index", str(index), "--json")
    full = measure(*arguments)
    newer = root / "newer"
    write_corpus(newer, documents, paragraphs=12, seed=2)
    # A step that is no divisor of 100 takes all formats.
    changed = sorted(path.name for path in source.iterdir())[::97][: documents // 100]
    for name in changed:
        (newer / name).replace(source / name)
    night = measure(*arguments)
    one = source / sorted(path.name for path in source.glob("*.txt"))[1]
    one.write_text("The pump hums.")
    least = measure(*arguments)
    return {
        "documents": documents,
        "changed": len(changed),
        "cpu_s": {"full": round(full.cpu_s, 1), "night": round(night.cpu_s, 1), "one": round(least.cpu_s, 1)},
        "wall_s": {
            "full": round(full.wall_s, 1),
            "night": round(night.wall_s, 1),
            "one": round(least.wall_s, 1),
        },
        "night to full (at most 0.03)": round(night.cpu_s / full.cpu_s, 4),
    }


def _run(root: Path, few: int, many: int) -> dict[str, object]:
    mixed, short_few, short_many = root / "mixed", root / "few", root / "many"
    write_corpus(mixed, few, paragraphs=12)
    write_corpus(short_few, few, paragraphs=2, scans=False)
    write_corpus(short_many, many, paragraphs=2, scans=False)

    def index(source: Path) -> Cost:
        return measure(
            "pincite", "index", str(source), "--index", str(root / f"index-{source.name}"), "--json"
        )

    bare = measure("benchmarks.pipeline", "--bare-loop", str(mixed))
    full = index(mixed)
    small, large = index(short_few), index(short_many)
    again = index(short_many)
    return {
        "documents": {"mixed": few, "few": few, "many": many},
        "cpu_s": {
            "bare loop, mixed": round(bare.cpu_s, 1),
            "index, mixed": round(full.cpu_s, 1),
            "index, many": round(large.cpu_s, 1),
            "index, many, unchanged": round(again.cpu_s, 2),
        },
        "wall_s": {
            "bare loop, mixed": round(bare.wall_s, 1),
            "index, mixed": round(full.wall_s, 1),
            "index, many": round(large.wall_s, 1),
            "index, many, unchanged": round(again.wall_s, 2),
        },
        "overhead share of CPU (at most 0.15)": round(1 - bare.cpu_s / full.cpu_s, 3),
        "unchanged to full (at most 0.02)": round(again.cpu_s / large.cpu_s, 5),
        "peak memory, many to few (at most 1.2)": round(large.peak_bytes / small.peak_bytes, 3),
        "peak_mib": {"few": small.peak_bytes >> 20, "many": large.peak_bytes >> 20},
    }


if __name__ == "__main__":
    main()
