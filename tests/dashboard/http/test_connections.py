"""Who holds connections and says nothing keeps nobody out."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest
import uvicorn

from pincite.dashboard.http.connections import Connections, protocol


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    if scope["path"] == "/slow":
        await asyncio.sleep(1.0)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def serving(connections: Connections) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        config = uvicorn.Config(app, http=protocol(connections), lifespan="off", log_level="error")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join(30)


def ended(held: socket.socket) -> bool:
    held.settimeout(30)
    try:
        return held.recv(1) == b""
    except ConnectionError:
        return True


def test_an_address_that_holds_too_many_loses_the_oldest_and_is_answered() -> None:
    with serving(Connections(most_of_one=5)) as port, ExitStack() as held:
        idle = [held.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(30)]
        assert httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=30).text == "ok"
        assert all(ended(one) for one in idle[:20])


@pytest.mark.parametrize(
    "said", [b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"]
)
def test_who_sends_no_whole_request_is_hung_up_on(said: bytes) -> None:
    with serving(Connections(wait_s=0.5)) as port, socket.create_connection(("127.0.0.1", port)) as one:
        one.sendall(said)
        one.settimeout(30)
        answer = b""
        while data := one.recv(4096):
            answer += data
        assert answer.endswith(b"ok") == said.endswith(b"\r\n\r\n")


def test_a_request_at_work_is_never_hung_up_on() -> None:
    with serving(Connections(wait_s=0.1, most_of_one=2)) as port, ExitStack() as held:
        answers: list[str] = []

        def ask() -> None:
            answers.append(httpx.get(f"http://127.0.0.1:{port}/slow", timeout=30).text)

        asking = threading.Thread(target=ask)
        asking.start()
        time.sleep(0.2)
        for _ in range(10):
            held.enter_context(socket.create_connection(("127.0.0.1", port)))
        asking.join(30)
        assert answers == ["ok"]
