"""Small indexes of real folders, without parsers and models: a paragraph is a chunk, a vector is random."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import pytest

from pincite.schemas.errors import Failure
from pincite.schemas.records import Block, Chunk, Counts, Extraction, Job, Page, Policy, Prepared, Space
from pincite.storage.erasure.recovery import RECOVERY
from pincite.storage.queries.index_report import document_reports
from pincite.storage.runs.commit import fail, lease, publish
from pincite.storage.runs.runs import Run, begin_run, finish_run
from pincite.storage.segments.arrow_rows import Finished
from pincite.storage.snapshots.index import Index
from pincite.tasks.discover import discover

SPACE = Space("model-of-tests", "f" * 64, 8, 256, "1", "structural", "words-1")
POLICY = Policy(recipe="recipe", limits="limits", attempts=3)
LEASE_S = 60.0
TRANSIENT = "fails for a while"
PERMANENT = "fails for good"

Change = Callable[[Finished], Finished]


def fill(folder: Path, files: Mapping[str, str]) -> Path:
    """`folder` with exactly these files and texts."""
    for path in sorted(folder.rglob("*"), reverse=True) if folder.exists() else ():
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def reindex(index: Path, source: Path, policy: Policy = POLICY, change: Change | None = None) -> Counts:
    """One whole run over a folder, as the flow does it; `change` spoils what is published."""
    with Index.create(index, SPACE) as opened, begin_run(opened, "reindex", str(source), RECOVERY) as run:
        work(run, discover(run, policy).pending, policy, change)
        return finish_run(run)


def work(run: Run, pending: Iterable[str], policy: Policy = POLICY, change: Change | None = None) -> None:
    """Leases, finishes and publishes documents in groups of three; those whose text says so fail."""
    group: list[Finished] = []
    for document_id in pending:
        job = lease(run, document_id, policy, LEASE_S)
        assert job is not None
        text = Path(job.absolute).read_text(encoding="utf-8")
        if TRANSIENT in text or PERMANENT in text:
            assert fail(run, job, Failure("embed", "error", text, page=2, transient=TRANSIENT in text))
            continue
        one = finished(job, text)
        group.append(change(one) if change else one)
        if len(group) == 3:
            publish(run, group, policy)
            group = []
    if group:
        publish(run, group, policy)


def finished(job: Job, text: str) -> Finished:
    prepared = prepare(text)
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])
    return Finished(
        job,
        prepared.extraction.title or Path(job.path).stem,
        prepared,
        unit_vectors(len(prepared.chunks), seed),
    )


def prepare(text: str) -> Prepared:
    """A chunk a paragraph, a page a document; a first paragraph `# Words` is heading and title, in no chunk."""
    blocks: list[Block] = []
    chunks: list[Chunk] = []
    start = 0
    for paragraph in text.split("\n\n"):
        end = start + len(paragraph)
        if paragraph.startswith("# "):
            blocks.append(Block("heading", start, end, 1, paragraph[2:]))
        elif paragraph:
            blocks.append(Block("paragraph", start, end))
            tokens = len(paragraph.split()) + 2
            chunks.append(Chunk(len(chunks), paragraph, paragraph, "", "", start, end, tokens))
        start = end + 2
    title = blocks[0].title if blocks else ""
    pages = (Page(1, 0, len(text), 595.0, 842.0),)
    extraction = Extraction(text, title, "text/plain", "extractor-of-tests", "1", tuple(blocks), pages=pages)
    return Prepared(extraction, tuple(chunks), tuple(dict(Counter(one.content.split())) for one in chunks))


def unit_vectors(count: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, SPACE.dimension))
    unit: np.ndarray = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def found(index: Path, version: int | None = None) -> dict[str, list[str]]:
    """What can be found at a version: the contents of the chunks by the path of their document."""
    with Index.open(index) as opened, opened.snapshot(version) as snapshot:
        rows = snapshot.chunks(["document_id", "content"]).to_pylist()
        return {
            document.path: [row["content"] for row in rows if row["document_id"] == document.document_id]
            for document in snapshot.documents()
        }


def states(index: Path) -> dict[str, tuple[str, str | None]]:
    """State and reason of each document, by path."""
    with Index.open(index) as opened:
        return {one.path: (one.state, one.reason) for one in document_reports(opened, POLICY.recipe)}


AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")

_AGAINST_MODES = "-dac_override,-fowner"  # what lets root write where the mode forbids it
OF_ROOT_NO_MORE = ("setpriv", f"--bounding-set={_AGAINST_MODES}", f"--inh-caps={_AGAINST_MODES}")


def run_apart(code: str, *arguments: Path, prefix: tuple[str, ...] = ()) -> str:
    """What another process that runs `code` says, on either stream."""
    root = str(Path(__file__).parents[2])
    whole = f"import sys; sys.path[:0] = {[root, *sys.path]!r}\n{code}"
    command = [*prefix, sys.executable, "-c", whole, *map(str, arguments)]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def open_to_all(folder: Path) -> None:
    """Lets every user reach a folder of a test, which is its owner's alone otherwise."""
    for one in (folder, *folder.parents):
        if one.is_relative_to(tempfile.gettempdir()) and one != Path(tempfile.gettempdir()):
            one.chmod(0o755)


def require_nobody() -> None:
    """Skips a test that needs a user without rights, where none can run this Python on this checkout."""
    if os.getuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root, to become nobody")
    if run_apart("import pincite.tasks.discover; print('runs')", prefix=AS_NOBODY) != "runs\n":
        pytest.skip("nobody can't run this Python on this checkout")
