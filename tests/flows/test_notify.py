"""A webhook that is told of failures, by a real HTTP server, and one that is no help."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from pincite.flows.notify import failure_report, tell
from pincite.schemas.records import Collection, CollectionOutcome, Counts
from pincite.schemas.settings import Notify
from pincite.storage.snapshots.index import Index
from tests.storage.building import PERMANENT, POLICY, fill, reindex


class Receiver(HTTPServer):
    def __init__(self, status: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status = status
        self.bodies: list[dict[str, object]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hooks/secret"


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def receiver(request: pytest.FixtureRequest) -> Iterator[Receiver]:
    with Receiver(getattr(request, "param", 200)) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        yield server
        server.shutdown()
        serving.join()


@pytest.fixture
def outcome(tmp_path: Path) -> CollectionOutcome:
    source = fill(tmp_path / "source", {"good.txt": "words", "bad.txt": PERMANENT})
    assert reindex(tmp_path / "index", source) == Counts(2, indexed=1, failed=1)
    return CollectionOutcome(Collection("source", str(source)), Counts(2, 1, 1), 1.0, idle=False)


def test_a_failure_is_told_once_with_its_reason(
    receiver: Receiver, outcome: CollectionOutcome, tmp_path: Path
) -> None:
    with Index.open(tmp_path / "index") as opened:
        report = failure_report(opened, [outcome], 0.0)
        assert report is not None
        assert tell(Notify(receiver.url), report) == ""
        (body,) = receiver.bodies
        assert body["failed"] == 1 and "bad.txt" in str(body["text"])
        assert [(one["document"], one["kind"], one["reason"]) for one in body["documents"]] == [  # type: ignore[attr-defined]
            ("bad.txt", "error", PERMANENT)
        ]
        later = time.time()
        reindex(tmp_path / "index", tmp_path / "source", POLICY)
        assert failure_report(opened, [outcome], later) is None, "it was not tried again"
        gone = CollectionOutcome(outcome.collection, Counts(), 1.0, idle=True, error="no such folder")
        report = failure_report(opened, [gone], later)
        assert report is not None and report["broken"] == [
            {"collection": "source", "error": "no such folder"}
        ]


@pytest.mark.parametrize("receiver", [500], indirect=True)
def test_a_webhook_that_refuses_is_a_warning_without_its_secret(receiver: Receiver) -> None:
    warning = tell(Notify(receiver.url), {"text": "x"})
    assert "500" in warning and "secret" not in warning and "could not be told to http://127.0.0.1" in warning


def test_a_webhook_that_is_not_there_or_never_answers_takes_no_longer_than_its_limit() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        began = time.monotonic()
        assert "failures could not be told" in tell(Notify(url, timeout_s=0.3), {"text": "x"})
        assert time.monotonic() - began < 60
    assert "refused" in tell(Notify(url, timeout_s=5), {"text": "x"})


def test_what_answers_without_http_is_a_warning_without_the_secrets() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def babble() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"who is there?\n\n")

        babbling = threading.Thread(target=babble)
        babbling.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/hooks/secret"
        assert "no answer of a web server (BadStatusLine)" in tell(Notify(url), {"text": "x"})
        babbling.join()
    warning = tell(Notify(url.replace("127.", "user:secret@127.")), {"text": "x"})
    assert "secret" not in warning and "could not be told to http://127.0.0.1" in warning


def test_without_a_url_nothing_is_told() -> None:
    assert tell(Notify(), {"text": "x"}) == ""
