"""Publish: a document becomes visible only after its invariants hold, in a commit that it shares with others."""

import logging
import threading
import time
from dataclasses import dataclass, field

import numpy as np

from pincite.schemas.counting import counted
from pincite.schemas.errors import InvariantBroken, PinciteError
from pincite.schemas.records import Policy, Prepared
from pincite.storage.runs.commit import publish
from pincite.storage.runs.invariants import coverage_problems, slice_problems, vector_problems
from pincite.storage.runs.runs import Run
from pincite.storage.search_cache.prefetch import PacksAhead
from pincite.storage.segments.arrow_rows import Finished

LINGER_S = 3.0
GROUP_CHUNKS = 4_000

_logger = logging.getLogger(__name__)


def check_invariants(prepared: Prepared, vectors: np.ndarray, dimension: int, whole: bool) -> None:
    """Raises `InvariantBroken` naming the first broken invariant of spec sections 2, 3 and 8.

    `whole` is what the product's own chunker promises: nothing left out and, of a document that the model can
    read, no chunk over the window. The reference strategies flag and count instead.
    """
    text, chunks = prepared.extraction.text, prepared.chunks
    problems = [] if chunks else ["it has no chunks"]
    problems += slice_problems(text, chunks) + vector_problems(vectors, len(chunks), dimension)
    if whole:
        problems += coverage_problems(text, prepared.extraction.blocks, chunks)
        over = [one.ordinal for one in chunks if one.over_window and prepared.encoder_fit]
        problems += [f"chunk {ordinal} is over the window" for ordinal in over]
    if problems:
        more = f" (and {counted(len(problems) - 1, 'problem')} more)" if len(problems) > 1 else ""
        raise InvariantBroken(
            f"not fit to be published: {problems[0]}{more}. This is a fault of Pincite: report it"
        )


@dataclass
class _Group:
    """Documents that wait for one commit."""

    finished: list[Finished] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    done: threading.Event = field(default_factory=threading.Event)
    visible: frozenset[str] = frozenset()
    error: BaseException | None = None
    errors: dict[str, Exception] = field(default_factory=dict)  # of single documents, by their id

    def full(self) -> bool:
        return sum(len(one.prepared.chunks) for one in self.finished) >= GROUP_CHUNKS


class Publisher:
    """Commits documents in groups: whoever comes first leads, lingers for others, and commits for all.

    A commit of its own for each document would leave three small files for each; a group costs at most
    `LINGER_S` of waiting and no certainty, since `publish` returns only after the commit.
    """

    def __init__(self, run: Run, policy: Policy) -> None:
        self._run = run
        self._policy = policy
        self._ahead = PacksAhead()
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._commit_lock = threading.Lock()
        self._group: _Group | None = None
        self._coming = 0  # documents on their way, for which a leader lingers

    def expect(self, documents: int) -> None:
        """`documents` more (or fewer, when negative) are on their way to `publish`."""
        with self._changed:
            self._coming += documents
            self._changed.notify_all()

    def publish(self, finished: Finished) -> bool:
        """Returns after the commit: whether the document is visible, or was overtaken by a newer job.

        An error of the index or the disk reaches every document of the group, any other the document that it is of.
        """
        with self._changed:
            leads = self._group is None
            group = self._group = self._group or _Group()
            group.finished.append(finished)
            self._changed.notify_all()
            if leads:
                self._linger(group)
                self._group = None
        if leads:
            self._commit(group)
        group.done.wait()
        if group.error is not None:
            raise group.error
        if own := group.errors.get(finished.job.document_id):
            raise own
        return finished.job.document_id in group.visible

    def _linger(self, group: _Group) -> None:
        while not group.full() and len(group.finished) < self._coming:
            left = group.began + LINGER_S - time.monotonic()
            if left <= 0 or not self._changed.wait(left):
                return

    def _commit(self, group: _Group) -> None:
        try:
            with self._commit_lock:
                self._publish(group)
        except BaseException as error:
            group.error = error
            raise
        finally:
            group.done.set()

    def _publish(self, group: _Group) -> None:
        """All at once; where that fails for a reason that nobody foresaw, each alone: one of them is to blame."""
        try:
            group.visible = publish(self._run, group.finished, self._policy, self._ahead)
            return
        except PinciteError:
            raise
        except Exception as error:  # noqa: BLE001  tried again, each alone
            _logger.warning("a commit of %s failed: %s", counted(len(group.finished), "document"), error)
        for one in group.finished:
            try:
                group.visible |= publish(self._run, [one], self._policy, self._ahead)
            except PinciteError:
                raise
            except Exception as error:  # noqa: BLE001  raised to its own document
                group.errors[one.job.document_id] = error
