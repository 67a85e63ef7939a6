"""The pages in a real browser: what they show, that they ask no other host, and that everyone can use them."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from pincite.dashboard.state.serving import Serving
from pincite.dashboard.state.thread_pool import Work
from pincite.schemas.settings import Settings
from pincite.storage.snapshots.index import Index
from tests.dashboard.conftest import HOSTILE_NAME, HOSTILE_READ, Ids, Server, Watched, serving, space, watched
from tests.doubles.chat_server import answering
from tests.doubles.chat_server import serving as chatting

AXE = Path(__file__).with_name("axe") / "axe.min.js"
SERIOUS = {"serious", "critical"}
PAGES = (
    "/",
    "/ui/documents",
    "/ui/documents?state=failed&order=attempts&down=yes",
    "/ui/documents/{bulletin.pdf}",
    "/ui/documents/{nothing.txt}",
    "/ui/documents/{bulletin.pdf}/passage?start=0&end=60",
    "/ui/search",
    "/ui/search?q=pump&mode=bm25",
    "/ui/evaluation",
    "/ui/migration",
    "/ui/documents/nothing",
)


@pytest.fixture
def seen(browser: Browser) -> Iterator[Watched]:
    with watched(browser) as opened:
        yield opened


def address(server: Server, path: str, ids: Ids) -> str:
    for name, document_id in ids.items():
        path = path.replace("{" + name + "}", document_id)
    return server.url + path


def findings(seen: Watched) -> list[str]:
    """What axe finds on the page as it stands, by rule and place."""
    seen.page.evaluate(AXE.read_text(encoding="utf-8"))
    found = seen.page.evaluate("axe.run().then(result => JSON.stringify(result.violations))")
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in json.loads(found)
        if one["impact"] in SERIOUS
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible_and_asks_no_other_host(
    server: Server, ids: Ids, browser: Browser, scheme: str
) -> None:
    with watched(browser, color_scheme=scheme) as seen:
        for path in PAGES:
            seen.page.goto(address(server, path, ids))
            seen.page.wait_for_function("typeof htmx === 'object'")
            assert findings(seen) == [], path
        assert all(url.startswith((server.url, "data:")) for url in seen.asked)
        # The last page is one that is not there, which a browser tells on its console.
        assert [fault for fault in seen.faults if "404" not in fault] == []


def test_no_page_is_wider_than_a_phone(server: Server, ids: Ids, browser: Browser) -> None:
    with watched(browser, viewport={"width": 360, "height": 740}) as seen:
        for path in PAGES:
            seen.page.goto(address(server, path, ids))
            wide = seen.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= 360, path


def test_a_page_is_used_by_keyboard_alone(server: Server, seen: Watched) -> None:
    page = seen.page
    page.goto(f"{server.url}/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.goto(f"{server.url}/ui/search")
    expect(page.locator("[name=q]")).to_be_focused()
    page.keyboard.type("leakage")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=leakage**")
    page.locator("summary", has_text="Why this rank").first.focus()
    page.keyboard.press("Enter")
    assert "dense ranking" in page.locator("details[open]").last.inner_text()


def test_the_counts_of_the_overview_are_those_of_the_ledger(
    server: Server, client: httpx.Client, seen: Watched
) -> None:
    told = client.get("/status").json()
    seen.page.goto(f"{server.url}/")
    figures = dict(
        zip(
            seen.page.locator(".figures dt").all_inner_texts(),
            seen.page.locator(".figures dd").all_inner_texts(),
            strict=True,
        )
    )
    for state in ("indexed", "failed", "pending", "running", "stale"):
        assert int(figures[state]) == told["documents"][state]
    states = ("indexed", "failed", "pending", "running")
    assert int(figures["documents"]) == sum(int(figures[state]) for state in states)
    assert int(figures["chunks"]) == told["chunks"]
    assert "empty file" in seen.page.locator(".reasons").inner_text()


def test_pages_are_drawn_with_the_model_of_the_index(tmp_path: Path) -> None:
    Index.create(tmp_path, replace(space(), model="other"), "/models/other").close()
    served = Serving.open(tmp_path, Settings(), None, Work(timeout_s=10.0))
    try:
        settings = served.in_time()
    finally:
        served.close()
    assert (settings.model, settings.limits.deadline_s) == ("/models/other", 8.0)


def test_a_threshold_of_0_is_taken_as_one(client: httpx.Client) -> None:
    told = client.get("/ui/search", params={"threshold": "0"}, headers={"Accept": "text/html"}).text
    assert 'name="threshold" min="0" max="1.2" step="0.005" value="0.000"' in told


def test_what_each_word_gives_is_the_score(client: httpx.Client) -> None:
    asked = {"q": "pump seal", "mode": "bm25", "k": "1"}
    told = client.get("/ui/search", params=asked, headers={"Accept": "text/html"}).text
    score = re.search(r"<dt>BM25</dt><dd>([\d.]+)</dd>", told)
    shares = re.findall(r"<code>(?:pump|seal)</code> ([\d.]+) ", told)
    assert score and len(shares) == 2
    assert sum(map(float, shares)) == pytest.approx(float(score[1]), abs=0.01)


def test_the_slider_says_what_a_threshold_would_refuse(server: Server, seen: Watched) -> None:
    page = seen.page
    page.goto(f"{server.url}/ui/search?q=mechanical+seal&k=6")
    distances = [
        float(one.get_attribute("data-distance") or "nan") for one in page.locator("[data-distance]").all()
    ]
    assert len(distances) == 6
    middle = sorted(distances)[3]
    for value in (0.0, middle, 1.2):
        page.locator("#threshold").evaluate(
            "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }", value
        )
        used = float(page.locator("#threshold").input_value())
        passed = min(4, sum(distance < used for distance in distances))
        assert page.locator(".verdict", has_text="passes").count() == passed
        told = page.locator("#cut").inner_text()
        assert told.startswith("NO ANSWER" if not passed else f"{passed} of these 6")


def test_a_hit_leads_to_its_place_with_the_words_marked(server: Server, seen: Watched) -> None:
    page = seen.page
    page.goto(f"{server.url}/ui/search?q=bulletin+impeller&mode=bm25&documents=bulletin.pdf")
    quote = page.locator(".quote").first.inner_text()
    assert page.locator(".quote mark").count() > 0
    page.locator(".hit h3 a").first.click()
    assert page.locator("#passage").inner_text().split() == quote.split()
    page.locator("svg.paper polygon.passage").first.wait_for(timeout=60_000)
    box, frame = (
        page.locator("polygon.passage").first.bounding_box(),
        page.locator("svg.paper").first.bounding_box(),
    )
    assert box and frame and frame["x"] <= box["x"] <= frame["x"] + frame["width"]


def test_a_document_shows_its_chunks_and_its_pages_with_what_was_found(
    server: Server, ids: Ids, seen: Watched
) -> None:
    page = seen.page
    page.goto(f"{server.url}/ui/documents/{ids['bulletin.pdf']}")
    assert page.locator(".text .c0").count() > 0
    page.locator("#p1 .text").scroll_into_view_if_needed()  # which is when its image is asked for
    page.locator("svg.paper polygon.block").first.wait_for(timeout=60_000)
    page.get_by_label("blocks").uncheck()
    assert not page.locator("polygon.block").first.is_visible()
    assert seen.faults == []


def test_hostile_names_and_texts_stay_text(server: Server, ids: Ids, seen: Watched) -> None:
    page = seen.page
    document_id = ids[HOSTILE_NAME]
    for path in (
        "/",
        "/ui/documents",
        f"/ui/documents/{document_id}",
        f"/ui/documents/{document_id}/passage?start=6&end={len(HOSTILE_READ) - 1}",
        "/ui/search?q=impeller+hostile&mode=bm25",
        "/ui/search?q=%3Cscript%3Edocument.title%3D%27owned%27%3C/script%3E&mode=bm25",
        "/ui/documents?words=%3Cimg%20src%3Dx%20onerror%3Ddocument.title%3D%27owned%27%3E",
        "/ui/login?next=javascript:document.title='owned'",
    ):
        page.goto(server.url + path)
        page.wait_for_function("typeof htmx === 'object'")
        assert page.title() != "owned" and page.locator("iframe, main script, main img").count() == 0
        assert "\u202e" not in page.content()
    assert all(url.startswith(server.url) for url in seen.asked) and seen.faults == []
    assert page.locator("[name=next]").input_value() == "/"


def test_a_script_that_came_into_a_page_would_not_run(server: Server, seen: Watched) -> None:
    seen.page.goto(f"{server.url}/")
    seen.page.evaluate(
        "html => { document.querySelector('main').innerHTML = html }",
        """<img src=x onerror="document.title='owned'"><a id=l href="javascript:document.title='owned'">x</a>""",
    )
    seen.page.locator("#l").click()
    seen.page.wait_for_timeout(300)
    assert seen.page.title() != "owned"
    assert any("Content Security Policy" in fault for fault in seen.faults)


def test_a_question_is_asked_on_the_page(index: Path, browser: Browser) -> None:
    with (
        chatting(answering("The seal is changed first [1].")) as chat,
        serving(index, PINCITE_ANSWER__BASE_URL=chat.base_url, PINCITE_ANSWER__MODEL="any") as server,
        watched(browser) as seen,
    ):
        page = seen.page
        page.goto(f"{server.url}/ui/search?q=mechanical+seal")
        page.locator("#threshold").fill("1.2")
        page.locator("#ask").click()
        page.locator("#answer-citations li.cited").first.wait_for(timeout=60_000)
        assert page.locator("#answer-words").inner_text() == "The seal is changed first [1]."
        page.locator("#threshold").fill("0")
        page.locator("#ask").click()
        page.get_by_text("NO ANSWER: nothing under cosine distance 0 for").wait_for()
        assert page.locator("#answer-citations li").count() == 0
        assert seen.faults == []


@pytest.mark.parametrize(
    "address", ["/ui/documents?state=lost", "/ui/documents?order=colour", "/ui/search?q=pump&mode=guess"]
)
def test_a_choice_that_there_is_not_is_refused_and_not_replaced(client: httpx.Client, address: str) -> None:
    answer = client.get(address, headers={"Accept": "text/html"})
    assert answer.status_code == 422
    assert "one of" in answer.text and address.rpartition("=")[2] in answer.text
