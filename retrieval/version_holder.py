"""Versions: which one a search sees, and what was read of it.

A search looks for the newest version itself. While searches go on, a thread takes up new ones as they come
(`pincite.retrieval.ledger_watcher`), so that it finds them taken up.
"""

import threading
from collections.abc import Callable
from typing import TypeVar

from pincite.retrieval.ledger_watcher import Follower
from pincite.retrieval.loaded_version import Corpus
from pincite.schemas.errors import VersionGone
from pincite.storage.locks.reader_leases import Lease
from pincite.storage.snapshots.index import LEDGER_FILE, Index

Answer = TypeVar("Answer")

_TRIES = 3


class Versions:
    """The newest version, or one that is pinned, held against a vacuum. Threads share it."""

    def __init__(self, index: Index, pinned: int | None) -> None:
        """Raises `UsageError` when there is no such version."""
        self._index = index
        self._lock = threading.Lock()  # held while a version is taken up
        self._lease = Lease(index.engine)
        self._pinned = pinned
        self._corpus: Corpus | None = None
        self._follower = Follower(index.path / LEDGER_FILE, self._take_up)
        self._told_since = index.told_since()
        if pinned is not None:
            self._now()

    def close(self) -> None:
        self._follower.end()
        self._lease.release()

    def asked(self) -> None:
        """Says that somebody searches: from the tenth time on, new versions are taken up ahead."""
        if self._pinned is None:
            self._follower.asked()

    def ask(self, ask: Callable[[Corpus], Answer]) -> Answer:
        """What `ask` says; asked again where what it read went while it read.

        A forgetting takes documents away from every version, also under a lease, and a vacuum what is not yet held.
        """
        for _ in range(_TRIES - 1):
            corpus = self._corpus
            try:
                corpus = self._now()
                return self._asked(corpus, ask)
            except VersionGone:
                self._drop(corpus)
        return self._asked(self._now(), ask)

    def _drop(self, failed: Corpus | None) -> None:
        """Makes the next search begin anew, unless another thread has done it meanwhile."""
        with self._lock:
            if self._corpus is failed:
                self._corpus = None

    def _asked(self, corpus: Corpus, ask: Callable[[Corpus], Answer]) -> Answer:
        """What comes back is of a version that is held: its passages can be opened, whatever a vacuum does."""
        answer = ask(corpus)
        if not self._lease.holds(corpus.version):
            self._lease.hold(corpus.version)
        return answer

    def _now(self) -> Corpus:
        """The newest version, held where no thread follows.

        While one does, who finds it taken up waits for nobody; else for who takes one up, and at times for who
        writes the ledger.
        """
        if self._pinned is not None:
            return self._pinned_now(self._pinned)
        corpus = self._corpus
        if corpus is None or self._index.newest_version() != corpus.version:
            corpus = self._newest()
        if not self._follower.follows:
            with self._lock:  # another thread may have come to a newer one
                self._lease.hold((corpus if self._corpus is None else self._corpus).version)
        return corpus

    def _pinned_now(self, version: int) -> Corpus:
        with self._lock:
            self._lease.hold(version)
            told = self._index.told_since()
            if self._corpus is None or told != self._told_since:  # documents may have been forgotten
                with self._index.snapshot(version) as pinned:
                    self._corpus, self._told_since = Corpus(pinned, self._corpus), told
            return self._corpus

    def _newest(self) -> Corpus:
        """Takes up the newest version, unless another thread has done it meanwhile."""
        with self._lock:
            known = None if self._corpus is None else self._corpus.version
            if snapshot := self._index.newer_snapshot(known):
                self._corpus = Corpus(snapshot, self._corpus)
            assert self._corpus is not None
            return self._corpus

    def _take_up(self) -> None:
        """The follower's work. The lease is its own: a search would wait for whoever writes the ledger."""
        corpus = self._now()
        self._lease.hold(corpus.version)
        corpus.read_ahead()
