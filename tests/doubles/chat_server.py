"""A small real HTTP server on loopback that speaks the chat completions of OpenAI, well or badly."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Received:
    path: str
    authorization: str | None
    body: Any


@dataclass
class ChatServer:
    base_url: str
    received: list[Received] = field(default_factory=list)


@contextmanager
def serving(behave: Behaviour) -> Iterator[ChatServer]:
    """A server whose every POST is answered by `behave`, which writes status, headers and body."""
    chat = ChatServer("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = json.loads(self.rfile.read(length))
            chat.received.append(Received(self.path, self.headers["Authorization"], body))
            try:
                behave(self)
            except (BrokenPipeError, ConnectionResetError):  # the client had enough
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    chat.base_url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield chat
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def delta(content: str | None, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {} if content is None else {"content": content}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


def sse(*parts: bytes, pause_s: float = 0.0) -> Behaviour:
    """Streams the parts, then closes."""

    def behave(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        for part in parts:
            handler.wfile.write(part)
            handler.wfile.flush()
            time.sleep(pause_s)

    return behave


def answering(*pieces: str) -> Behaviour:
    """Streams a whole answer."""
    return sse(*(delta(piece) for piece in pieces), delta(None, "stop"), b"data: [DONE]\n\n")


def refusing(status: int, body: bytes = b"", **headers: str) -> Behaviour:
    def behave(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return behave
