"""What a migration costs beside the embedding: CPU of whole processes, as a ratio.

python -m benchmarks.migration --chunks 2000 --rounds 3

embed    one child process loads all-MiniLM-L6-v2 and embeds all stored texts in one call, sorted by length
migrate  `pincite migrate` to it, with its Prefect server, of an index with as many chunks in another space

Both start from nothing: interpreter, imports and weights are in either figure.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.corpus import write_markdown
from pincite.encoders.models import name_of, resolve_model
from pincite.encoders.wordpieces import WordPieces
from pincite.schemas.records import SourceFile
from pincite.schemas.settings import DEFAULT_MODEL, Settings
from pincite.storage.objects.digest import sha256_of
from pincite.storage.runs.commit import lease, publish
from pincite.storage.runs.registration import register
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.storage.segments.arrow_rows import Finished
from pincite.storage.snapshots.index import Index
from pincite.tasks.chunking.chunk import chunk
from pincite.tasks.extraction.extract import extract
from pincite.tasks.migration.shadow import EMBEDDER_MEMORY_BYTES
from pincite.tasks.sandbox.pool import pool
from pincite.tasks.steps.embed import EmbedOrder
from pincite.tasks.steps.lexical import term_frequencies
from pincite.tasks.steps.plan import policy_of, space_of
from pincite.tasks.steps.prepare import Prepared, document_title

OTHER = "universal-sentence-encoder"
ROOT = Path(__file__).resolve().parents[1]


def make_index(folder: Path, chunks: int, of: str = OTHER) -> int:
    """An index of Markdown manuals in the space of a model, with random vectors; its chunks."""
    draw, settings = random.Random(0), Settings(model=of)
    target, other = resolve_model(DEFAULT_MODEL), resolve_model(of)
    count, policy, made = WordPieces(target).count_many, policy_of(settings), 0
    with Index.create(folder / "index", space_of(other, settings)) as index:
        while made < chunks:
            with begin_run(index, "index", f"/source/{made}") as run:
                files = []
                for number in range(40):
                    path = folder / f"{made}-{number}.md"
                    write_markdown(path, draw, draw.randint(5, 60))
                    files.append(SourceFile(path.name, str(path), 1, 1, 1, sha256_of(path)))
                batch = []
                for document_id in register(run, files, policy).pending:
                    job = lease(run, document_id, policy, 3_600)
                    assert job is not None
                    extraction = extract(folder / job.path, settings, lambda _page: None)
                    title = document_title(extraction, job.path)
                    cut = chunk(extraction, title, "structural", count, target.window)
                    vectors = np.random.default_rng(made).standard_normal((len(cut), other.dimension))
                    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
                    batch.append(
                        Finished(job, title, Prepared(extraction, cut, term_frequencies(cut)), vectors)
                    )
                    made += len(cut)
                publish(run, batch, policy)
                finish_run(run)
    return made


def embed(index: Path) -> None:
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        texts = tuple(snapshot.chunks(["text"])["text"].to_pylist())
    model = resolve_model(DEFAULT_MODEL)
    with pool(
        1, EMBEDDER_MEMORY_BYTES, "benchmark", first=("embed", EmbedOrder(name_of(model), ()))
    ) as children:
        assert len(children.run("embed", EmbedOrder(name_of(model), texts), 36_000)) == len(texts)


def migrate(index: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pincite",
        "migrate",
        "--model",
        DEFAULT_MODEL,
        "--index",
        str(index),
        "--json",
    ]
    told = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    assert json.loads(told.stdout)["state"] == "switched"


def cpu_s(what: str, index: Path) -> float:
    """CPU seconds, user and system, of a process and all that it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "benchmarks.migration", "--only", what, "--index", str(index)]
    subprocess.run(command, cwd=ROOT, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunks", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", choices=["embed", "migrate"])
    parser.add_argument("--index", type=Path)
    chosen = parser.parse_args(arguments)
    if chosen.only:
        {"embed": embed, "migrate": migrate}[chosen.only](chosen.index)
        return
    for turn in range(chosen.rounds):
        with tempfile.TemporaryDirectory() as folder:
            made = make_index(Path(folder), chosen.chunks)
            order = ["embed", "migrate"] if turn % 2 == 0 else ["migrate", "embed"]
            if order[0] == "embed":
                alone, whole = (cpu_s(what, Path(folder) / "index") for what in order)
            else:
                with tempfile.TemporaryDirectory() as other:
                    make_index(Path(other), chosen.chunks)
                    whole = cpu_s("migrate", Path(other) / "index")
                alone = cpu_s("embed", Path(folder) / "index")
        print(
            f"{made} chunks: embed {alone:.1f} CPU s, migrate {whole:.1f} CPU s, ratio {whole / alone:.3f}, "
            f"load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
