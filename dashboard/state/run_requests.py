"""Runs that a person asks for: orders to the process that serves the deployments (`flows.deployments.dispatcher`).

Wish → Order → flow run

That process is started when it is first needed, or with the server where a schedule is set; it has its own Prefect
server, or uses that of PREFECT_API_URL. What is done is in the ledger; here is only what became of an order.
"""

import json
import logging
import os
import secrets
import signal
import subprocess
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from pincite.flows.deployments.schedule import NIGHTLY
from pincite.schemas import import_path
from pincite.schemas.errors import IndexBusy, NotFound, UsageError
from pincite.storage.queries.overview import run_of
from pincite.storage.snapshots.index import Index

MOST_OPEN = 20
MOST_KEPT = 50
END_S = 45.0  # longest wait for the process to end in order
_logger = logging.getLogger(__name__)
DISPATCH = tuple(import_path.python("pincite.flows.deployments.dispatcher"))


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run to be asked for."""

    words: str  # for a person
    deployment: str  # one of `flows.schedule.DEPLOYMENTS`
    parameters: Mapping[str, object] = field(default_factory=dict)  # of its flow, as JSON; the index is added
    documents: frozenset[str] = frozenset()  # ids of those whose outcome is waited for

    @classmethod
    def nightly(
        cls,
        words: str,
        collection: str | None = None,
        retry: Sequence[str] | None = None,
        documents: Sequence[str] = (),
    ) -> "RunRequest":
        """A run over a collection, or all; `retry`: ids of failed documents, () for all of them."""
        parameters = {
            "collection": collection,
            "retry": None if retry is None else list(retry),
            "patient": False,
        }
        return cls(words, NIGHTLY, parameters, frozenset([*(retry or ()), *documents]))


@dataclass(frozen=True, slots=True)
class RequestedRun:
    """A run that was asked for. `state` is Prefect's word for it, "Starting" before Prefect knows it."""

    order: str
    wish: RunRequest
    asked_at: float
    state: str = "Starting"
    message: str = ""
    flow_run: str = ""
    over: bool = False

    @property
    def words(self) -> str:
        return self.wish.words

    @property
    def documents(self) -> list[str]:
        return sorted(self.wish.documents)

    @property
    def deployment(self) -> str:
        return self.wish.deployment

    @property
    def link(self) -> str:
        """The run on the page of a Prefect server of the user's own; "" of the embedded one, which has none."""
        address = os.environ.get("PREFECT_UI_URL") or os.environ.get("PREFECT_API_URL", "").removesuffix(
            "/api"
        )
        http = address.startswith(("http://", "https://"))
        return f"{address}/runs/flow-run/{self.flow_run}" if http and self.flow_run else ""


class Runs:
    """Threads share it."""

    def __init__(self, address: str, command: Sequence[str] = DISPATCH) -> None:
        """`command` starts the process; the address of the index is added to it."""
        self._address = address
        self._command = command
        self._lock = threading.Lock()
        self._orders: OrderedDict[str, RequestedRun] = OrderedDict()
        self._process: subprocess.Popen[str] | None = None
        self._served_by: dict[str, subprocess.Popen[str]] = {}

    def start(self) -> None:
        """Starts the process now, for a schedule."""
        with self._lock:
            self._running()

    def ask(self, wish: RunRequest) -> RequestedRun:
        """Raises `IndexBusy` when too many are open."""
        order = RequestedRun(secrets.token_hex(8), wish, time.time())
        with self._lock:
            if sum(not one.over for one in self._orders.values()) >= MOST_OPEN:
                raise IndexBusy(f"{MOST_OPEN} runs are asked for and not done: wait until one ends")
            line = {
                "order": order.order,
                "deployment": wish.deployment,
                "parameters": dict(wish.parameters),
            }
            self._tell(line)
            self._orders[order.order] = order
            self._served_by[order.order] = self._running()
            self._forget()
        return order

    def _forget(self) -> None:
        """The oldest that are over, when more than `MOST_KEPT` are known."""
        over = [name for name, one in self._orders.items() if one.over]
        for name in over[: max(0, len(self._orders) - MOST_KEPT)]:
            del self._orders[name], self._served_by[name]

    def orders(self) -> tuple[RequestedRun, ...]:
        """Newest first."""
        with self._lock:
            return tuple(reversed(self._orders.values()))

    def waits(self, document_id: str) -> bool:
        """Whether an order that is not over names the document."""
        return any(not one.over and document_id in one.documents for one in self.orders())

    def order(self, order: str) -> RequestedRun:
        """Raises `NotFound` for one that this server does not know, or no longer."""
        with self._lock:
            if order not in self._orders:
                raise NotFound("this server knows no such order")
            return self._orders[order]

    def withdraw(self, order: str) -> None:
        """Takes back an order; of a run that has begun what it had finished stays. Nothing when it is over.

        Raises `NotFound` as `order` does.
        """
        if not self.order(order).over:
            with self._lock:
                self._tell({"cancel": order})

    def close(self) -> None:
        """Ends the process, with a run of it that goes on; what that had finished stays."""
        with self._lock:
            process = self._process
        if process is None or process.stdin is None:
            return
        with suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _tell(self, line: object) -> None:
        process = self._running()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(line) + "\n")
            process.stdin.flush()
        except BrokenPipeError as error:
            raise IndexBusy("the process that starts runs has just ended: ask again") from error

    def _running(self) -> "subprocess.Popen[str]":
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._process = subprocess.Popen(
            [*self._command, str(self._address)],
            env=os.environ | import_path.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for us, who then end it in order
        )
        threading.Thread(target=self._follow, args=(self._process,), name="runs", daemon=True).start()
        return self._process

    def _follow(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                said = _told(line)
                if said is None:  # a library of a run printed it: what follows is heard all the same
                    _logger.warning("the process that starts runs printed %r", line)
                    continue
                with self._lock:
                    if (known := self._orders.get(said.get("order", ""))) is not None:
                        told = {name: said[name] for name in ("state", "message", "flow_run", "over")}
                        self._orders[known.order] = replace(known, **told)
        code = process.wait()
        with self._lock:
            for name, one in self._orders.items():
                if not one.over and self._served_by[name] is process:
                    why = f"the process that starts runs ended (exit code {code}); the server's log says why"
                    self._orders[name] = replace(one, state="Lost", message=why, over=True)


def _told(line: str) -> dict[str, Any] | None:
    """What the dispatcher says in a line; None for one that is not its."""
    try:
        said = json.loads(line)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def cancel_run(index: Index, run_id: str) -> None:
    """Interrupts the process of a run that goes on here: what it had finished stays, the rest waits.

    Raises `NotFound` when no such run goes on and `UsageError` for one of another machine.
    """
    run = run_of(index, run_id)
    if run is None or run.state != "running":
        raise NotFound(f"no run {run_id!r} goes on")
    if run.host != os.uname().nodename:
        raise UsageError(f"the run goes on on {run.host}: cancel it there")
    if run.pid == os.getpid():
        raise UsageError("the run goes on in this server itself")
    if run.pid != index.lock.holder_pid():  # it was killed, and its number may be another process's by now
        raise NotFound(f"the process of the run {run_id} has ended: the next run takes up what it left")
    with suppress(ProcessLookupError):
        os.kill(run.pid, signal.SIGTERM)
