"""A person finds the failed document, reads why, replaces the file, retries it, and finds its text by search."""

import signal
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.dashboard.conftest import reindex, serving, watched

WAIT_MS = 240_000  # a Prefect server and a model are started in it, on a machine that others use too


def test_a_failed_document_is_replaced_retried_and_found(tmp_path: Path, browser: Browser) -> None:
    folder, index = tmp_path / "manuals", tmp_path / "index"
    folder.mkdir()
    (folder / "pump.md").write_text("# Pump\n\nThe pump has a mechanical seal.\n", encoding="utf-8")
    (folder / "valve.md").write_bytes(b"")
    mended = tmp_path / "mended.md"
    mended.write_text("# Valve\n\nThe zirconium gasket is tightened to 41 Nm.\n", encoding="utf-8")
    reindex(index, folder.resolve())
    with watched(browser) as seen, watched(browser) as other:
        page = seen.page
        with serving(index) as server:
            page.goto(f"{server.url}/")
            page.locator(".figures .failed a").click()
            expect(page.locator(".why")).to_contain_text("empty file")
            expect(page.locator(".why .remedy")).to_contain_text("replace it with a sound one")
            page.get_by_role("link", name="valve.md", exact=True).click()
            page.locator("input[type=file]").set_input_files(mended)
            page.get_by_role("button", name="Replace").click()
            expect(page.locator("#uploaded")).to_contain_text("valve.md is stored")
            assert (folder / "valve.md").read_bytes() == mended.read_bytes()
            server.end(signal.SIGKILL)
        with serving(index) as server:
            document = page.url.rsplit("/", 1)[1]
            other.page.goto(f"{server.url}/ui/documents")
            page.goto(f"{server.url}/ui/documents/{document}")
            page.get_by_role("button", name="Retry").click()
            expect(page.locator("#state .badge").first).to_have_text("indexed", timeout=WAIT_MS)
            expect(page.locator("#live .orders")).to_contain_text("Retry valve.md")
            row = other.page.locator("tr", has=other.page.get_by_role("link", name="valve.md", exact=True))
            other.page.reload()
            expect(row).to_contain_text("indexed")
            other.page.goto(f"{server.url}/ui/search?q=zirconium+gasket&mode=bm25")
            expect(other.page.locator(".hit h3").first).to_contain_text("valve.md")
            expect(other.page.locator(".quote mark").first).to_have_text("zirconium")
            code, _ = server.end()
            assert code == 0
        assert [fault for fault in seen.faults + other.faults if "ERR_" not in fault] == []
