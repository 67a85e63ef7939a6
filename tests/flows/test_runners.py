"""Documents are handed out a few at a time, and an error that is no document's own stops the handing out."""

import threading
from collections.abc import Callable

import pytest
from prefect import flow
from prefect.task_runners import ThreadPoolTaskRunner

from pincite.flows.prefect_runner import PrefectRunner
from pincite.tasks.runner.interface import Runner
from pincite.tasks.runner.threads import ThreadRunner

IN_FLIGHT = 3


def with_prefect(hand_out: Callable[[], None]) -> None:
    @flow(task_runner=ThreadPoolTaskRunner(max_workers=16), persist_result=False)  # type: ignore[arg-type]
    def hand_out_all() -> None:
        hand_out()

    hand_out_all()


@pytest.mark.parametrize("fails_at", [None, 5])
@pytest.mark.parametrize("runner", [ThreadRunner(), PrefectRunner()], ids=["threads", "prefect"])
def test_at_most_so_many_are_in_flight_and_the_first_error_is_raised(
    api: str, runner: Runner, fails_at: int | None
) -> None:
    lock = threading.Lock()
    full = threading.Event()  # so that the window was seen to be full once
    running, most, seen = 0, 0, 0

    def work(document_id: str) -> None:
        nonlocal running, most, seen
        with lock:
            running, seen = running + 1, seen + 1
            most = max(most, running)
            if running == IN_FLIGHT:
                full.set()
        full.wait(30)
        with lock:
            running -= 1
        if document_id == str(fails_at):
            raise OSError("no space left")

    def hand_out() -> None:
        runner.hand_out(work, map(str, range(40)), IN_FLIGHT)

    def call() -> None:
        with_prefect(hand_out) if isinstance(runner, PrefectRunner) else hand_out()

    if fails_at is None:
        call()
        assert seen == 40
    else:
        with pytest.raises(OSError, match="no space left"):
            call()
        assert fails_at < seen < fails_at + 2 * IN_FLIGHT
    assert most == IN_FLIGHT and running == 0
