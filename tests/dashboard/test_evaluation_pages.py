"""The pages of kept evaluations: their trend, and each one's whole report, which can run nothing."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from starlette.testclient import TestClient

from pincite.dashboard.app import create_app
from pincite.dashboard.http.access import access_of
from pincite.schemas.evaluation import Judged, Result
from pincite.schemas.settings import Settings
from pincite.storage.kept_evaluations import drop_reports, keep, keep_report
from pincite.storage.objects.local import LocalStore
from pincite.storage.snapshots.index import Index
from tests.dashboard.conftest import serving, space, watched
from tests.dashboard.test_pages import findings

REPORT = (
    "<!doctype html><html lang=en><title>Report</title><style>h1 { color: green }</style><h1>All of it</h1>"
)
HOSTILE = (
    REPORT + "<script>document.title = 'owned'</script><form action=/ui/logout method=post><button></form>"
)


def result(rank: int, version: int) -> Result:
    row = Judged(
        "structural, hybrid", "q1", "fact", "0" * 32, "needle:1", "answerable", rank=rank, destroyed=False
    )
    return Result("", "set <b>", "f" * 64, "content", version, space(), 3, 0.675, 4, row.strategy, (row,))


@pytest.fixture
def index(tmp_path: Path) -> Path:
    Index.create(tmp_path / "index", space()).close()
    return tmp_path / "index"


@pytest.fixture
def client(index: Path) -> Iterator[TestClient]:
    app = create_app(index, Settings(), access_of("127.0.0.1", ""))
    with TestClient(app, base_url="http://127.0.0.1", headers={"Accept": "text/html"}) as opened:
        yield opened


def keep_html(index: Path, name: str, html: str) -> None:
    with Index.open(index) as opened:
        assert keep_report(opened, name, html, frozenset())


def test_an_evaluation_leads_to_its_whole_report(index: Path, client: TestClient) -> None:
    older, newer = keep(LocalStore(index), result(9, 1)), keep(LocalStore(index), result(1, 2))
    keep_html(index, newer.name, REPORT)
    listed = client.get("/ui/evaluation").text
    assert listed.count('class="point"') == 2 and "set &lt;b&gt;" in listed
    assert "/report" not in client.get(f"/ui/evaluation/{older.name}").text
    page = client.get(f"/ui/evaluation/{newer.name}").text
    assert f"/ui/evaluation/{newer.name}/report" in page
    told = client.get(f"/ui/evaluation/{newer.name}/report")
    assert told.text == REPORT and told.headers["content-security-policy"].startswith("sandbox;")
    assert (
        "attachment"
        in client.get(f"/ui/evaluation/{newer.name}/report?download=true").headers["content-disposition"]
    )
    assert drop_reports(LocalStore(index)) == 1
    for name in (newer.name, older.name, "..%2f..%2fledger", "nothing"):
        assert client.get(f"/ui/evaluation/{name}/report").status_code == 404


def test_a_report_runs_nothing_and_sends_nothing(index: Path, browser: Browser) -> None:
    kept = keep(LocalStore(index), result(1, 1))
    keep_html(index, kept.name, HOSTILE)
    with serving(index) as server, watched(browser) as seen:
        seen.page.goto(f"{server.url}/ui/evaluation/{kept.name}/report")
        assert seen.page.title() == "Report"
        assert seen.page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(0, 128, 0)"
        seen.page.locator("button").click()
        seen.page.wait_for_timeout(200)
        assert seen.page.url.endswith("/report") and len(seen.faults) >= 2


@pytest.mark.parametrize("width", [360, 1280])
def test_the_pages_of_evaluations_are_accessible_at_any_width(
    index: Path, browser: Browser, width: int
) -> None:
    kept = keep(LocalStore(index), result(1, 1))
    keep(
        LocalStore(index),
        replace(
            result(9, 2), set_name="another-set-with-a-name-that-is-very-long-and-has-no-place-to-break-at"
        ),
    )
    keep_html(index, kept.name, REPORT)
    with serving(index) as server, watched(browser, viewport={"width": width, "height": 740}) as seen:
        for path in ("/ui/evaluation", f"/ui/evaluation/{kept.name}"):
            seen.page.goto(server.url + path)
            assert findings(seen) == [], path
            assert seen.page.evaluate("document.documentElement.scrollWidth") <= width, path
