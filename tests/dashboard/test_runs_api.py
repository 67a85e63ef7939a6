"""Runs, orders, retries, counts and evaluations over HTTP, beside the pages that do the same."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path

import httpx
import pytest

from pincite.storage.kept_evaluations import keep
from pincite.storage.ledger import schema, transactions
from pincite.storage.objects.local import LocalStore
from pincite.storage.queries.documents import reason_digest
from pincite.storage.snapshots.index import Index
from tests.dashboard.conftest import Server, reindex, serving
from tests.dashboard.http.test_sessions import HTML, csrf_of
from tests.dashboard.test_runs import working
from tests.storage.test_kept_evaluations import RESULT

NO_PREFECT = {"PREFECT_API_URL": "http://127.0.0.1:9/api"}
"""A Prefect server that is not there: an order is taken, and lost some seconds later. No test here needs its run."""
FAILED = 230
LONG = "the parser said:\r\n" + "\x1b[31m" + "ошибка " * 500 + "\u202e\ttail"


@dataclass(frozen=True, slots=True)
class Here:
    server: Server
    index: Path
    ids: dict[str, str]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    """An index with one good document and many failed ones, three of them for a reason that no form can carry."""
    folder = tmp_path_factory.mktemp("runs-api").resolve()
    docs, index = folder / "docs", folder / "index"
    docs.mkdir()
    (docs / "zz-good.txt").write_text("The text of a good document.")
    for number in range(FAILED):
        (docs / f"{number:03}.txt").write_bytes(b"")
    reindex(index, docs)
    documents = schema.documents
    with Index.open(index) as opened, transactions.writing(opened.engine) as connection:
        chosen = documents.c.path.in_(["000.txt", "001.txt", "002.txt"])
        connection.execute(documents.update().where(chosen).values(reason=LONG, kind="misread"))
    with serving(index, **NO_PREFECT) as server, server.client() as client:
        rows = client.get("/documents", params={"limit": 500}).json()["documents"]
        yield Here(server, index, {row["document"]: row["document_id"] for row in rows})


@pytest.fixture
def client(here: Here) -> Iterator[httpx.Client]:
    with here.server.client() as opened:
        yield opened


def test_an_order_is_taken_followed_and_taken_back(here: Here, client: httpx.Client) -> None:
    told = client.post("/runs", json={"collection": "docs"})
    assert told.status_code == 202
    order = told.json()
    assert (order["words"], order["over"], order["documents"]) == ("Bring docs up to date", False, [])
    assert told.headers["location"] == f"/orders/{order['order']}"
    assert client.get(told.headers["location"]).json()["order"] == order["order"]
    assert client.get("/orders").json()["orders"][0]["order"] == order["order"]
    assert client.post(f"/orders/{order['order']}/cancel").status_code == 202
    assert client.post("/runs").json()["words"] == "Bring all collections up to date"
    for method, path in (("GET", "/orders/none"), ("POST", "/orders/none/cancel")):
        assert client.request(method, path).status_code == 404
    assert client.post("/runs", json={"collection": "nowhere"}).status_code == 404
    assert client.post("/runs", json={"colection": "docs"}).status_code == 422


def test_runs_are_paged_newest_first(here: Here, client: httpx.Client) -> None:
    reindex(here.index, here.index.with_name("docs"))
    whole = client.get("/runs").json()
    assert whole["next"] is None and len(whole["runs"]) == 2
    began = [run["started_at"] for run in whole["runs"]]
    assert began == sorted(began, reverse=True)
    first = client.get("/runs", params={"limit": 1}).json()
    second = client.get("/runs", params={"limit": 1, "after": first["next"]}).json()
    assert first["runs"] + second["runs"] == whole["runs"] and second["next"] is None
    one = whole["runs"][0]
    assert client.get(f"/runs/{one['run_id']}").json() == one
    assert one["seconds"] == pytest.approx(one["ended_at"] - one["started_at"])
    assert client.get("/runs", params={"after": "none"}).status_code == 422
    assert client.get("/runs/none").status_code == 404
    assert client.post(f"/runs/{one['run_id']}/cancel").status_code == 404, "it is over"


def test_a_run_that_goes_on_is_seen_and_cancelled(here: Here, client: httpx.Client) -> None:
    with working(here.index) as process:
        running = client.get("/overview").json()["running"]
        assert (running["state"], running["pid"]) == ("running", process.pid)
        assert client.get(f"/runs/{running['run_id']}").json()["outcomes"] is not None
        assert client.post(f"/runs/{running['run_id']}/cancel").status_code == 202
        process.wait(60)
    ended = client.get(f"/runs/{running['run_id']}").json()
    assert (ended["state"], ended["outcomes"]) == ("broken", None)


def test_every_chosen_document_is_looked_at_before_a_retry(here: Here, client: httpx.Client) -> None:
    failed = [document_id for name, document_id in here.ids.items() if name != "zz-good.txt"]
    told = client.post("/retry", json={"documents": failed})
    assert told.status_code == 202 and told.json()["documents"] == sorted(failed)
    assert told.json()["words"] == f"Retry {FAILED} documents"
    for wrong, status, why in (
        (here.ids["zz-good.txt"], 422, "zz-good.txt is not failed"),
        ("0" * 16, 404, "no document '0000000000000000'"),
    ):
        told = client.post("/retry", json={"documents": [*failed, wrong]})
        assert told.status_code == status and why in told.json()["detail"]
        token = {"X-CSRF-Token": csrf_of(client.get("/", headers=HTML).text)}
        told = client.post("/ui/retry", headers=token, data={"document": [*failed, wrong]})
        assert told.status_code == status and why in told.json()["detail"]


def test_a_reason_that_no_form_can_carry_is_retried_from_the_page(here: Here, client: httpx.Client) -> None:
    html = client.get("/", headers=HTML).text
    token = {"X-CSRF-Token": csrf_of(html)}
    forms = [dict(_inputs(form)) for form in re.findall(r'<form hx-post="/ui/retry".*?</form>', html, re.S)]
    (form,) = [one for one in forms if one["kind"] == "misread"]
    assert client.post("/ui/retry", headers=token, data=form).status_code == 200
    assert len(client.get("/orders").json()["orders"][0]["documents"]) == 3
    (link,) = [unescape(one) for one in re.findall(r'class="count" href="([^"]*misread[^"]*)"', html)]
    page = client.get(link, headers=HTML)
    assert page.status_code == 200 and page.text.count('<tr id="d-') == 3
    assert "\u202e" not in page.text and "\x1b" not in page.text
    digest = reason_digest("no reason of ours")
    gone = client.get("/ui/documents", params={"state": "failed", "because": digest}, headers=HTML).text
    assert "a reason for which no document is failed any more" in gone
    assert f"“<bdi>{digest}" not in gone, "a name of ours is no reason"
    again = dict(form, because=digest)
    assert client.post("/ui/retry", headers=token, data=again).status_code == 422


def _inputs(form: str) -> list[tuple[str, str]]:
    return [(name, unescape(value)) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', form)]


def test_failed_documents_are_retried_by_what_they_have_in_common(here: Here, client: httpx.Client) -> None:
    for body, count in (
        ({"reason": LONG}, 3),
        ({"kind": "misread", "collection": "docs"}, 3),
        ({"kind": "unreadable", "stage": "extract"}, FAILED - 3),
        ({"words": "00"}, 12),
        ({"all": True}, FAILED),
    ):
        told = client.post("/retry", json=body)
        assert told.status_code == 202 and len(told.json()["documents"]) == count, body
    for nothing in ({}, {"all": True, "kind": "misread"}, {"documents": []}, {"reason": "another"}):
        assert client.post("/retry", json=nothing).status_code == 422, nothing
    assert client.post("/retry", json={"collection": "nowhere"}).status_code == 404


def test_documents_are_chosen_and_ordered_as_on_the_page(here: Here, client: httpx.Client) -> None:
    found = client.get("/documents", params={"reason": LONG, "descending": True}).json()
    assert [one["document"] for one in found["documents"]] == ["002.txt", "001.txt", "000.txt"]
    assert found["total"] == 3 and "save the file anew" in found["documents"][0]["remedy"]
    found = client.get("/documents", params={"order": "chunks", "descending": True, "limit": 2}).json()
    assert found["documents"][0]["document"] == "zz-good.txt" and found["documents"][0]["remedy"] is None
    more = {"order": "chunks", "descending": True, "limit": 2, "after": found["next"]}
    assert client.get("/documents", params=more).json()["total"] == FAILED + 1
    assert client.get("/documents", params={"collection": "nowhere"}).status_code == 404
    assert client.get("/documents", params={"order": "colour"}).status_code == 422


def test_the_overview_is_that_of_the_page(here: Here, client: httpx.Client) -> None:
    told = client.get("/overview").json()
    assert told["documents"] == sum(told["states"].values()) == FAILED + 1
    assert told["states"]["failed"] == sum(one["count"] for one in told["failures"]) == FAILED
    by_kind = {one["kind"]: one for one in told["failures"]}
    assert by_kind["misread"]["reason"] == LONG and by_kind["unreadable"]["remedy"]
    assert [one["collection"] for one in told["sources"]] == ["docs"]
    assert told["runs"] == client.get("/runs", params={"limit": 30}).json()["runs"]
    assert told["schedule"]["cron"] == ""


def test_evaluations_are_listed_by_set_and_opened_by_name(here: Here, client: httpx.Client) -> None:
    assert client.get("/evaluations").json() == {"series": []}
    stored = [keep(LocalStore(here.index), replace(RESULT, version=version)) for version in (3, 7)]
    (series,) = client.get("/evaluations").json()["series"]
    assert series["name"] == RESULT.set_name
    assert [one["name"] for one in series["evaluations"]] == [one.name for one in stored]
    told = client.get(f"/evaluations/{stored[1].name}").json()
    assert told["made"] == series["evaluations"][1] and told["cut"] == 4
    assert [one["question_id"] for one in told["lost"]] == ["q2"]
    page = client.get(f"/ui/evaluation/{stored[1].name}", headers=HTML)
    assert page.status_code == 200 and "q2" in page.text
    for name in ("none", "..%2f..%2fledger", "000003-%00"):
        assert client.get(f"/evaluations/{name}").status_code == 404
