"""Who may ask, from where, and how much."""

import http.client
import socket
import time
from pathlib import Path

import httpx
import pytest

from pincite.dashboard.http.access import access_of
from pincite.dashboard.http.bodies import BodyLimits
from pincite.dashboard.http.guard import HEADERS
from pincite.schemas.errors import UsageError
from tests.dashboard.conftest import Server, serving

TOKEN = "a-token-of-the-tests-0123456789"


def raw(
    server: Server, method: str, path: str, headers: dict[str, str], body: bytes = b""
) -> tuple[int, str]:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("127.0.0.1:80", 200),
        ("LOCALHOST:1234", 200),
        ("[::1]:1234", 200),
        ("[::1]", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example:80", 421),
        ("8.8.8.8", 421),
        ("", 421),
        ("[", 421),
    ],
)
def test_a_name_that_is_not_ours_is_refused(server: Server, host: str, status: int) -> None:
    for path in ("/status", "/healthz"):
        told, text = raw(server, "GET", path, {"Host": host})
        assert told == status and (status == 200 or "urn:pincite:misdirected-request" in text)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://[", "https://a@b"]
)
def test_a_page_of_another_site_can_not_ask(client: httpx.Client, origin: str) -> None:
    body = {"query": "pump", "mode": "bm25"}
    told = client.post("/search", json=body, headers={"Origin": origin})
    assert told.status_code == 403 and "access-control-allow-origin" not in told.headers
    assert client.post("/mcp", json={}, headers={"Origin": origin}).status_code == 403
    own = str(client.base_url).rstrip("/")
    assert client.post("/search", json=body, headers={"Origin": own}).status_code == 200
    asked = client.options(
        "/search", headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    )
    assert "access-control-allow-origin" not in asked.headers


def test_a_form_of_another_site_can_not_ask_either(client: httpx.Client) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        told = client.post("/search", content=b'{"query": "pump"}', headers={"Content-Type": kind})
        assert told.status_code == 422


def test_every_response_forbids_scripts_and_sniffing(client: httpx.Client) -> None:
    for path in ("/status", "/nothing", "/documents/nothing", "/openapi.json"):
        headers = client.get(path).headers
        assert all(headers[name] == value for name, value in HEADERS.items())


def test_a_large_or_endless_body_is_refused(client: httpx.Client) -> None:
    assert client.post("/search", content=b"x" * 300_000).status_code == 413

    def endless() -> object:
        while True:
            yield b"x" * 10_000

    try:
        told = client.post("/search", content=endless())  # type: ignore[arg-type]
    except httpx.WriteError:  # the server hung up while we were still sending
        return
    assert told.status_code == 413


def test_a_body_that_does_not_come_is_not_waited_for(server: Server) -> None:
    assert BodyLimits().timeout_s <= 15
    host, port = server.url.removeprefix("http://").split(":")
    began = time.monotonic()
    with socket.create_connection((host, int(port)), timeout=40) as connection:
        connection.sendall(b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{")
        assert b" 408 " in connection.recv(4096)
    assert time.monotonic() - began < 30


def test_with_a_token_nothing_but_health_is_told_without_it(index: Path) -> None:
    with serving(index, PINCITE_TOKEN=TOKEN) as server, server.client() as client:
        assert client.get("/healthz").status_code == 200
        for given in ("", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer ключ".encode(), TOKEN):
            sent = [(b"Authorization", given.encode() if isinstance(given, str) else given)]
            told = client.get("/status", headers=sent if given else [])
            assert told.status_code == 401 and told.headers["www-authenticate"] == "Bearer"
            assert TOKEN not in told.text
        for path in ("/documents", "/openapi.json", "/mcp", "/nothing"):
            assert client.get(path).status_code == 401
        assert client.get("/status", headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200
        _, said = server.end()
        assert TOKEN not in said


def test_another_address_than_loopback_needs_a_token() -> None:
    for host in ("0.0.0.0", "::", "192.0.2.7", "example.org"):
        with pytest.raises(UsageError, match="set PINCITE_TOKEN"):
            access_of(host, "")
        assert access_of(host, TOKEN).token == TOKEN
    for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost"):
        assert not access_of(host, "").anywhere
    for token in ("short", "ключ" * 10, "with a space in the middle", "line\n" * 9):
        with pytest.raises(UsageError, match="PINCITE_TOKEN"):
            access_of("127.0.0.1", token)
    assert TOKEN not in repr(access_of("::", TOKEN))


def test_on_any_address_names_must_be_ours_and_numbers_may_be_any(index: Path) -> None:
    with serving(index, "--host", "0.0.0.0", "--name", "pincite.example", PINCITE_TOKEN=TOKEN) as server:
        for host, status in (("10.1.2.3:80", 200), ("pincite.example", 200), ("evil.example", 421)):
            assert raw(server, "GET", "/healthz", {"Host": host})[0] == status
