"""Documents as tasks of Prefect, which shows each on the page of its flow run."""

from collections.abc import Iterable

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Failed

from pincite.schemas.errors import PinciteError
from pincite.tasks.runner.interface import Work
from pincite.tasks.runner.window import Pending, submit_in_window


class PrefectRunner:
    """The runner inside of a flow, whose own task runner has as many threads as documents are in flight."""

    def hand_out(self, work: Work, document_ids: Iterable[str], in_flight: int) -> None:
        """As `Runner` says."""
        errors: list[BaseException] = []

        # The work is bound here, since Prefect looks into every parameter. It returns no result: the outcome is in
        # the ledger, and Prefect would keep every result until the flow ends.
        @task(name="document", cache_policy=NO_CACHE, persist_result=False, retries=0)
        def document(document_id: str) -> State | None:
            try:
                work(document_id)
            except PinciteError as error:
                errors.append(error)
                return Failed(message=str(error))  # said once at the end; raised, Prefect would print each
            except BaseException as error:
                errors.append(error)
                raise
            return None

        def submit(document_id: str) -> Pending:
            return document.submit(document_id)

        submit_in_window(submit, document_ids, in_flight, errors)
