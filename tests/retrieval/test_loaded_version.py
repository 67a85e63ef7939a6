"""Taking up a new version beside searches: each sees the newest, none waits in vain, and what it shows is held."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pincite.retrieval import ledger_watcher
from pincite.retrieval import loaded_version as corpora
from pincite.retrieval import searcher as searching
from pincite.retrieval.loaded_version import Corpus
from pincite.retrieval.searcher import Searcher, open_index
from pincite.schemas.errors import IndexBroken
from pincite.storage.ledger import schema, transactions
from pincite.storage.locks import reader_leases
from pincite.storage.locks.reader_leases import Lease, living
from pincite.storage.search_cache.cache import open_cover
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import Snapshot, document_name, document_numbers
from tests.retrieval.test_forgotten import DOCUMENTS, forgotten
from tests.retrieval.test_ledger_watcher import held, wait_for
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
        for _ in range(ledger_watcher.SEARCHES):
            searcher.search("zebra", mode="bm25")
        assert searcher._versions._follower.follows
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
    with followed(small_index.path) as searcher, searcher._versions._lock, ThreadPoolExecutor(1) as other:
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
        assert wait_for(lambda: bool(contents(searcher)) and searcher._versions._follower.follows), (
            "it began anew"
        )


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
    monkeypatch.setattr("pincite.retrieval.searcher.TOKENIZER", SPACE.tokenizer)
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
        assert searcher._versions._corpus is not None and searcher._versions._corpus.space == WIDE
        assert move(opened, migration, migration.source)
        assert contents(searcher) and searcher._versions._corpus.space == SPACE


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
            ids = connection.scalars(sa.select(schema.documents.c.document_id)).all()
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


def test_a_version_is_taken_up_whatever_searches_of_the_one_before_read_meanwhile(
    small_index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, read = [f"{number}.txt" for number in range(6)], []
    small_index.write({name: [f"zebra {name}"] for name in names})
    with Index.open(small_index.path) as index, ThreadPoolExecutor(1) as other:
        with index.snapshot() as snapshot:
            earlier = Corpus(snapshot)
        ids = list(map(document_name, snapshot.keys.documents.tolist()))
        earlier.documents_of(ids[:2])
        small_index.write({name: [f"zebra {name}"] for name in names[1:]})

        def meanwhile(asked: Any) -> Any:
            read.append(other.submit(earlier.documents_of, ids).result(WAIT_S))
            return document_numbers(asked)

        monkeypatch.setattr(corpora, "document_numbers", meanwhile)
        with index.snapshot() as snapshot:
            later = Corpus(snapshot, earlier)
        assert [sorted(documents) for documents in read] == [ids]
        assert later._read.keys() < set(ids)
        live = list(map(document_name, snapshot.keys.documents.tolist()))
        assert later.documents_of(live) == snapshot.documents_of(live)


def test_threads_that_read_documents_at_once_have_those_that_they_asked_for(
    small_index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "_MOST_READ", 5)
    small_index.write({f"{number}.txt": [f"zebra {number}"] for number in range(12)})
    with Index.open(small_index.path) as index, ThreadPoolExecutor(4) as others:
        with index.snapshot() as snapshot:
            newest = [Corpus(snapshot)]
        ids = list(map(document_name, snapshot.keys.documents.tolist()))
        whole = snapshot.documents_of(ids)

        def ask(seed: int) -> bool:
            asked = random.Random(seed).sample(ids, 4)
            return newest[-1].documents_of(asked) == {one: whole[one] for one in asked}

        asking = [others.submit(ask, seed) for seed in range(300)]
        while not all(one.done() for one in asking):
            with index.snapshot() as snapshot:
                newest.append(Corpus(snapshot, newest[-1]))
        assert all(one.result() for one in asking)


def test_postings_are_there_for_who_read_them_though_another_thread_makes_room(small_index: Any) -> None:
    class Emptied(dict[str, Any]):
        def __setitem__(self, term: str, postings: Any) -> None:
            """Another thread has emptied it when this one looks again."""

    small_index.write({"a.txt": ["zebra lion"]})
    with Index.open(small_index.path) as index, index.snapshot() as snapshot:
        corpus = Corpus(snapshot)
        corpus._postings = Emptied()
        assert corpus._postings_of("zebra").rows.tolist() == [0]


def test_a_search_that_began_before_all_was_deleted_leaves_the_lease_on_the_newest_version(
    small_index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, opened, newest_version = threading.Event(), threading.Event(), Index.newest_version
    small_index.write({"a.txt": ["zebra"]})

    def late(index: Index) -> int:
        newest = newest_version(index)
        if threading.current_thread() is not threading.main_thread():
            reached.set()
            assert opened.wait(WAIT_S)
        return newest

    with open_index(small_index.path) as searcher, ThreadPoolExecutor(1) as other:
        assert contents(searcher) == ["zebra"]
        monkeypatch.setattr(Index, "newest_version", late)
        before = other.submit(contents, searcher)
        assert reached.wait(WAIT_S)
        small_index.write({})
        assert contents(searcher) == []
        opened.set()
        assert before.result(WAIT_S) == ["zebra"]
        with Index.open(small_index.path) as index, transactions.reading(index.engine) as connection:
            last = max(living(connection), key=lambda row: row.lease_until)
        assert last.version == max(held(small_index.path)) == newest_version(index)


def test_a_version_without_chunks_is_taken_over_by_the_next(
    small_index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_index.write({"a.txt": ["zebra"]})
    followed_from: list[int] = []
    follow = Snapshot.follow

    def told(snapshot: Snapshot, earlier: Snapshot) -> Any:
        followed_from.append(earlier.version)
        return follow(snapshot, earlier)

    with open_index(small_index.path) as searcher:
        small_index.write({})
        empty = searcher.search("zebra", mode="bm25")
        assert not empty.hits
        small_index.write({"b.txt": ["zebra again"]})
        monkeypatch.setattr(Snapshot, "follow", told)
        assert contents(searcher) == ["zebra again"]
    assert followed_from == [empty.version]


def test_searches_during_which_a_document_is_forgotten_take_up_the_next_version_once(
    small_index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches, hits, made = 8, searching.hits_of, []
    begun, forgot = threading.Barrier(searches + 1), threading.Event()
    monkeypatch.setattr(ledger_watcher, "SEARCHES", 1_000)

    def late(*arguments: Any) -> Any:
        if not forgot.is_set():
            begun.wait(WAIT_S)
            assert forgot.wait(WAIT_S)
        return hits(*arguments)

    def counted(snapshot: Any, known: Any) -> Any:
        made.append(snapshot.version)
        return open_cover(snapshot, known)

    small_index.write(DOCUMENTS)
    with open_index(small_index.path) as searcher, ThreadPoolExecutor(searches) as others:
        before = searcher.search("zebra", mode="bm25").version
        monkeypatch.setattr(corpora, "open_cover", counted)
        monkeypatch.setattr(searching, "hits_of", late)
        asked = [others.submit(contents, searcher) for _ in range(searches)]
        begun.wait(WAIT_S)
        forgotten(small_index.path)
        forgot.set()
        assert [one.result(WAIT_S) for one in asked] == [["zebra kept"]] * searches
    assert len(made) == 1 and made[0] > before


def test_a_lease_holds_no_former_version_longer_than_the_ledger_says(
    small_index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_leases, "_AFTERWARDS_S", 0.3)
    writing = transactions.writing

    @contextmanager
    def late(engine: sa.Engine) -> Iterator[sa.Connection]:
        time.sleep(0.4)  # another process writes
        with writing(engine) as connection:
            yield connection

    small_index.write({"a.txt": ["zebra"]})
    small_index.write({"a.txt": ["zebra new"]})
    with Index.open(small_index.path) as opened:
        lease = Lease(opened.engine)
        lease.hold(1)
        monkeypatch.setattr(transactions, "writing", late)
        lease.hold(2)
        assert held(small_index.path) == {2}
        assert [lease.holds(version) for version in (1, 2)] == [False, True]
        lease.release()
