"""Dispatch: the process that serves the nightly deployment for `pincite serve`, and takes orders for runs.

python -m flows.dispatch INDEX        (started by `dashboard.runs`)

Each line of stdin is an order, `{"order": id, "parameters": {…of the flow nightly…}}`, or `{"cancel": id}` for one
that has not begun. Each line of stdout says what became of one: `{"order": id, "flow_run": …, "state": …,
"message": …}`; the first is `{"ready": url}`. It ends in order when stdin ends, so that it never outlives its parent.
"""

import json
import queue
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from flows.schedule import DEPLOYMENT, serve_schedule
from flows.server import prefect_api
from flows.settings import load_settings

LOOK_S = 1.0  # between two looks at the runs that go on
Order = Mapping[str, Any]


def main() -> None:
    index = Path(sys.argv[1])
    orders: queue.Queue[Order | None] = queue.Queue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    with (
        prefect_api(index.resolve() / "prefect", scheduling=True) as url,
        serve_schedule(index, load_settings()),
    ):
        _say(ready=url)
        _Dispatcher(index).serve(orders)


def _listen(orders: "queue.Queue[Order | None]") -> None:
    for line in sys.stdin:
        orders.put(json.loads(line))
    orders.put(None)


def _say(**values: object) -> None:
    print(json.dumps(values), flush=True)


class _Dispatcher:
    def __init__(self, index: Path) -> None:
        from prefect.client.orchestration import get_client

        self._index = index
        self._client = get_client(sync_client=True)
        self._open: dict[str, UUID] = {}  # flow runs that have not ended, by order
        self._said: dict[str, tuple[str, str]] = {}

    def serve(self, orders: "queue.Queue[Order | None]") -> None:
        """Until there is a None."""
        while True:
            try:
                order = orders.get(timeout=LOOK_S)
            except queue.Empty:
                self._look()
                continue
            if order is None:
                return
            if "cancel" in order:
                self._cancel(order["cancel"])
            else:
                self._start(order["order"], order["parameters"])

    def _start(self, order: str, parameters: Mapping[str, Any]) -> None:
        from prefect.deployments import run_deployment

        index = str(self._index.resolve())
        made: Any = run_deployment(
            DEPLOYMENT, parameters={"index": index, **parameters}, timeout=0, as_subflow=False
        )
        self._open[order] = made.id
        self._look()

    def _cancel(self, order: str) -> None:
        from prefect.states import Cancelled

        if (flow_run := self._open.get(order)) is not None:
            self._client.set_flow_run_state(flow_run, Cancelled(message="cancelled on the dashboard"))
            self._look()

    def _look(self) -> None:
        for order, flow_run in sorted(self._open.items()):
            state = self._client.read_flow_run(flow_run).state
            told = (state.name or "", state.message or "") if state else ("Scheduled", "")
            if self._said.get(order) != told:
                self._said[order] = told
                over = state is not None and state.is_final()
                _say(order=order, flow_run=str(flow_run), state=told[0], message=told[1], over=over)
                if over:
                    del self._open[order]


if __name__ == "__main__":
    main()
