"""`pincite serve` as its users start and end it."""

import signal
import socket
import time
from pathlib import Path

import httpx
import pytest

from tests.commands import Pincite
from tests.dashboard.conftest import reindex, serving


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(a folder of one document, its index)."""
    docs = tmp_path_factory.mktemp("small")
    (docs / "pump.txt").write_text("The pump is green.\n")
    index = tmp_path_factory.mktemp("of-small") / "index"
    reindex(index, docs)
    return docs, index


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_cleanly_when_told(small: tuple[Path, Path], sign: int) -> None:
    with serving(small[1]) as server:
        with server.client() as client:
            assert client.get("/status").json()["documents"]["indexed"] == 1
        assert server.end(sign) == (0, "")


def test_a_killed_server_is_started_again_and_serves_the_same(small: tuple[Path, Path]) -> None:
    body = {"query": "green", "mode": "bm25"}
    with serving(small[1]) as server, server.client() as client:
        before = client.post("/search", json=body).json()
        server.process.kill()
        with pytest.raises(httpx.TransportError):
            for _ in range(100):
                client.get("/healthz")
                time.sleep(0.05)
    with serving(small[1]) as server, server.client() as client:
        assert client.post("/search", json=body).json() == before


def test_a_port_that_is_taken_is_wrong_use(pincite_here: Pincite, small: tuple[Path, Path]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = pincite_here("serve", "--index", small[1], "--port", port)
    assert result.returncode == 2 and not result.stdout and "Traceback" not in result.stderr
    assert f"can't serve on 127.0.0.1 port {port}: Address already in use. Choose others" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--index", "nowhere"), "no index at nowhere"),
        (("--host", "0.0.0.0"), "set PINCITE_TOKEN"),
        (("--host", "192.0.2.7"), "set PINCITE_TOKEN"),
        (("--host", "no.such.host.invalid"), "set PINCITE_TOKEN"),
        (("--port", "70000"), "65535"),
    ],
)
def test_what_can_not_be_served_is_said(
    pincite_here: Pincite, small: tuple[Path, Path], arguments: tuple[str, ...], words: str
) -> None:
    given = arguments if "--index" in arguments else ("--index", str(small[1]), *arguments)
    result = pincite_here("serve", *given)
    assert result.returncode == 2 and words in result.stderr
