"""Browsing and counting: pages that leave nothing out, and sums that are those of the documents."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from pincite.schemas.errors import UsageError
from pincite.storage.ledger import schema, transactions
from pincite.storage.queries.documents import ORDERS, Wanted, ids_of, list_documents
from pincite.storage.queries.index_report import document_reports, index_report
from pincite.storage.queries.overview import Overviews, run_of
from pincite.storage.snapshots.index import Index
from tests.storage.building import PERMANENT, POLICY, TRANSIENT, fill, reindex


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve documents, of which some fail, and two of those are searched in an older version."""
    folder = tmp_path_factory.mktemp("browsed")
    texts = {f"{n % 3}/report {n}.txt": "\n\n".join(["one paragraph"] * (n % 4 + 1)) for n in range(12)}
    reindex(folder / "index", fill(folder / "docs", texts))
    changed = texts | {
        "1/report 1.txt": PERMANENT,
        "1/report 4.txt": TRANSIENT,
        "new 100%_.txt": PERMANENT,
        "0/report 3.txt": "another text",
    }
    reindex(folder / "index", fill(folder / "docs", changed))
    return folder / "index"


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("state", [None, "failed", "stale"])
def test_pages_hold_each_document_once_in_order(
    index: Path, order: str, descending: bool, state: str | None
) -> None:
    wanted = Wanted(state=state, order=order, descending=descending)  # type: ignore[arg-type]  # one of ORDERS
    with Index.open(index) as opened:
        whole = [one.path for one in list_documents(opened, POLICY.recipe, wanted, limit=100).documents]
        paged: list[str] = []
        after, more = "", True
        while more:
            listing = list_documents(opened, POLICY.recipe, wanted, after, limit=2)
            assert listing.total == len(whole)
            paged += [one.path for one in listing.documents]
            after, more = listing.documents[-1].document_id, listing.more
        expected = {one.path for one in document_reports(opened, POLICY.recipe, state)}
    assert paged == whole and set(whole) == expected and len(whole) == len(expected) > 1


def test_an_order_by_chunks_is_one(index: Path) -> None:
    with Index.open(index) as opened:
        listing = list_documents(opened, POLICY.recipe, Wanted(order="chunks", descending=True), limit=100)
        chunks = [one.live.chunks if one.live else -1 for one in listing.documents]
    assert chunks == sorted(chunks, reverse=True) and chunks[0] > chunks[-1]


def test_documents_are_found_by_words_and_reason(index: Path) -> None:
    with Index.open(index) as opened:

        def paths(**fields: str) -> list[str]:
            return [one.path for one in list_documents(opened, None, Wanted(**fields)).documents]  # type: ignore[arg-type]

        assert paths(words="REPORT 10") == ["1/report 10.txt"]
        assert paths(words="100%_") == ["new 100%_.txt"] and paths(words="100%__") == []
        assert paths(kind="error", reason=PERMANENT) == ["1/report 1.txt", "new 100%_.txt"]
        assert paths(state="failed", stage="embed") == paths(state="failed") and paths(stage="chunk") == []
        assert len(ids_of(opened, None, Wanted(state="failed"), 100)) == 3
        assert len(ids_of(opened, None, Wanted(state="failed"), 1)) == 2
        for wrong in (Wanted(state="lost"), Wanted(order="size")):  # type: ignore[arg-type]
            with pytest.raises(UsageError):
                list_documents(opened, None, wrong)
        with pytest.raises(UsageError, match="no document ever had the id"):
            list_documents(opened, None, Wanted(), after="0" * 16)


@pytest.mark.parametrize("recipe", [None, POLICY.recipe, "another"])
def test_counts_are_those_of_the_documents(index: Path, recipe: str | None) -> None:
    with Index.open(index) as opened:
        reports = document_reports(opened, recipe)
        seen, told = Overviews(opened).now(recipe), index_report(opened, recipe)
        live = [one.live for one in reports if one.live]
        states = Counter(one.state for one in reports)
        stale = Counter(one.stale_reason for one in reports if one.stale_reason)
        assert seen.states == states == told.states and seen.documents == len(reports) == 13
        assert dict(seen.stale) == dict(stale) == dict(told.stale)
        assert seen.chunks == told.chunks == sum(one.chunks for one in live)
        assert seen.pages == sum(one.pages for one in live)
        assert sum(group.count for group in seen.failures) + seen.failures_left_out == states["failed"]
        assert seen.runs[0].run_id == (told.last_run or {})["run_id"]
        assert run_of(opened, seen.runs[0].run_id) == seen.runs[0] and run_of(opened, "none") is None


def test_counts_are_kept_until_somebody_writes(index: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(index, tmp_path / "copy")
    with Index.open(copy) as opened, Index.open(copy) as other:
        overviews = Overviews(opened)
        first, again = overviews.now(None), overviews.now(None)
        assert again.sources is first.sources
        assert overviews.now("another").stale != first.stale
        with transactions.writing(other.engine) as connection:
            connection.execute(schema.documents.update().values(sha256="f" * 64))
        after = overviews.now(None)
        assert sum(after.stale.values()) == sum(
            one.live is not None for one in document_reports(opened, None)
        )
        with transactions.writing(opened.engine) as connection:
            connection.execute(schema.revisions.update().values(ended_version=0))
        assert overviews.now(None).chunks == 0 and first.chunks > 0
        overviews.close()


@pytest.mark.parametrize("words", ["звіт", "ЗВІТ", "насос Звіт", "straße", "é", "e\u0301"])
def test_words_are_found_in_any_case_of_any_script(tmp_path: Path, words: str) -> None:
    names = ["Звіт про НАСОС.txt", "STRASSE und Straße.txt", "Caf\u00c9.txt"]
    reindex(tmp_path / "index", fill(tmp_path / "docs", dict.fromkeys(names, "one paragraph")))
    with Index.open(tmp_path / "index") as opened:
        (found,) = list_documents(opened, None, Wanted(words=words)).documents
    assert found.path in names
