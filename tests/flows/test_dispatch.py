"""Orders outlive a Prefect server that does not answer for a while."""

import queue
import threading
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID, uuid4

import httpx
import prefect.client.orchestration
import pytest

from flows import dispatch


class Restarting:
    """A server that does not answer when it is asked first."""

    def __init__(self) -> None:
        self.asked = 0

    def read_flow_run(self, _flow_run: UUID) -> SimpleNamespace:
        self.asked += 1
        if self.asked == 1:
            raise httpx.ConnectError("refused")
        state = SimpleNamespace(name="Completed", message="done", is_final=lambda: True)
        return SimpleNamespace(state=state)


def test_a_server_that_does_not_answer_once_loses_no_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = Restarting()
    monkeypatch.setattr(prefect.client.orchestration, "get_client", lambda **_: client)
    monkeypatch.setattr(dispatch, "LOOK_S", 0.01)
    dispatcher = dispatch._Dispatcher(tmp_path)
    dispatcher._open["one"] = uuid4()
    orders: queue.Queue[dispatch.Order | None] = queue.Queue()
    end = threading.Timer(0.3, orders.put, [None])
    end.start()
    dispatcher.serve(orders)
    end.join()
    assert '"order": "one"' in capsys.readouterr().out
    assert client.asked == 2
