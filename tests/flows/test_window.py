"""Documents are handed out a few at a time, and an error that is no document's own stops the handing out."""

import threading
import time

import pytest
from prefect import flow, task
from prefect.task_runners import ThreadPoolTaskRunner

from pincite.flows.window import hand_out

IN_FLIGHT = 3


@pytest.mark.parametrize("fails_at", [None, 5])
def test_at_most_so_many_are_in_flight_and_the_first_error_is_raised(api: str, fails_at: int | None) -> None:
    lock = threading.Lock()
    running, most, seen = 0, 0, 0
    errors: list[BaseException] = []

    @task(persist_result=False)
    def document(document_id: str) -> None:
        nonlocal running, most, seen
        with lock:
            running, seen = running + 1, seen + 1
            most = max(most, running)
        time.sleep(0.02)
        if document_id == str(fails_at):
            errors.append(OSError("no space left"))
        with lock:
            running -= 1

    @flow(task_runner=ThreadPoolTaskRunner(max_workers=16), persist_result=False)  # type: ignore[arg-type]
    def hand_out_all() -> None:
        hand_out(document, map(str, range(40)), IN_FLIGHT, errors)

    if fails_at is None:
        hand_out_all()
        assert seen == 40
    else:
        with pytest.raises(OSError, match="no space left"):
            hand_out_all()
        assert fails_at < seen < fails_at + 2 * IN_FLIGHT
    assert most == IN_FLIGHT and running == 0
