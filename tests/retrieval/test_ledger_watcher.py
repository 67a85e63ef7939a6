"""A reader that stays open has new versions at hand before they are asked for, and ends what it began."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pincite.retrieval import ledger_watcher
from pincite.retrieval import loaded_version as corpora
from pincite.retrieval.ledger_watcher import Follower
from pincite.retrieval.loaded_version import Corpus
from pincite.retrieval.searcher import open_index
from pincite.schemas.errors import IndexBroken
from pincite.storage.ledger import transactions
from pincite.storage.locks.reader_leases import living
from pincite.storage.snapshots.index import Index


def followers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "follow the index"]


def held(path: Path) -> set[int]:
    """The versions that readers of an index hold."""
    with Index.open(path) as index, transactions.reading(index.engine) as connection:
        return {row.version for row in living(connection)}


def wait_for(happened: Callable[[], bool], seconds: float = 20.0) -> bool:
    until = time.monotonic() + seconds
    while not happened() and time.monotonic() < until:
        time.sleep(0.02)
    return happened()


def asked_often(follower: Follower) -> None:
    for _ in range(ledger_watcher.SEARCHES):
        follower.asked()


def write(ledger: Path) -> None:
    with ledger.open("a") as file:
        file.write("more")


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger"
    path.touch()
    return path


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    assert not followers()


def test_a_version_is_taken_up_before_a_search_asks_for_it(small_index: Any) -> None:
    small_index.write({"a.txt": ["zebra"]})
    with open_index(small_index.path) as searcher:
        for _ in range(ledger_watcher.SEARCHES):
            assert not followers()  # who asks once does not stay open
            first = searcher.search("zebra", mode="bm25").version
        assert followers()
        small_index.write({"a.txt": ["zebra new"]})
        assert wait_for(lambda: max(held(small_index.path)) > first)
        found = searcher.search("zebra", mode="bm25")
        assert found.version == max(held(small_index.path))
    assert [hit.content for hit in found.hits] == ["zebra new"]


def test_a_pinned_reader_follows_nothing(small_index: Any) -> None:
    small_index.write({"a.txt": ["zebra"]})
    with open_index(small_index.path, version=1) as searcher:
        small_index.write({"a.txt": ["zebra new"]})
        for _ in range(2 * ledger_watcher.SEARCHES):
            assert searcher.search("zebra", mode="bm25").version == 1
        assert not followers()


def test_it_ends_when_nobody_searches_and_begins_anew(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    follower = Follower(ledger, lambda: taken.append(1))
    asked_often(follower)
    assert followers()
    monkeypatch.setattr(ledger_watcher, "IDLE_S", 0.0)
    assert wait_for(lambda: not followers()) and not taken
    monkeypatch.undo()
    asked_often(follower)
    write(ledger)
    assert wait_for(lambda: bool(taken))
    follower.end()


def test_what_is_written_before_its_thread_comes_to_look_is_taken_up(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, wrote, taken = Follower._look, threading.Event(), threading.Event()

    def late(follower: Follower) -> Any:
        assert threading.current_thread() not in followers() or wrote.wait(20.0)
        return look(follower)

    monkeypatch.setattr(Follower, "_look", late)
    follower = Follower(ledger, taken.set)
    asked_often(follower)
    write(ledger)
    wrote.set()
    assert taken.wait(20.0)
    follower.end()


def test_what_goes_wrong_is_left_to_the_next_search(ledger: Path) -> None:
    def fail() -> None:
        raise IndexBroken("broken")

    follower = Follower(ledger, fail)
    asked_often(follower)
    write(ledger)
    assert wait_for(lambda: not followers())
    follower.end()


def test_none_begins_after_the_end(ledger: Path) -> None:
    follower = Follower(ledger, lambda: None)
    follower.end()
    asked_often(follower)
    assert not followers()


def test_documents_that_were_read_stay_read_only_while_their_revision_lives(small_index: Any) -> None:
    names = [f"{number}.txt" for number in range(4)]
    small_index.write({name: [f"zebra {name}"] for name in names})
    with Index.open(small_index.path) as index:
        with index.snapshot() as snapshot:
            earlier = Corpus(snapshot)
        ids = sorted(earlier.documents)
        earlier = Corpus(snapshot)
        earlier.documents_of(ids)
        small_index.write({"0.txt": ["zebra 0.txt"], "1.txt": ["changed"], "3.txt": ["zebra 3.txt"]})
        with index.snapshot() as snapshot:
            later = Corpus(snapshot, earlier)
        kept = dict(later._read)
        assert sorted(one.path for one in kept.values()) == ["0.txt", "3.txt"]
        assert kept == snapshot.documents_of(sorted(kept))
        assert {one.path for one in later.documents_of(sorted(later.documents)).values()} == {
            "0.txt",
            "1.txt",
            "3.txt",
        }


def test_documents_that_were_read_are_kept_up_to_a_number_the_newest_first(
    small_index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "_MOST_READ", 3)
    small_index.write({f"{number}.txt": [f"zebra {number}"] for number in range(5)})
    with Index.open(small_index.path) as index:
        with index.snapshot() as snapshot:
            ids = [document.document_id for document in snapshot.documents()]
        with index.snapshot() as snapshot:
            corpus = Corpus(snapshot)
        assert list(corpus.documents_of(ids)) == ids
        assert list(corpus._read) == ids[2:]
        assert list(corpus.documents_of(ids[:3])) == ids[:3]
        assert list(corpus._read) == [ids[4], *ids[:2]]
        for turn in range(4):  # what is read ahead counts too
            small_index.write({f"{number}.txt": [f"zebra {number} {turn}"] for number in range(5)})
            with index.snapshot() as snapshot:
                corpus = Corpus(snapshot, corpus)
            corpus.read_ahead()
            assert len(corpus._read) == 3
            assert corpus.documents_of(ids) == snapshot.documents_of(ids)
