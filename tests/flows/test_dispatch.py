"""Orders outlive a Prefect server that does not answer for a while."""

import json
import queue
import threading
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID, uuid4

import httpx
import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.states import Completed

from flows import dispatch


class Restarting:
    """A server that does not answer when it is asked first."""

    def __init__(self) -> None:
        self.asked = 0

    def read_flow_run(self, _flow_run: UUID) -> SimpleNamespace:
        self.asked += 1
        if self.asked == 1:
            raise httpx.ConnectError("refused")
        return SimpleNamespace(state=Completed(message="done"))


def test_a_server_that_does_not_answer_once_loses_no_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = Restarting()
    monkeypatch.setattr(dispatch, "LOOK_S", 0.01)
    dispatcher = dispatch._Dispatcher(tmp_path, client)  # type: ignore[arg-type]  # what is asked of one
    dispatcher._open["one"] = uuid4()
    orders: queue.Queue[dispatch.Order | None] = queue.Queue()
    end = threading.Timer(0.3, orders.put, [None])
    end.start()
    dispatcher.serve(orders)
    end.join()
    assert '"order": "one"' in capsys.readouterr().out
    assert client.asked == 2


@flow
def nothing() -> None:
    """A flow whose run is deleted."""


def test_a_run_that_is_deleted_on_the_server_is_lost_and_the_others_go_on(
    api: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with get_client(sync_client=True) as client:
        dispatcher = dispatch._Dispatcher(tmp_path, client)
        deleted, kept = (client.create_flow_run(nothing).id for _ in range(2))
        client.delete_flow_run(deleted)
        dispatcher._open |= {"deleted": deleted, "kept": kept}
        dispatcher._cancel("deleted")
        dispatcher._look()
    said = {one["order"]: one for one in map(json.loads, capsys.readouterr().out.splitlines())}
    assert (said["deleted"]["state"], said["deleted"]["over"]) == ("Lost", True)
    assert not said["kept"]["over"] and set(dispatcher._open) == {"kept"}
