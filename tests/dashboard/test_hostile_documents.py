"""Documents that attack the browser of who reads them: in their names, titles, table cells and links."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from pincite.encoders.models import name_of, resolve_model
from pincite.schemas.settings import DEFAULT_MODEL
from pincite.tasks.inspection.inspect import InspectionOrder, inspect
from pincite.tasks.inspection.page import page_of
from tests.dashboard.conftest import SETTINGS, Server, Watched, reindex, serving, watched

RUN = "window.owned=1;alert('owned')"
SCRIPT = f"<script>{RUN}</script>"
IMAGE = f'<img src=x onerror="{RUN}">'
LINKS = (f"javascript:{RUN}", f"data:text/html,{SCRIPT}", "vbscript:msgbox(1)", f"JaVaScRiPt:{RUN}//")
NAME = "<svg onload=alert('owned')>\"'& {{7*7}} hx-get=x"
WATCH = """
window.violations = [];
document.addEventListener('securitypolicyviolation', event => window.violations.push(event.violatedDirective));
"""
STATE = """() => ({
  owned: window.owned === undefined ? null : window.owned,
  violations: window.violations,
  handlers: [...document.querySelectorAll('*')].flatMap(
    one => [...one.attributes].filter(at => at.name.startsWith('on')).map(at => at.name)),
  links: [...document.querySelectorAll('a, form, iframe, object, embed, svg *')].flatMap(
    one => ['href', 'src', 'action', 'xlink:href', 'formaction', 'data'].map(name => one.getAttribute(name)))
    .filter(to => to && /^[\\s\\x00-\\x20]*(javascript|vbscript|data:text)/i.test(to)),
  scripts: [...document.scripts].map(one => one.getAttribute('src')).filter(one => one !== null),
  inline: [...document.scripts].filter(one => !one.src).length,
})"""


def markdown(links: tuple[str, ...]) -> str:
    cells = "\n".join(f"| {IMAGE} {SCRIPT} | [hostile cell {n}]({link}) |" for n, link in enumerate(links))
    return (
        f"# {SCRIPT} hostile title\n\nThe hostile text {IMAGE} has links.\n\n"
        + "\n\n".join(f"[hostile link {n}](<{link}>)" for n, link in enumerate(links))
        + f"\n\n| Cell | Link |\n| --- | --- |\n{cells}\n"
    )


def html(links: tuple[str, ...]) -> str:
    def escape(text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")

    rows = "".join(
        f'<tr><td>{escape(IMAGE + SCRIPT)}</td><td><a href="{escape(link)}">hostile cell {n}</a></td></tr>'
        for n, link in enumerate(links)
    )
    return (
        f"<html><head><title>{escape(SCRIPT)} hostile title</title></head><body>{SCRIPT}<h1>{escape(SCRIPT)}</h1>"
        f"<p>The hostile text of a page {escape(IMAGE)}</p><table><tr><th>Cell</th><th>Link</th></tr>{rows}</table>"
        "</body></html>"
    )


def pdf(path: Path, links: tuple[str, ...]) -> None:
    """A table whose rows are links, under a title that is a script, opened with an action."""
    canvas = Canvas(str(path), pagesize=A4)
    canvas.setTitle(f"{SCRIPT} hostile title")
    canvas.setAuthor(IMAGE)
    canvas.setFont("Helvetica", 9)
    canvas.drawString(72, 780, f"The hostile text of a PDF {IMAGE} {SCRIPT}")
    for n, link in enumerate(links):
        top = 720 - 24 * n
        for left, width, text in ((72, 300, IMAGE + SCRIPT), (372, 150, f"hostile cell {n}")):
            canvas.rect(left, top - 8, width, 24)
            canvas.drawString(left + 4, top, text)
        canvas.linkURL(link, (372, top - 8, 522, top + 16), relative=0)
    canvas.bookmarkPage("here")
    canvas.addOutlineEntry(SCRIPT, "here")
    canvas.save()


@dataclass(frozen=True, slots=True)
class Hostile:
    server: Server
    folder: Path
    ids: dict[str, str]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    folder = tmp_path_factory.mktemp("hostile").resolve()
    docs, index = folder / NAME, folder / "index"  # which names the collection too
    docs.mkdir()
    (docs / f"{NAME}.md").write_text(markdown(LINKS), encoding="utf-8")
    (docs / "page.html").write_text(html(LINKS), encoding="utf-8")
    (docs / "sheet.csv").write_text(f'cell,link\n"{SCRIPT} hostile","{LINKS[0]}"\n', encoding="utf-8")
    (docs / f"{NAME}.txt").write_bytes(b"")  # which fails
    pdf(docs / "links.pdf", LINKS)
    reindex(index, docs)
    with serving(index) as server, server.client() as client:
        rows = client.get("/documents").json()["documents"]
        ids = {row["document"]: row["document_id"] for row in rows}
        assert [row["document"] for row in rows if row["state"] == "failed"] == [f"{NAME}.txt"]
        yield Hostile(server, docs, ids)


@pytest.fixture
def seen(browser: Browser) -> Iterator[Watched]:
    with watched(browser) as opened:
        opened.page.add_init_script(WATCH)
        yield opened


def nothing_ran(seen: Watched, own: str) -> None:
    state = seen.page.evaluate(STATE)
    assert all(script.startswith("/static/") for script in state.pop("scripts"))
    assert state == {"owned": None, "violations": [], "handlers": [], "links": [], "inline": 0}
    assert seen.faults == []
    assert all(url.startswith((own, "data:image/")) for url in seen.asked), seen.asked


def addresses(hostile: Hostile, document: str, length: int) -> tuple[str, ...]:
    one = hostile.ids[document]
    return (
        f"/ui/documents/{one}",
        f"/ui/documents/{one}/passage?start=0&end={length}",
        f"/documents/{one}/passage?start=0&end={length}",
    )


def test_no_list_of_documents_and_no_search_runs_what_they_hold(hostile: Hostile, seen: Watched) -> None:
    page = seen.page
    for path in (
        "/",
        "/ui/documents",
        "/ui/search?q=hostile+cell&mode=bm25&k=20",
        "/ui/search?q=script+hostile&mode=bm25",
    ):
        page.goto(hostile.server.url + path)
        page.wait_for_function("typeof htmx === 'object'")
        nothing_ran(seen, hostile.server.url)
        assert NAME in page.locator("main").inner_text()
    for one in page.locator("summary", has_text="Why this rank").all():
        one.click()
    nothing_ran(seen, hostile.server.url)


@pytest.mark.parametrize("document", [f"{NAME}.md", "page.html", "links.pdf", "sheet.csv"])
def test_no_page_of_a_document_or_passage_runs_what_it_holds(
    hostile: Hostile, seen: Watched, document: str
) -> None:
    with hostile.server.client() as client:
        text = client.get(f"/documents/{hostile.ids[document]}/text").json()["text"]
    assert SCRIPT in text and "hostile" in text
    for path in addresses(hostile, document, len(text)):
        if path.startswith("/documents/"):
            seen.page.set_extra_http_headers({"Accept": "text/html"})
        seen.page.goto(hostile.server.url + path)
        assert SCRIPT in seen.page.locator("body").inner_text(), "it is shown as text"
        if document == "links.pdf":
            if path.startswith("/ui/"):
                seen.page.mouse.wheel(0, 5_000)  # its image is asked for when it comes into view
                seen.page.locator("svg.paper").first.wait_for(timeout=60_000)
            drawn = seen.page.locator("svg a, svg image[onload], svg foreignObject").count()
            assert drawn == 0, "the links of the PDF are not drawn over its page"
        nothing_ran(seen, hostile.server.url)


@pytest.mark.parametrize("document", [f"{NAME}.md", "page.html", "links.pdf", "sheet.csv"])
def test_no_inspection_of_a_document_runs_what_it_holds(
    hostile: Hostile, seen: Watched, document: str, tmp_path: Path
) -> None:
    order = InspectionOrder(hostile.folder / document, SETTINGS, name_of(resolve_model(DEFAULT_MODEL)), 1, 9)
    target = tmp_path / "inspection.html"
    target.write_text(page_of(inspect(order, lambda _stage, _page: None)), encoding="utf-8")
    seen.page.goto(f"file://{target}")
    assert SCRIPT in seen.page.locator("body").inner_text()
    nothing_ran(seen, "file:")


def test_a_click_on_what_looks_like_a_link_leads_nowhere(hostile: Hostile, seen: Watched) -> None:
    page = seen.page
    page.goto(f"{hostile.server.url}/ui/documents/{hostile.ids[f'{NAME}.md']}")
    address = page.url
    page.get_by_text("hostile link 0").first.click()
    page.wait_for_timeout(200)
    assert page.url == address
    assert "javascript:" in page.locator("article .text").inner_text(), "the target is shown, as text"
    nothing_ran(seen, hostile.server.url)
