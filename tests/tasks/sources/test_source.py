"""Folders as sources, their patterns, and what stops a run before anything is deleted."""

from dataclasses import replace
from pathlib import Path

import pytest

from pincite.schemas.errors import SourceError, UnconfirmedLoss, UsageError
from pincite.schemas.records import Counts
from pincite.storage.checks.verify import verify
from pincite.storage.erasure.forget import forget
from pincite.storage.queries.index_report import document_reports, index_report
from pincite.storage.runs.collections import read_collections
from pincite.storage.runs.registration import drop_collection
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import find
from pincite.tasks.discover import SourceListing, settle_if_idle
from pincite.tasks.sources.patterns import Patterns
from pincite.tasks.sources.source import open_source
from tests.storage.building import POLICY, fill, found
from tests.tasks.collecting import LIMITS, of, reindex

TREE = {"a.pdf": "1", "b.txt": "2", "deep/c.pdf": "3", "deep/drafts/d.pdf": "4", "drafts/e.pdf": "5"}


@pytest.mark.parametrize(
    ("include", "exclude", "admitted"),
    [
        ((), (), set(TREE)),
        (("*.pdf",), (), {"a.pdf", "deep/c.pdf", "deep/drafts/d.pdf", "drafts/e.pdf"}),
        (("/*.pdf",), (), {"a.pdf"}),
        (("deep/",), (), {"deep/c.pdf", "deep/drafts/d.pdf"}),
        (("*.pdf",), ("drafts/",), {"a.pdf", "deep/c.pdf"}),
        (("*.pdf",), ("/drafts/",), {"a.pdf", "deep/c.pdf", "deep/drafts/d.pdf"}),
        ((), ("deep/**/d.pdf", "*.txt"), {"a.pdf", "deep/c.pdf", "drafts/e.pdf"}),
        ((), ("*.pdf", "!a.pdf"), {"a.pdf", "b.txt"}),
    ],
)
def test_patterns_admit_what_gitignore_would_ignore(
    tmp_path: Path, include: tuple[str, ...], exclude: tuple[str, ...], admitted: set[str]
) -> None:
    collection = of(fill(tmp_path / "source", TREE), include=include, exclude=exclude)
    source = open_source(collection, tmp_path / "index", LIMITS)
    assert {file.path for file in source.list_files()} == admitted


def test_a_pattern_without_meaning_is_named() -> None:
    with pytest.raises(UsageError, match=r"exclude: .*'!'.*\.gitignore"):
        Patterns(exclude=("!",))


def test_other_patterns_let_files_leave_and_enter_the_index(tmp_path: Path) -> None:
    source, index = fill(tmp_path / "source", TREE), tmp_path / "index"
    assert reindex(index, of(source, include=("*.pdf",))) == Counts(4, indexed=4)
    assert reindex(index, of(source, exclude=("drafts/",))) == Counts(5, indexed=1, unchanged=2, deleted=2)
    assert sorted(found(index)) == ["a.pdf", "b.txt", "deep/c.pdf"]
    with Index.open(index) as opened:
        assert read_collections(opened) == (of(source, exclude=("drafts/",)),)
        assert all(check.ok for check in verify(opened))


def test_an_excluded_folder_that_can_not_be_listed_is_no_trouble(tmp_path: Path) -> None:
    source, index = fill(tmp_path / "source", TREE), tmp_path / "index"
    (source / "lost+found").symlink_to("nowhere")
    assert reindex(index, of(source, exclude=("lost+found",))) == Counts(5, indexed=5)
    assert reindex(index, of(source, include=("*.pdf", "*.txt"))) == Counts(5, unchanged=5)


def test_what_an_included_link_hides_stays_in_the_index(tmp_path: Path) -> None:
    share = fill(tmp_path / "share", {"a.txt": "first"})
    source, index = fill(tmp_path / "source", {"b.txt": "second"}), tmp_path / "index"
    (source / "mount").symlink_to(share)
    assert reindex(index, of(source, include=("*.txt",))) == Counts(2, indexed=2)
    share.rename(tmp_path / "unmounted")
    assert reindex(index, of(source, include=("*.txt",))) == Counts(2, unchanged=1, failed=1)
    assert found(index) == {"b.txt": ["second"], "mount/a.txt": ["first"]}


def test_an_emptied_source_stops_the_run_until_the_number_is_confirmed(tmp_path: Path) -> None:
    source, index = fill(tmp_path / "source", {"a.txt": "first", "b.txt": "second"}), tmp_path / "index"
    reindex(index, of(source))
    fill(source, {})
    with Index.open(index) as opened:
        for confirmed in (None, 1, 3):
            with pytest.raises(UnconfirmedLoss, match=r"2 of 2 .*--confirm-deletions 2") as raised:
                settle_if_idle(opened, of(source), replace(POLICY, confirmed_deletions=confirmed))
            assert raised.value.lost == 2
            wrong = f"--confirm-deletions {confirmed} was given, and the number is 2 now"
            assert (wrong in str(raised.value)) == (confirmed is not None)
        last = index_report(opened, None).last_run
    assert last is not None and last["state"] == "broken" and "unmounted disk" in str(last["message"])
    assert sorted(found(index)) == ["a.txt", "b.txt"]
    assert reindex(index, of(source), replace(POLICY, confirmed_deletions=2)) == Counts(2, deleted=2)
    assert found(index) == {}


@pytest.mark.parametrize(
    ("before", "left", "stops"),
    [(20, 9, True), (20, 10, False), (19, 4, True), (19, 9, True), (12, 3, False), (8, 1, False)],
)
def test_a_source_that_lost_more_than_half_of_many_stops_the_run(
    tmp_path: Path, before: int, left: int, stops: bool
) -> None:
    files = {f"{n:02}.txt": f"number {n}" for n in range(before)}
    source, index = fill(tmp_path / "source", files), tmp_path / "index"
    reindex(index, of(source))
    fill(source, dict(list(files.items())[:left]))
    if stops:
        with pytest.raises(UnconfirmedLoss, match=f"{before - left} of {before} documents"):
            reindex(index, of(source))
        assert len(found(index)) == before
    else:
        assert reindex(index, of(source)) == Counts(before, unchanged=left, deleted=before - left)


def test_a_night_after_a_document_was_forgotten_is_idle(tmp_path: Path) -> None:
    files = {"a.txt": "a secret", "b.txt": "second words", "c.txt": "the third words"}
    source, index = fill(tmp_path / "source", files), tmp_path / "index"
    reindex(index, of(source))
    with Index.open(index) as opened:
        forget(opened, find(opened, "a.txt"))
        assert settle_if_idle(opened, of(source), POLICY) == Counts(2, unchanged=2), "its name is known"
        (source / "moved").mkdir()
        (source / "a.txt").rename(source / "moved" / "z.txt")
        assert settle_if_idle(opened, of(source), POLICY) == Counts(2, unchanged=2), "its bytes are known"
        (source / "d.txt").write_text("something new")
        assert isinstance(settle_if_idle(opened, of(source), POLICY), SourceListing)
    assert reindex(index, of(source)) == Counts(3, indexed=1, unchanged=2)
    assert sorted(found(index)) == ["b.txt", "c.txt", "d.txt"]


def test_files_that_moved_are_not_lost(tmp_path: Path) -> None:
    files = {f"{n:02}.txt": f"number {n}" for n in range(24)}
    source, index = fill(tmp_path / "source", files), tmp_path / "index"
    reindex(index, of(source))
    fill(source, {f"new/{path}": text for path, text in files.items()})
    assert reindex(index, of(source)) == Counts(48, indexed=24, deleted=24)  # titles made from names


def test_a_folder_that_is_gone_stops_the_run_and_is_recorded(tmp_path: Path) -> None:
    source, index = fill(tmp_path / "source", {"a.txt": "first"}), tmp_path / "index"
    reindex(index, of(source))
    collection = of(source)
    source.rename(tmp_path / "elsewhere")
    with Index.open(index) as opened:
        with pytest.raises(SourceError, match="no such folder"):
            settle_if_idle(opened, collection, POLICY)
        last = index_report(opened, None).last_run
    assert last is not None and last["state"] == "broken"
    assert found(index) == {"a.txt": ["first"]}


def test_a_collection_is_dropped_by_the_number_of_its_documents(tmp_path: Path) -> None:
    index = tmp_path / "index"
    one = replace(of(fill(tmp_path / "one", {"a.txt": "first", "b.txt": "second"})), name="one")
    other = replace(of(fill(tmp_path / "other", {"a.txt": "third"})), name="other")
    reindex(index, one)
    reindex(index, other)
    with Index.open(index) as opened:
        with pytest.raises(UnconfirmedLoss, match="--confirm-deletions 2"):
            drop_collection(opened, one, None)
        assert drop_collection(opened, one, 2) == 2
        assert read_collections(opened) == (other,)
        assert all(check.ok for check in verify(opened))
    assert found(index) == {"a.txt": ["third"]}


def test_documents_bear_the_name_of_their_collection(tmp_path: Path) -> None:
    index = tmp_path / "index"
    for name in ("north", "south"):
        reindex(index, replace(of(fill(tmp_path / name / "docs", {"a.txt": name})), name=name))
    with Index.open(index) as opened:
        assert {(one.collection, one.path) for one in document_reports(opened, None)} == {
            ("north", "a.txt"),
            ("south", "a.txt"),
        }
        with pytest.raises(UsageError, match=r"the collection north is .*north/docs, not .*other"):
            reindex(index, replace(of(fill(tmp_path / "other", {"a.txt": "x"})), name="north"))
