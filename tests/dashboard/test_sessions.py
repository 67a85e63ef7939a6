"""Sessions, roles, CSRF tokens and rates, over HTTP."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dashboard.sessions import LASTS_S, Rate, Sessions
from tests.dashboard.conftest import Server, serving

OPERATOR, VIEWER = "operator-of-the-tests-0123", "viewer-of-the-tests-01234567"
TOKENS = {"PINCITE_TOKEN": OPERATOR, "PINCITE_VIEWER_TOKEN": VIEWER}
HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def closed(index: Path) -> Iterator[Server]:
    """A server that asks for tokens."""
    with serving(index, **TOKENS) as running:
        yield running


def csrf_of(html: str) -> str:
    found = re.search(r'data-csrf="(\w+)"', html)
    assert found is not None
    return found.group(1)


def sign_in(client: httpx.Client, token: str) -> httpx.Response:
    csrf = csrf_of(client.get("/ui/login", headers=HTML).text)
    return client.post(
        "/ui/login", data={"token": token, "csrf": csrf, "next": "/ui/documents"}, headers=HTML
    )


def test_a_page_asks_who_it_is_and_leads_back(closed: Server) -> None:
    with closed.client() as client:
        told = client.get("/ui/documents?state=failed", headers=HTML)
        assert told.status_code == 303
        assert told.headers["location"] == "/ui/login?next=%2Fui%2Fdocuments%3Fstate%3Dfailed"
        assert client.get("/status").status_code == 401
        assert client.get("/ui/login?next=//evil.example", headers=HTML).text.count("evil") == 0
        wrong = sign_in(client, OPERATOR + "x")
        assert wrong.status_code == 401 and "no token of this server" in wrong.text
        assert client.get("/", headers=HTML).status_code == 303
        told = sign_in(client, OPERATOR)
        assert told.status_code == 303 and told.headers["location"] == "/ui/documents"
        cookie = told.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and OPERATOR not in cookie
        assert client.get("/", headers=HTML).status_code == 200
        assert client.get("/status").status_code == 200


def test_a_viewer_reads_and_changes_nothing(closed: Server) -> None:
    with closed.client() as client:
        sign_in(client, VIEWER)
        html = client.get("/ui/documents", headers=HTML).text
        assert "Retry" not in html and "Upload" not in html
        token = {"X-CSRF-Token": csrf_of(html)}
        for path in ("/ui/retry", "/ui/runs", "/ui/runs/cancel"):
            told = client.post(path, headers=token, data={"every": "yes"})
            assert told.status_code == 403 and "may only read" in told.json()["detail"]
        told = client.post("/ui/upload", headers=token, files={"file": ("a.txt", b"text")})
        assert told.status_code == 403
        assert (
            client.post("/search", headers=token, json={"query": "pump", "mode": "bm25"}).status_code == 200
        )
        own = {"Authorization": f"Bearer {VIEWER}"}
        with closed.client() as program:
            assert (
                program.post("/search", headers=own, json={"query": "seal", "mode": "bm25"}).status_code
                == 200
            )
            assert program.post("/ui/runs", headers=own).status_code == 403


def test_a_write_under_a_cookie_needs_the_token_of_its_session(closed: Server) -> None:
    with closed.client() as client, closed.client() as other:
        sign_in(client, OPERATOR)
        sign_in(other, OPERATOR)
        foreign = csrf_of(other.get("/", headers=HTML).text)
        for headers in ({}, {"X-CSRF-Token": "x"}, {"X-CSRF-Token": foreign}):
            for path in ("/ui/runs", "/ui/logout"):
                assert client.post(path, headers=headers).status_code == 403
            told = client.post("/search", headers=headers, json={"query": "pump", "mode": "bm25"})
            assert told.status_code == 403
            upload = client.post("/ui/upload", headers=headers, files={"file": ("a.txt", b"text")})
            assert upload.status_code == 403
        own = csrf_of(client.get("/", headers=HTML).text)
        assert client.post("/ui/logout", data={"csrf": own}).status_code == 303
        assert client.get("/", headers=HTML).status_code == 303


def test_a_page_that_was_open_over_a_restart_still_writes(index: Path, closed: Server) -> None:
    with closed.client() as client, serving(index, **TOKENS) as again:
        sign_in(client, OPERATOR)
        token = {"X-CSRF-Token": csrf_of(client.get("/", headers=HTML).text)}
        cookies = dict(client.cookies)
        with httpx.Client(base_url=again.url, trust_env=False, cookies=cookies) as later:
            told = later.post("/ui/runs/cancel", headers=token, data={"run": "none"})
            assert told.status_code == 404 and "no run" in told.json()["detail"]


def test_signing_in_is_slowed_down(index: Path) -> None:
    with serving(index, **TOKENS) as server, server.client() as client:
        csrf = csrf_of(client.get("/ui/login", headers=HTML).text)
        tried = [
            client.post("/ui/login", data={"token": f"wrong-{n}", "csrf": csrf}, headers=HTML)
            for n in range(12)
        ]
        assert [one.status_code for one in tried] == [401] * 10 + [429] * 2
        assert int(tried[-1].headers["retry-after"]) <= 61
        assert client.get("/status", headers={"Authorization": f"Bearer {OPERATOR}"}).status_code == 200


def test_without_a_token_a_write_of_a_page_needs_its_session_too(server: Server) -> None:
    with server.client() as client:
        assert client.post("/ui/runs/cancel", data={"run": "x"}).status_code == 403
        token = {"X-CSRF-Token": csrf_of(client.get("/", headers=HTML).text)}
        assert client.post("/ui/runs/cancel", data={"run": "x"}, headers=token).status_code == 404
        with server.client() as other:
            assert other.post("/ui/runs/cancel", data={"run": "x"}, headers=token).status_code == 403
        assert client.post("/search", json={"query": "pump", "mode": "bm25"}).status_code == 200


def test_a_cookie_that_was_changed_or_is_old_is_none() -> None:
    sessions = Sessions({"operator": OPERATOR, "viewer": VIEWER})
    cookie = sessions.begin("viewer", 1_000)
    session = sessions.read(cookie, 1_000)
    assert session is not None and session.role == "viewer"
    assert sessions.read(cookie, 1_000 + LASTS_S + 1) is None
    assert sessions.read(cookie.replace("viewer", "operator"), 1_000) is None
    assert Sessions({"operator": OPERATOR}).read(cookie, 1_000) is None
    for strange in ("", ".", "....", "operator.9999999999.n.", "viewer.x.y." + "0" * 64, "ключ.1.2.3"):
        assert sessions.read(strange, 1_000) is None
    assert sessions.role_of(OPERATOR) == "operator" and sessions.role_of(VIEWER) == "viewer"
    assert sessions.role_of("") is None and Sessions({}).role_of("") is None


def test_a_rate_forgets_what_is_past() -> None:
    rate, now = Rate(2, 10), time.monotonic()
    assert [rate.wait_s("a", now), rate.wait_s("a", now + 1), rate.wait_s("b", now)] == [0, 0, 0]
    assert rate.wait_s("a", now + 2) == pytest.approx(8)
    assert rate.wait_s("a", now + 10.1) == 0
