"""Dispatch: the process that serves the deployments for `pincite serve`, and takes orders for runs.

python -m pincite.flows.deployments.dispatcher INDEX        (started by `pincite.dashboard.state.run_requests`)

Each line of stdin is an order, `{"order": id, "deployment": name, "parameters": {…of its flow…}}`, or
`{"cancel": id}`, which interrupts the run when it has begun. Each line of stdout says what became of one:
`{"order": id, "flow_run": …, "state": …, "message": …, "over": …}`; the first is `{"ready": url}`. It ends in order
when stdin ends, so that it never outlives its parent.
"""

import json
import logging
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psutil

from pincite.flows.deployments.schedule import serve_schedule
from pincite.flows.prefect_server.server import prefect_api
from pincite.flows.settings import load_settings
from pincite.schemas.import_path import put_working_directory_last

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

_logger = logging.getLogger(__name__)
_INTERRUPTED = ("by an interrupt signal", "by a termination signal")  # what Prefect says of a cancelled run
LOOK_S = 1.0  # between two looks at the runs that go on
Order = Mapping[str, Any]


def main() -> None:
    put_working_directory_last()
    index = Path(sys.argv[1])
    orders: queue.Queue[Order | None] = queue.Queue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    with (
        prefect_api(index.resolve() / "prefect", scheduling=True) as url,
        serve_schedule(str(index.resolve()), load_settings()),
    ):
        from prefect.client.orchestration import get_client  # the server's address is known now

        _say(ready=url)
        with get_client(sync_client=True) as client:
            _Dispatcher(str(index.resolve()), client).serve(orders)


def _listen(orders: "queue.Queue[Order | None]") -> None:
    for line in sys.stdin:
        orders.put(json.loads(line))
    orders.put(None)


def _say(**values: object) -> None:
    print(json.dumps(values), flush=True)


class _Dispatcher:
    def __init__(self, address: str, client: "SyncPrefectClient") -> None:
        self._address = address
        self._client = client
        self._open: dict[str, UUID] = {}  # flow runs that have not ended, by order
        self._said: dict[str, tuple[str, str]] = {}
        self._cancelled: set[UUID] = set()
        self._interrupted: set[int] = set()  # processes: a second signal would break into their tidying

    def serve(self, orders: "queue.Queue[Order | None]") -> None:
        """Until there is a None."""
        while True:
            try:
                order = orders.get(timeout=LOOK_S)
            except queue.Empty:
                order = {}
            if order is None:
                return
            self._heed(order)

    def _heed(self, order: Order) -> None:
        """Does what an order says, and looks.

        A server that does not answer now ends no run: the next look asks again.
        """
        from httpx import HTTPError

        try:
            if "cancel" in order:
                self._cancel(order["cancel"])
            elif order:
                self._start(order["order"], order["deployment"], order["parameters"])
            self._look()
        except HTTPError as error:
            _logger.warning("the Prefect server does not tell how runs stand: %s", error)

    def _start(self, order: str, deployment: str, parameters: Mapping[str, Any]) -> None:
        from httpx import HTTPError
        from prefect.deployments import run_deployment
        from prefect.exceptions import PrefectException

        try:
            made: Any = run_deployment(
                deployment, parameters={**parameters, "index": self._address}, timeout=0, as_subflow=False
            )
        except (PrefectException, HTTPError, ValueError) as error:  # of one order: the others go on
            _say(order=order, flow_run="", state="Failed", message=f"Prefect took it not: {error}", over=True)
            return
        self._open[order] = made.id

    def _cancel(self, order: str) -> None:
        """A run that has begun is interrupted, also when it begins only now: the runner may have taken it."""
        from prefect.exceptions import ObjectNotFound
        from prefect.states import Cancelled

        if (flow_run := self._open.get(order)) is None:
            return
        self._cancelled.add(flow_run)
        with suppress(ObjectNotFound):  # it was deleted there, which the next look tells
            state = self._client.read_flow_run(flow_run).state
            if state is None or not (state.is_running() or state.is_final()):
                self._client.set_flow_run_state(flow_run, Cancelled(message="cancelled on the dashboard"))

    def _look(self) -> None:
        for order, flow_run in sorted(self._open.items()):
            told, over = self._state_of(flow_run)
            if self._said.get(order) != told:
                self._said[order] = told
                _say(order=order, flow_run=str(flow_run), state=told[0], message=told[1], over=over)
                if over:
                    del self._open[order], self._said[order]
        self._interrupt()

    def _state_of(self, flow_run: UUID) -> tuple[tuple[str, str], bool]:
        """(name and message of its state, whether it is over)."""
        from prefect.exceptions import ObjectNotFound

        try:
            state = self._client.read_flow_run(flow_run).state
        except ObjectNotFound:
            return ("Lost", "the flow run was deleted on the Prefect server"), True
        if state is None:
            return ("Scheduled", ""), False
        if state.is_crashed() and any(words in (state.message or "") for words in _INTERRUPTED):
            return ("Cancelled", "interrupted: what it had finished stays"), True
        return (state.name or "", state.message or ""), state.is_final()

    def _interrupt(self) -> None:
        for pid in _processes_of(self._cancelled) if self._cancelled else ():
            if pid not in self._interrupted:
                self._interrupted.add(pid)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)


def _processes_of(flow_runs: set[UUID]) -> Iterator[int]:
    """Our own child processes in which these flow runs go on; Prefect names the run in their environment."""
    wanted = {str(one) for one in flow_runs}
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if child.environ().get("PREFECT__FLOW_RUN_ID") in wanted:
                yield child.pid


if __name__ == "__main__":
    main()
