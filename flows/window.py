"""A bounded window of Prefect tasks: memory does not grow with the number of documents."""

import threading
from collections.abc import Iterable

from prefect import Task
from prefect.futures import PrefectConcurrentFuture


def hand_out(document: Task[[str], str], document_ids: Iterable[str], in_flight: int) -> None:
    """Submits one task a document, at most `in_flight` at a time, and returns when all have ended.

    The first error that is not the document's own (a full disk, a broken ledger) stops the handing out and is
    raised after those in flight have ended.
    """
    free = threading.BoundedSemaphore(in_flight)
    errors: list[BaseException] = []

    def ended(future: PrefectConcurrentFuture[str]) -> None:
        state = future.state
        if not state.is_completed():
            errors.append(state.result(raise_on_failure=False))
        free.release()

    for document_id in document_ids:
        free.acquire()
        if errors:
            free.release()
            break
        document.submit(document_id).add_done_callback(ended)
    for _ in range(in_flight):
        free.acquire()
    if errors:
        raise errors[0]
