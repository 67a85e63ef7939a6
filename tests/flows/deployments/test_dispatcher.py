"""Orders outlive a Prefect server that does not answer for a while."""

import json
import os
import queue
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import copy_context
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from prefect.states import Completed

from pincite.flows.deployments import dispatcher
from tests.doubles.relay import relaying


@flow
def nothing() -> None:
    """A flow whose run is deleted."""


def test_a_server_that_is_gone_for_a_while_loses_no_order(
    api: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(dispatcher, "LOOK_S", 0.05)
    told: list[dict[str, Any]] = []

    def wait_for(what: Callable[[], bool]) -> None:
        until = time.monotonic() + 120
        while not what():
            assert time.monotonic() < until, told
            told.extend(map(json.loads, capsys.readouterr().out.splitlines()))
            time.sleep(0.05)

    to = urlsplit(api).port
    assert to is not None
    server, port = relaying(to)
    relayed = {PREFECT_API_URL: f"http://127.0.0.1:{port}/api", PREFECT_CLIENT_MAX_RETRIES: 0}
    orders: queue.Queue[dispatcher.Order | None] = queue.Queue()
    try:
        with (
            get_client(sync_client=True) as direct,
            temporary_settings(relayed),
            get_client(sync_client=True) as client,
            ThreadPoolExecutor(1) as threads,
            ExitStack() as ended,
        ):
            serving_runs = dispatcher._Dispatcher(str(tmp_path), client)
            serving_runs._open["one"] = direct.create_flow_run(nothing).id
            ended.callback(orders.put, None)
            serving = threads.submit(copy_context().run, serving_runs.serve, orders)
            wait_for(lambda: any(not one["over"] for one in told))
            os.kill(server.pid, signal.SIGKILL)
            server.wait()
            wait_for(lambda: "does not tell how runs stand" in caplog.text)
            direct.set_flow_run_state(serving_runs._open["one"], Completed(message="done"), force=True)
            server, _ = relaying(to, port)
            wait_for(lambda: any(one["over"] for one in told))
            orders.put(None)
            serving.result(60)
    finally:
        server.kill()
        server.wait()
    assert [(one["order"], one["state"]) for one in told if one["over"]] == [("one", "Completed")]


def test_a_run_that_is_deleted_on_the_server_is_lost_and_the_others_go_on(
    api: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with get_client(sync_client=True) as client:
        serving_runs = dispatcher._Dispatcher(str(tmp_path), client)
        deleted, kept = (client.create_flow_run(nothing).id for _ in range(2))
        client.delete_flow_run(deleted)
        serving_runs._open |= {"deleted": deleted, "kept": kept}
        serving_runs._cancel("deleted")
        serving_runs._look()
    said = {one["order"]: one for one in map(json.loads, capsys.readouterr().out.splitlines())}
    assert (said["deleted"]["state"], said["deleted"]["over"]) == ("Lost", True)
    assert not said["kept"]["over"] and set(serving_runs._open) == {"kept"}
