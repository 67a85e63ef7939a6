"""Fifty searchers at once against `pincite serve` while `pincite index` brings changed files in: who gets an error?

python -m benchmarks.searchers [--searchers 50] [--documents 850] [--changed 60]

The index has some 12 chunks a document, real texts under random vectors. The searchers ask the page and the API in
turn, in each mode, while a real run goes over the folder, in which files were changed, added and deleted. Told are
the answers by status, and how long they took.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.dashboard.conftest import ROOT, reindex, serving

LEAST_S = 20.0  # of searching, however soon the run is over
MODES = ("hybrid", "bm25", "dense")


@dataclass
class Told:
    """What all searchers were told."""

    statuses: Counter[str] = field(default_factory=Counter)
    took: list[float] = field(default_factory=list)
    versions: set[int] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--searchers", type=int, default=50)
    options.add_argument("--documents", type=int, default=850)
    options.add_argument("--changed", type=int, default=60)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source, index = Path(folder, "documents").resolve(), Path(folder, "index")
        source.mkdir()
        for n in range(given.documents):
            (source / f"{n:04d}.md").write_text(_text(n, "first"), encoding="utf-8")
        reindex(index, source)
        with serving(index) as server:
            told = asyncio.run(_all(server.url, given.searchers, index, source, given.changed))
    _show(told, given.searchers)
    if set(told.statuses) != {"200"}:
        raise SystemExit("not every answer was 200")


def _text(n: int, edition: str) -> str:
    paragraphs = [
        f"Paragraph {m} of report {n}, the {edition} edition: pump {m * n} has seal {n + m} and valve {m}."
        for m in range(60)
    ]
    return "\n\n".join([f"# Report {n}", *paragraphs])


async def _all(url: str, searchers: int, index: Path, source: Path, changed: int) -> Told:
    told, over = Told(), asyncio.Event()
    limits = httpx.Limits(max_connections=searchers, max_keepalive_connections=searchers)
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=120, limits=limits) as client:
        await client.get("/ui/search", params={"q": "pump", "mode": "hybrid"})  # loads the model
        at_work = [asyncio.create_task(_searches(client, number, told, over)) for number in range(searchers)]
        began = time.monotonic()
        await asyncio.to_thread(_run, index, source, changed)
        print(f"the run took {time.monotonic() - began:.1f} s", flush=True)
        await asyncio.sleep(max(0.0, LEAST_S - (time.monotonic() - began)))
        over.set()
        await asyncio.gather(*at_work)
    return told


def _run(index: Path, source: Path, changed: int) -> None:
    """A real run in a process of its own."""
    for n in range(changed):
        (source / f"{n:04d}.md").write_text(_text(n, "second"), encoding="utf-8")
        (source / f"new {n:04d}.md").write_text(_text(10_000 + n, "only"), encoding="utf-8")
    for n in range(changed, changed + changed // 3):
        (source / f"{n:04d}.md").unlink()
    command = [sys.executable, "-m", "pincite", "index", str(source), "--index", str(index), "--json"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    print(ran.stdout.strip() or ran.stderr.strip(), flush=True)
    if ran.returncode:
        raise SystemExit(f"the run ended with {ran.returncode}")


async def _searches(client: httpx.AsyncClient, number: int, told: Told, over: asyncio.Event) -> None:
    turn = number
    while not over.is_set():
        turn += 1
        query, mode = f"pump seal {turn % 900} valve", MODES[turn % len(MODES)]
        began = time.perf_counter()
        try:
            if turn % 2:
                answer = await client.get("/ui/search", params={"q": query, "mode": mode})
            else:
                answer = await client.post("/search", json={"query": query, "mode": mode})
        except httpx.HTTPError as error:
            told.statuses[type(error).__name__] += 1
            told.faults.append(repr(error))
            continue
        told.took.append(time.perf_counter() - began)
        told.statuses[str(answer.status_code)] += 1
        if answer.status_code != 200:
            told.faults.append(answer.text[:300])
        elif not turn % 2:
            told.versions.add(answer.json()["version"])


def _show(told: Told, searchers: int) -> None:
    cuts = statistics.quantiles(told.took, n=100)
    print(
        f"{searchers} searchers, {len(told.took)} answers by status {dict(told.statuses)}, of {len(told.versions)} "
        f"versions; p50 {cuts[49] * 1e3:.0f} ms, p95 {cuts[94] * 1e3:.0f} ms, most {max(told.took) * 1e3:.0f} ms"
    )
    for fault in told.faults[:5]:
        print(fault)


if __name__ == "__main__":
    main()
