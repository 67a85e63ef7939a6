"""What the overview says of runs: their kinds, and all times in one zone, which is named."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite.dashboard.http.templating import environment
from pincite.dashboard.pages.overview import _values
from pincite.dashboard.state.serving import Serving
from pincite.dashboard.state.thread_pool import Work
from pincite.schemas.settings import Schedule, Settings
from pincite.storage.maintenance.whole_index import compact_index
from pincite.storage.snapshots.index import Index
from tests.dashboard.conftest import reindex


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


def summary_of(index: Path, settings: Settings) -> str:
    served = Serving.open(index, settings, None, Work(1))
    try:
        return environment().get_template("summary.html.j2").render(operator=False, **_values(served))
    finally:
        served.close()


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


@pytest.mark.usefixtures("in_tokyo")
def test_runs_of_maintenance_have_their_kind_and_all_times_one_zone(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("The text of a document.")
    index = tmp_path / "index"
    reindex(index, tmp_path / "docs")
    with Index.open(index) as opened:
        compact_index(opened)
    html = summary_of(index, Settings(schedule=Schedule("0 2 * * *", "UTC")))
    kinds = re.findall(r"<td>(reindex|compact)</td>", html)
    assert kinds == ["compact", "reindex"], "newest first"
    assert "the whole index" in html and "<title>compact " in html
    told = text_of(html)
    assert re.search(r"next run [\d-]+ 11:00:00 JST, scheduled at 0 2 \* \* \* \(UTC\)", told), told
    page = environment().get_template("base.html.j2")
    assert "the server’s clock, JST." in page.render(active="", navigation=(), principal=Viewer())


class Viewer:
    role = "viewer"
    csrf = ""
    secured = False


def test_one_document_is_no_documents(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "empty.txt").write_text("")
    index = tmp_path / "index"
    reindex(index, tmp_path / "docs")
    assert "1 document " in text_of(summary_of(index, Settings())) + " "
