"""Documents in threads of this process, without a workflow engine."""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from pincite.tasks.runner.interface import Work
from pincite.tasks.runner.window import submit_in_window


class ThreadRunner:
    """The runner of a program that embeds Pincite, and of tests."""

    def hand_out(self, work: Work, document_ids: Iterable[str], in_flight: int) -> None:
        """As `Runner` says."""
        errors: list[BaseException] = []

        def submit(document_id: str) -> Future[object]:
            submitted = threads.submit(work, document_id)
            submitted.add_done_callback(lambda one: errors.extend(filter(None, [one.exception()])))
            return submitted

        threads = ThreadPoolExecutor(in_flight, thread_name_prefix="document")
        try:
            submit_in_window(submit, document_ids, in_flight, errors)
        finally:  # of an interrupt: those in flight end when the caller closes what they work with
            threads.shutdown(wait=False, cancel_futures=True)
