"""The page of a passage in a real browser: hostile names and text stay text."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.dashboard.conftest import HOSTILE_NAME, HOSTILE_READ, Ids, Server


@pytest.fixture
def page(browser: Browser) -> Iterator[tuple[Any, list[str]]]:
    """(a page, what it asked of hosts and what went wrong on it)."""
    opened = browser.new_page(extra_http_headers={"Accept": "text/html"})
    seen: list[str] = []
    opened.on("request", lambda request: seen.append(request.url))
    opened.on("pageerror", lambda error: seen.append(f"error {error}"))
    opened.on("dialog", lambda dialog: seen.append(f"dialog {dialog.message}"))
    yield opened, seen
    opened.close()


def test_hostile_text_and_names_run_nothing_and_ask_no_host(
    server: Server, ids: Ids, page: tuple[Any, list[str]]
) -> None:
    opened, seen = page
    address = f"{server.url}/documents/{ids[HOSTILE_NAME]}/passage?start=6&end={len(HOSTILE_READ) - 1}"
    opened.goto(address)
    assert opened.title().startswith("<img src=x onerror=") and seen == [address]
    assert opened.locator("script, iframe, img, a").count() == 0
    marked = opened.locator("mark").inner_text()
    assert "<script>document.title='owned'</script>" in marked
    assert "\\u202e" in marked and "\\x07" in marked and "\u202e" not in marked
    assert opened.locator("h1").inner_text() == HOSTILE_NAME


def test_the_page_of_a_pdf_shows_its_image_under_the_marks(
    server: Server, ids: Ids, page: tuple[Any, list[str]]
) -> None:
    opened, seen = page
    opened.goto(f"{server.url}/documents/{ids['bulletin.pdf']}/passage?start=0&end=60")
    assert opened.evaluate("document.querySelector('figure img').naturalWidth") > 300
    box = opened.locator("polygon").first.bounding_box()
    frame = opened.locator("figure").bounding_box()
    assert frame["x"] <= box["x"] and box["y"] + box["height"] <= frame["y"] + frame["height"]
    assert all(url.startswith((server.url, "data:")) for url in seen)


def test_a_page_of_another_site_can_neither_frame_nor_read_it(
    server: Server, ids: Ids, page: tuple[Any, list[str]]
) -> None:
    opened, _ = page
    opened.goto("about:blank")
    read = opened.evaluate(
        "url => fetch(url).then(answer => answer.text()).then(() => 'read', () => 'refused')",
        f"{server.url}/status",
    )
    assert read == "refused"
    asked = opened.evaluate(
        """url => fetch(url, {method: 'POST', body: '{"query": "pump"}'}).then(() => 'read', () => 'refused')""",
        f"{server.url}/search",
    )
    assert asked == "refused"
    address = f"{server.url}/documents/{ids['bulletin.pdf']}/passage?start=0&end=60"
    opened.set_content(f'<iframe src="{address}"></iframe>')
    opened.wait_for_timeout(500)
    assert not any(frame.locator("mark").count() for frame in opened.frames)
