"""Takes the screenshots of this folder, of a server that runs over an index of samples/documents and docs, which was
evaluated with samples/questions/samples-and-docs.jsonl:

pincite serve --index pincite-index &
python docs/screenshots/make.py http://127.0.0.1:8766 [NAME ...]

With names only those pictures are taken.
"""

import sys
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
QUESTION = "dry running error"
WIDE, PHONE = (1280, 860), (390, 844)


def main() -> None:
    url = sys.argv[1].rstrip("/")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        shots(browser, url, frozenset(sys.argv[2:]))
        browser.close()


def shots(browser: Browser, url: str, names: frozenset[str]) -> None:
    """Each page in the light, two in the dark, two on a phone."""
    page = opened(browser, WIDE, "light")
    dark, phone = opened(browser, WIDE, "dark"), opened(browser, PHONE, "light")
    search = f"/ui/search?q={quote(QUESTION)}"
    pictures = {name: (page, address) for name, address in addresses(page, url).items()} | {
        "overview-dark": (dark, "/"),
        "search-dark": (dark, f"{search}&k=4"),
        "documents-phone": (phone, "/ui/documents"),
        "search-phone": (phone, f"{search}&k=2"),
    }
    for name, (seen, address) in pictures.items():
        if not names or name in names:
            take(seen, url + address, Path(__file__).with_name(f"{name}.png"))


def opened(browser: Browser, size: tuple[int, int], scheme: str) -> Page:
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    return context.new_page()


def addresses(page: Page, url: str) -> dict[str, str]:
    """Of the pages by the names of their pictures; a failed document, a PDF, and a place in it are looked up."""
    rows = page.request.get(f"{url}/documents?limit=500").json()["documents"]
    ids = {row["document"]: row["document_id"] for row in rows}
    failed = next(row["document_id"] for row in rows if row["state"] == "failed")
    pdf = next(ids[name] for name in sorted(ids) if name.endswith(".pdf") and ids[name] != failed)
    return {
        "overview": "/",
        "documents": "/ui/documents",
        "failed": f"/ui/documents/{failed}",
        "document": f"/ui/documents/{pdf}#text-title",
        "passage": f"/ui/documents/{pdf}/passage?start=0&end=120",
        "search": f"/ui/search?q={quote(QUESTION)}&k=4",
        "evaluation": "/ui/evaluation",
        "report": f"{newest(page, url)}/report",
        "migration": "/ui/migration",
    }


def newest(page: Page, url: str) -> str:
    """The address of the newest kept evaluation."""
    page.goto(f"{url}/ui/evaluation")
    return page.locator("tbody a").first.get_attribute("href") or ""


def take(page: Page, address: str, target: Path) -> None:
    page.goto(address)
    page.wait_for_timeout(300)
    if page.locator(".waiting").count():
        page.locator(".paper").first.wait_for(timeout=120_000)
    if page.locator(".why-rank").count():
        page.locator(".why-rank summary").first.click()
    page.screenshot(path=target)


if __name__ == "__main__":
    main()
