"""A bounded window of Prefect tasks: memory does not grow with the number of documents."""

import threading
from collections.abc import Iterable, Sequence
from typing import Any

from prefect import Task


def hand_out(
    document: Task[[str], Any],
    document_ids: Iterable[str],
    in_flight: int,
    errors: Sequence[BaseException],
) -> None:
    """Submits one task a document, at most `in_flight` at a time, and returns when all have ended.

    The first of `errors`, which the tasks fill with what is no document's own fault (a full disk, a broken
    ledger), stops the handing out and is raised after those in flight have ended.
    """
    free = threading.BoundedSemaphore(in_flight)
    for document_id in document_ids:
        free.acquire()
        if errors:
            free.release()
            break
        document.submit(document_id).add_done_callback(lambda _future: free.release())
    for _ in range(in_flight):
        free.acquire()
    if errors:
        raise errors[0]
