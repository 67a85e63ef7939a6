"""Sessions, roles, CSRF tokens and rates, over HTTP."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pincite.dashboard.http.session_store import SessionStore
from pincite.dashboard.http.sessions import LASTS_S, Rate, Sessions
from tests.dashboard.conftest import Server, serving

OPERATOR, VIEWER = "operator-of-the-tests-0123", "viewer-of-the-tests-01234567"
TOKENS = {"PINCITE_TOKEN": OPERATOR, "PINCITE_VIEWER_TOKEN": VIEWER}
HTML = {"Accept": "text/html"}
API_WRITES = (
    ("POST", "/runs"),
    ("POST", "/runs/any/cancel"),
    ("POST", "/orders/any/cancel"),
    ("POST", "/retry"),
    ("POST", "/documents"),
    ("PUT", "/documents/any/file"),
)


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
            for path in ("/overview", "/runs", "/orders", "/documents", "/evaluations", "/threshold"):
                assert program.get(path, headers=own).status_code == 200, path
            for method, path in API_WRITES:
                told = program.request(method, path, headers=own)
                assert told.status_code == 403 and "may only read" in told.json()["detail"], path


def test_a_write_under_a_cookie_needs_the_token_of_its_session(closed: Server) -> None:
    with closed.client() as client, closed.client() as other:
        sign_in(client, OPERATOR)
        sign_in(other, OPERATOR)
        foreign = csrf_of(other.get("/", headers=HTML).text)
        for headers in ({}, {"X-CSRF-Token": "x"}, {"X-CSRF-Token": foreign}):
            for method, path in (("POST", "/ui/runs"), ("POST", "/ui/logout"), *API_WRITES):
                assert client.request(method, path, headers=headers).status_code == 403, path
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


def test_a_session_that_was_signed_out_is_over_for_every_copy_of_its_cookie(
    index: Path, closed: Server
) -> None:
    with closed.client() as client:
        sign_in(client, OPERATOR)
        copied = {"Cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items())}
        with serving(index, **TOKENS) as other, closed.client() as thief, other.client() as elsewhere:
            assert thief.get("/status", headers=copied).status_code == 200
            assert elsewhere.get("/status", headers=copied).status_code == 200
            own = csrf_of(client.get("/", headers=HTML).text)
            assert client.post("/ui/logout", data={"csrf": own}).status_code == 303
            assert thief.get("/status", headers=copied).status_code == 401
            assert elsewhere.get("/status", headers=copied).status_code == 401


def test_no_index_knows_the_sessions_of_another(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = (Sessions({}, SessionStore(tmp_path / name)) for name in ("one", "two"))
    _, cookie = one.begin("anonymous", 1_000)
    assert one.read(cookie, 1_000) is not None and two.read(cookie, 1_000) is None
    assert one.cookie != two.cookie, "a browser keeps both, though they differ by their port alone"
    again = Sessions({}, SessionStore(tmp_path / "one"))
    assert again.read(cookie, 1_000) is not None, "a server that was started again knows its sessions"
    for path, mode in (
        (tmp_path / "one" / "sessions", 0o700),
        (tmp_path / "one" / "sessions" / "key", 0o600),
    ):
        assert path.stat().st_mode & 0o777 == mode


def test_where_the_index_can_not_be_written_sessions_last_as_long_as_the_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    no_folder = tmp_path / "file"
    no_folder.write_text("")
    sessions = Sessions({}, SessionStore(no_folder))
    assert "sessions end with this server" in caplog.text
    now = time.time()
    session, cookie = sessions.begin("anonymous", now)
    assert sessions.read(cookie, now) == session
    assert Sessions({}, SessionStore(no_folder)).read(cookie, now) is None
    sessions.end(session)
    assert sessions.read(cookie, now) is None


@pytest.mark.parametrize("damaged", [b"", b"half a key"])
def test_a_damaged_key_is_told_with_its_file_and_remedy(
    damaged: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = tmp_path / "sessions" / "key"
    _, cookie = Sessions({}, SessionStore(tmp_path)).begin("anonymous", 1_000)
    assert caplog.text == ""
    key.write_bytes(damaged)
    sessions = Sessions({}, SessionStore(tmp_path))
    assert str(key) in caplog.text and "Delete the file" in caplog.text
    _, another = sessions.begin("anonymous", 1_000)
    assert sessions.read(cookie, 1_000) is None and sessions.read(another, 1_000)
    key.unlink()
    caplog.clear()
    _, mended = Sessions({}, SessionStore(tmp_path)).begin("anonymous", 1_000)
    assert Sessions({}, SessionStore(tmp_path)).read(mended, 1_000) and caplog.text == ""


def test_ended_sessions_are_forgotten_when_their_time_is_over(tmp_path: Path) -> None:
    sessions = Sessions({}, SessionStore(tmp_path))
    for began in (time.time() - 2 * LASTS_S, time.time()):
        session, cookie = sessions.begin("anonymous", began)
        assert sessions.read(cookie, began) == session
        sessions.end(session)
    assert len(list((tmp_path / "sessions").glob("ended-*"))) == 1


def test_wrong_tokens_are_limited_and_the_right_one_is_not(closed: Server) -> None:
    with closed.client() as client:
        for _ in range(30):
            right = client.get("/status", headers={"Authorization": f"Bearer {OPERATOR}"})
            assert right.status_code == 200
        told = [
            client.get("/status", headers={"Authorization": f"Bearer wrong-{number}"}) for number in range(25)
        ]
        assert [one.status_code for one in told] == [401] * 20 + [429] * 5
        assert 1 <= int(told[-1].headers["retry-after"]) <= 61
        assert told[-1].headers["content-type"] == "application/problem+json"
        assert client.get("/status").status_code == 401, "who sends no token guesses none"
        right = client.get("/status", headers={"Authorization": f"Bearer {OPERATOR}"})
        assert right.status_code == 200


def test_a_stream_of_events_ends_with_its_session(closed: Server) -> None:
    with closed.client() as client, closed.client() as other:
        sign_in(client, OPERATOR)
        own = csrf_of(client.get("/", headers=HTML).text)
        sign_in(other, VIEWER)
        with client.stream("GET", "/ui/events") as events, other.stream("GET", "/ui/events") as others:
            lines, kept = events.iter_lines(), others.iter_lines()
            assert next(lines) == next(kept) == "event: live"
            with closed.client() as again:
                again.cookies.update(client.cookies)
                assert again.post("/ui/logout", data={"csrf": own}).status_code == 303
            assert list(lines)[-3:-1] == ["event: over", "data: signed out"]
            assert any(line == "event: live" for line in kept), "the session of another goes on"


def test_a_cookie_that_was_changed_or_is_old_is_none(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    sessions = Sessions({"operator": OPERATOR, "viewer": VIEWER}, store)
    began, cookie = sessions.begin("viewer", 1_000)
    session = sessions.read(cookie, 1_000)
    assert session == began and session.role == "viewer"
    assert sessions.read(cookie, 1_000 + LASTS_S + 1) is None
    assert sessions.read(cookie.replace("viewer", "operator"), 1_000) is None
    assert Sessions({"operator": OPERATOR}, store).read(cookie, 1_000) is None
    for strange in ("", ".", "....", "operator.9999999999.n.", "viewer.x.y." + "0" * 64, "ключ.1.2.3"):
        assert sessions.read(strange, 1_000) is None
    assert sessions.role_of(OPERATOR) == "operator" and sessions.role_of(VIEWER) == "viewer"
    assert sessions.role_of("") is None and Sessions({}, store).role_of("") is None


def test_a_rate_forgets_what_is_past() -> None:
    rate, now = Rate(2, 10), time.monotonic()
    assert [rate.wait_s("a", now), rate.wait_s("a", now + 1), rate.wait_s("b", now)] == [0, 0, 0]
    assert rate.wait_s("a", now + 2) == pytest.approx(8)
    assert rate.wait_s("a", now + 10.1) == 0


def test_one_network_of_ipv6_is_one_client() -> None:
    rate, now = Rate(1, 10), time.monotonic()
    assert rate.wait_s("2001:db8::1", now) == 0
    assert rate.wait_s("2001:db8::ffff:2", now) > 0
    assert rate.wait_s("2001:db8:0:1::1", now) == 0
