"""Looking at the ledger again and again while something goes on, for those who show how far it is."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from pincite.schemas.errors import PinciteError


@contextmanager
def looking(look: Callable[[], None], every_s: float) -> Iterator[None]:
    """Looks again and again while the block goes on. What a busy ledger does not tell, the next look does."""
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(every_s):
            with suppress(PinciteError):
                look()

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join()
