"""The search page: what it may be asked, and that it costs hardly more than the search."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from sqlalchemy import event

from pincite.dashboard.app import create_app
from pincite.dashboard.http.access import access_of
from pincite.dashboard.pages.search import _date
from pincite.dashboard.views.rank_explanation import sum_of
from pincite.retrieval.bm25 import BM25Scores, TermShare
from pincite.retrieval.filters import Filters, nanoseconds
from pincite.schemas.settings import Settings

HTML = {"Accept": "text/html"}


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Transactions and statements of every ledger of this process."""
    counts: Counter[str] = Counter()

    def begun(_connection: sa.Connection) -> None:
        counts["transactions"] += 1

    def executed(*_of_statement: object) -> None:
        counts["statements"] += 1

    event.listen(sa.Engine, "begin", begun)
    event.listen(sa.Engine, "before_cursor_execute", executed)
    try:
        yield counts
    finally:
        event.remove(sa.Engine, "begin", begun)
        event.remove(sa.Engine, "before_cursor_execute", executed)


def test_a_page_asks_the_ledger_what_the_search_asks_and_scores_once(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[object] = []
    score = BM25Scores.__init__

    def once_more(self: BM25Scores, *given: object) -> None:
        scored.append(given)
        score(self, *given)  # type: ignore[arg-type]  # handed on as they came

    monkeypatch.setattr(BM25Scores, "__init__", once_more)

    async def compare() -> tuple[Counter[str], Counter[str]]:
        app = create_app(index, Settings(), access_of("127.0.0.1", ""))
        async with app.router.lifespan_context(app):
            searcher = app.state.serving.searcher
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                asked = {"q": "pump seal", "mode": "bm25", "types": "pdf"}
                (await client.get("/ui/search", params=asked, headers=HTML)).raise_for_status()
                with counted() as of_page:
                    told = await client.get("/ui/search", params=asked, headers=HTML)
                assert told.status_code == 200 and '<li class="card hit"' in told.text
                assert len(scored) == 2, "one a search"
                with counted() as of_call:
                    searcher.threshold()
                    searcher.search("pump seal", mode="bm25", filters=Filters(types=("pdf",)), explain=True)
                return of_page, of_call

    of_page, of_call = asyncio.run(compare())
    assert of_page == of_call and of_page["transactions"] > 0


def test_a_wrong_field_is_named(client: httpx.Client) -> None:
    for field, value, told in (
        ("k", "0", "greater than or equal to 1"),
        ("k", "many", "valid integer"),
        ("k", "101", "less than or equal to 100"),
        ("q", "x" * 2_001, "at most 2000 characters"),
        ("folders", "x" * 1_001, "at most 1000 characters"),
    ):
        answer = client.get("/ui/search", params={"q": "pump", "mode": "bm25", field: value})
        assert answer.status_code == 422
        (fault,) = answer.json()["faults"]
        assert fault["where"] == f"query.{field}" and told in fault["what"]
    page = client.get("/ui/search", params={"q": "pump", "k": "0"}, headers=HTML)
    assert page.status_code == 422 and "query.k: Input should be greater" in page.text


def test_what_was_asked_stands_in_the_form_again(client: httpx.Client) -> None:
    given = {
        "q": " pump ",
        "mode": "bm25",
        "rerank": "",
        "k": "7",
        "threshold": "0.5",
        "documents": "hand*",
        "folders": 'a"b',
        "types": "text/*",
        "languages": "en",
        "collections": "",
        "since": "1999-01-01",
        "before": "2199-01-01",
        "confidence": "12",
    }
    told = client.get("/ui/search", params=given | {"unknown": "x"}, headers=HTML)
    assert told.status_code == 200
    values = dict(re.findall(r'name="(\w+)"[^>]* value="([^"]*)"', told.text))
    wanted = given | {"q": "pump", "rerank": "yes", "threshold": "0.500", "folders": "a&#34;b"}
    assert values == {name: value for name, value in wanted.items() if name != "mode"}
    assert "<option selected>bm25</option>" in told.text and "checked" not in told.text


def test_a_date_is_of_the_zone_in_which_the_page_tells_times(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = client.get("/ui/search", headers=HTML).text
    (zone,) = re.findall(r"Times are those of the server’s clock, ([^<]+)\.</footer>", told)
    labels = re.findall(r">(Modified [^<]+)<input", told)
    assert labels == [f"Modified {which} ({zone})" for which in ("since", "before")]
    try:
        with monkeypatch.context() as kyiv:
            kyiv.setenv("TZ", "Europe/Kyiv")
            time.tzset()
            since, told_zone = (nanoseconds(_date(given)) for given in ("2026-07-01", "2026-07-01T00:00Z"))
    finally:
        time.tzset()
    assert since == int(datetime(2026, 6, 30, 21, tzinfo=UTC).timestamp()) * 10**9
    assert told_zone == int(datetime(2026, 7, 1, tzinfo=UTC).timestamp()) * 10**9, (
        "a zone that is given stands"
    )


def test_a_score_is_told_as_a_sum_without_markup_of_the_question() -> None:
    terms = (TermShare("<b>", 2, 1_234, 1, 0.5), TermShare("pump", 1, 1, 3, 1.25))
    assert sum_of(terms) == (
        '<span class="share"><code>&lt;b&gt;</code> 0.500 <span class="soft">2 × here, in 1,234 passages</span>'
        '</span> + <span class="share"><code>pump</code> 1.250 <span class="soft">asked 3 times, 1 × here, in 1 '
        "passage</span></span> "
    )
    assert sum_of(()) == ""
