"""Pages of documents say what the whole report says."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from pincite.schemas.errors import NotFound, UsageError
from pincite.storage.ledger import transactions
from pincite.storage.queries.documents import Wanted, document_of, list_documents
from pincite.storage.queries.index_report import STATES, DocumentReport, document_reports
from pincite.storage.snapshots.index import Index
from tests.storage.building import PERMANENT, POLICY, fill, reindex


@pytest.fixture
def mixed(index: Path, source: Path, tmp_path: Path) -> Path:
    """Two sources with documents that are indexed, failed, stale and deleted."""
    fill(source, {f"{name}.txt": f"text {name}" for name in "abcdefg"} | {"h.txt": PERMANENT})
    reindex(index, source)
    (source / "b.txt").write_text(PERMANENT)
    (source / "e.txt").unlink()
    reindex(index, source)
    reindex(index, fill(tmp_path / "other", {"a.txt": "another a", "z.txt": "z"}))
    return index


def paged(index: Index, state: str | None, recipe: str, limit: int) -> list[DocumentReport]:
    found: list[DocumentReport] = []
    while True:
        after = found[-1].document_id if found else ""
        page = list_documents(index, recipe, Wanted(state), after, limit)
        found += page.documents
        if not page.more:
            assert page.total == len(found)
            return found
        assert len(page.documents) == limit


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
@pytest.mark.parametrize("recipe", [POLICY.recipe, "another"])
@pytest.mark.parametrize("state", [None, *STATES])
def test_the_pages_are_the_whole_report(mixed: Path, state: str | None, recipe: str, limit: int) -> None:
    with Index.open(mixed) as index:
        whole = document_reports(index, recipe, state)
        assert paged(index, state, recipe, limit) == sorted(whole, key=lambda one: (one.source, one.path))


def test_a_page_goes_on_behind_a_document_that_was_deleted_meanwhile(mixed: Path, source: Path) -> None:
    with Index.open(mixed) as index:
        in_source = [one for one in paged(index, None, POLICY.recipe, 100) if one.source == str(source)]
        (source / in_source[1].path).unlink()
        reindex(mixed, source)
        page = list_documents(index, POLICY.recipe, after=in_source[1].document_id, limit=1)
        assert [one.path for one in page.documents] == [in_source[2].path]
        with pytest.raises(UsageError, match="no document ever had the id"):
            list_documents(index, None, after="nothing")
        with pytest.raises(UsageError, match="no document is ever"):
            list_documents(index, None, Wanted("gone"))


def test_one_document_is_that_of_the_report_and_one_that_is_gone_is_not_found(mixed: Path) -> None:
    with Index.open(mixed) as index:
        for report in document_reports(index, POLICY.recipe):
            assert document_of(index, POLICY.recipe, report.document_id)[0] == report
        with transactions.reading(index.engine) as connection:
            gone = connection.scalar(sa.text("SELECT document_id FROM documents WHERE state = 'deleted'"))
        for name in (gone, "nothing", "../../etc/passwd"):
            with pytest.raises(NotFound):
                document_of(index, None, name)


def test_a_page_is_read_in_the_order_of_an_index(mixed: Path) -> None:
    statements: list[str] = []
    with Index.open(mixed) as index:
        sa.event.listen(
            index.engine, "before_cursor_execute", lambda _c, _cu, statement, *_: statements.append(statement)
        )
        list_documents(index, None, limit=2)
        (page,) = (one for one in statements if "ORDER BY documents.source" in one)
        with transactions.reading(index.engine) as connection:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {page}", (3, 0)).all()
    told = " ".join(str(row[-1]) for row in plan)
    assert "one_document_a_path" in told and "TEMP B-TREE FOR ORDER BY" not in told
