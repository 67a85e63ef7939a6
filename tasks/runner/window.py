"""A bounded window of documents: memory does not grow with their number."""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol


class Pending(Protocol):
    """What a submission gives back: a future of `concurrent.futures` or of Prefect."""

    def add_done_callback(self, fn: Callable[[Any], None], /) -> None: ...


def submit_in_window(
    submit: Callable[[str], Pending],
    document_ids: Iterable[str],
    in_flight: int,
    errors: Sequence[BaseException],
) -> None:
    """Submits the documents, at most `in_flight` at a time, and returns when all have ended.

    The first of `errors`, which the submitted calls fill, stops it and is raised after those in flight have ended.
    """
    free = threading.BoundedSemaphore(in_flight)
    for document_id in document_ids:
        free.acquire()
        if errors:
            free.release()
            break
        submit(document_id).add_done_callback(lambda _future: free.release())
    for _ in range(in_flight):
        free.acquire()
    if errors:
        raise errors[0]
