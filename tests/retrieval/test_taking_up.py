"""Taking up a new version beside searches: each sees the newest, none waits in vain, and what it shows is held."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from retrieval import corpus as corpora
from retrieval import following
from retrieval.corpus import Corpus
from retrieval.search import Searcher, open_index
from schemas.errors import IndexBroken
from storage import ledger, transactions
from storage.cache import open_cover
from storage.index import Index
from storage.readers import Lease, living
from tests.retrieval.test_forgotten import forgotten
from tests.storage.building import SPACE, fill
from tests.storage.maintaining import compacted, vacuumed
from tests.storage.migrating import WIDE, begun, builder_of, make, move, nightly

WAIT_S = 20.0


def contents(searcher: Searcher) -> list[str]:
    return sorted(hit.content for hit in searcher.search("zebra", mode="bm25").hits)


def in_follower() -> bool:
    return threading.current_thread().name == "follow the index"


@contextmanager
def followed(path: Path) -> Iterator[Searcher]:
    """A searcher whose follower is at work."""
    with open_index(path) as searcher:
        for _ in range(following.SEARCHES):
            searcher.search("zebra", mode="bm25")
        assert searcher._follower.follows
        time.sleep(0.3)  # its first look
        yield searcher


class Gate:
    """Keeps the follower at one place of its work until it is opened."""

    def __init__(self) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()

    def before(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def kept(*arguments: Any, **named: Any) -> Any:
            if in_follower() and not self.opened.is_set():
                self.reached.set()
                assert self.opened.wait(WAIT_S)
            return work(*arguments, **named)

        return kept


def test_a_search_of_the_newest_version_does_not_wait_for_a_thread_that_looks(small_index: Any) -> None:
    small_index.write({"a.txt": ["zebra"]})
    with followed(small_index.path) as searcher, searcher._lock, ThreadPoolExecutor(1) as other:
        assert other.submit(contents, searcher).result(WAIT_S) == ["zebra"]


def test_searches_that_begin_while_a_version_is_taken_up_see_it_and_take_it_up_once(
    small_index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_index.write({"a.txt": ["zebra"]})
    gate, made = Gate(), []

    def counted(snapshot: Any, known: Any) -> Any:
        made.append(snapshot.version)
        return open_cover(snapshot, known)

    with followed(small_index.path) as searcher, ThreadPoolExecutor(4) as others:
        monkeypatch.setattr(corpora, "open_cover", gate.before(counted))
        small_index.write({"a.txt": ["zebra new"]})
        assert gate.reached.wait(WAIT_S)
        asked = [others.submit(contents, searcher) for _ in range(4)]
        time.sleep(0.3)
        assert not any(one.done() for one in asked), "none answers from the version before"
        gate.opened.set()
        assert [one.result(WAIT_S) for one in asked] == [["zebra new"]] * 4
        assert len(made) == len(set(made))


@pytest.mark.parametrize("place", ["open_cover", "_live_runs"])
def test_a_version_that_the_follower_took_up_by_half_is_taken_up_whole_by_the_next_search(
    small_index: Any, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    small_index.write({"a.txt": ["zebra"]})
    work, failed = getattr(corpora, place), threading.Event()

    def fails(*arguments: Any) -> Any:
        if in_follower():
            failed.set()
            raise IndexBroken("planted")
        return work(*arguments)

    with followed(small_index.path) as searcher:
        monkeypatch.setattr(corpora, place, fails)
        small_index.write({"a.txt": ["zebra new"]})
        assert failed.wait(WAIT_S)
        assert contents(searcher) == ["zebra new"]
        monkeypatch.undo()
        small_index.write({"a.txt": ["zebra newer"]})
        assert contents(searcher) == ["zebra newer"]
        assert searcher._follower.follows, "it began anew"


def test_what_is_written_is_found_by_the_next_search_whatever_the_follower_does(small_index: Any) -> None:
    small_index.write({"a.txt": ["zebra 0"]})
    with followed(small_index.path) as searcher:
        for turn in range(1, 16):
            small_index.write({"a.txt": [f"zebra {turn}"]})
            time.sleep(0.004 * turn)  # before, while and after the follower takes it up
            assert contents(searcher) == [f"zebra {turn}"]


@pytest.mark.parametrize("while_it", ["opens the packs", "reads ahead", "did everything"])
def test_a_document_that_is_forgotten_while_a_version_is_taken_up_is_never_answered(
    small_index: Any, monkeypatch: pytest.MonkeyPatch, while_it: str
) -> None:
    gate = Gate()
    small_index.write({"kept.txt": ["zebra kept"]})
    with followed(small_index.path) as searcher:
        if while_it == "opens the packs":
            monkeypatch.setattr(corpora, "open_cover", gate.before(open_cover))
        elif while_it == "reads ahead":
            monkeypatch.setattr(Corpus, "documents_of", gate.before(Corpus.documents_of))
        small_index.write({"kept.txt": ["zebra kept"], "secret.txt": ["zebra secret"]})
        if while_it == "did everything":
            assert contents(searcher) == ["zebra kept", "zebra secret"]
        else:
            assert gate.reached.wait(WAIT_S)
        with ThreadPoolExecutor(1) as other:
            done = other.submit(forgotten, small_index.path)
            if while_it == "opens the packs":
                done.result(WAIT_S)
            gate.opened.set()
            done.result(WAIT_S)
        for _ in range(5):
            assert contents(searcher) == ["zebra kept"]
        small_index.write({"kept.txt": ["zebra kept on"]})
        assert contents(searcher) == ["zebra kept on"]


@pytest.mark.parametrize("beside", ["nothing", "a version that is taken up"])
def test_a_switch_to_another_space_is_seen_by_the_next_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: str
) -> None:
    gate, index, source = Gate(), tmp_path / "index", tmp_path / "source"
    monkeypatch.setattr("retrieval.search.TOKENIZER", SPACE.tokenizer)
    make(index, fill(source, {"a.txt": "zebra"}))
    with Index.open(index) as opened, followed(index) as searcher:
        migration = begun(opened, WIDE)
        builder_of(opened, migration, migration.target).catch_up()
        if beside != "nothing":
            monkeypatch.setattr(corpora, "open_cover", gate.before(open_cover))
            nightly(index, fill(source, {"a.txt": "zebra new"}))
            assert gate.reached.wait(WAIT_S)
        assert move(opened, migration, migration.target)
        gate.opened.set()
        assert contents(searcher) == ["zebra" if beside == "nothing" else "zebra new"]
        assert searcher._corpus is not None and searcher._corpus.space == WIDE
        assert move(opened, migration, migration.source)
        assert contents(searcher) and searcher._corpus.space == SPACE


def test_a_vacuum_leaves_what_was_answered_while_the_lease_on_it_is_still_to_be_written(
    small_index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    small_index.write({"a.txt": ["zebra old"]})
    with followed(small_index.path) as searcher:
        monkeypatch.setattr(Lease, "_write", gate.before(Lease._write))
        small_index.write({"a.txt": ["zebra new"]})
        assert gate.reached.wait(WAIT_S)
        found = searcher.search("zebra", mode="bm25")  # waits for no lease
        assert [hit.content for hit in found.hits] == ["zebra new"]
        with Index.open(small_index.path) as opened, transactions.reading(opened.engine) as connection:
            assert max(row.version for row in living(connection)) < found.version
            ids = connection.scalars(sa.select(ledger.documents.c.document_id)).all()
        small_index.write({"a.txt": ["zebra newest"]})
        compacted(small_index.path)
        vacuumed(small_index.path)
        assert [text.text for text in searcher.texts(ids, found.version).values()] == ["zebra new"]
        with open_index(small_index.path, version=found.version) as pinned:
            assert contents(pinned) == ["zebra new"]
        gate.opened.set()


def test_a_lease_holds_what_later_versions_have_and_nothing_of_former_ones(small_index: Any) -> None:
    for turn in range(3):
        small_index.write({"a.txt": [f"zebra {turn}"]})
    with Index.open(small_index.path) as opened:
        lease = Lease(opened.engine)
        assert not lease.holds(2)
        lease.hold(2)
        assert [lease.holds(version) for version in (1, 2, 3)] == [False, True, True]
        lease.release()
        assert not lease.holds(3)
