"""Signing in and out in a real browser, whose Origin depends on the referrer policy of the page."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.dashboard.conftest import reindex, serving, watched

OPERATOR, VIEWER = "operator-token-0001", "viewer-token-000002"


def test_a_browser_signs_in_and_out(tmp_path: Path, browser: Browser) -> None:
    folder, index = tmp_path / "manuals", tmp_path / "index"
    folder.mkdir()
    (folder / "pump.md").write_text("# Pump\n\nThe pump has a mechanical seal.\n", encoding="utf-8")
    reindex(index, folder.resolve())
    with serving(index, PINCITE_TOKEN=OPERATOR, PINCITE_VIEWER_TOKEN=VIEWER) as server:
        for token, role in ((OPERATOR, "operator"), (VIEWER, "viewer")):
            with watched(browser) as seen:
                page = seen.page
                page.goto(f"{server.url}/ui/documents")
                page.get_by_label("Token").fill(token)
                page.get_by_role("button", name="Sign in").click()
                expect(page).to_have_url(f"{server.url}/ui/documents")
                expect(page.locator(".role")).to_have_text(role)
                page.get_by_role("button", name="Sign out").click()
                expect(page.get_by_role("button", name="Sign in")).to_be_visible()
                page.goto(f"{server.url}/ui/documents")
                expect(page.get_by_role("button", name="Sign in")).to_be_visible()
                assert seen.faults == []
