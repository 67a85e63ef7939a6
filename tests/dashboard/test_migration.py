"""A migration on the page and by the API: started, watched, judged, switched, and rolled back, by real flows."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from pincite.dashboard.actions.migrations import seen
from pincite.dashboard.api.migration_models import migration_body
from pincite.dashboard.http.templating import page
from pincite.dashboard.state.run_requests import RequestedRun, RunRequest
from pincite.dashboard.state.serving import Serving
from pincite.dashboard.state.thread_pool import Work
from pincite.encoders.models import resolve_model
from pincite.flows.deployments.schedule import MIGRATE
from pincite.schemas.settings import DEFAULT_CHUNKER
from pincite.storage.ledger import schema, transactions
from pincite.storage.locks.interface import LockName
from pincite.storage.locks.run_lock import holder
from pincite.storage.migration.state import begin, in_the_way, newest_migration, record_gate, record_stage
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import spaces_of
from pincite.tasks.steps.plan import space_of_model
from tests.dashboard.conftest import ROOT, SETTINGS, reindex, serving, watched
from tests.dashboard.test_pages import findings

MINILM, USE = "all-MiniLM-L6-v2", "universal-sentence-encoder-multilingual-3"
LONG_S = 120.0


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """A document that the chunker A cuts in the middle of its answer, and question sets that may be chosen or not."""
    docs = tmp_path / "docs"
    docs.mkdir()
    needle = "The spare pump stands in hall seven behind the blue door."
    (docs / "long.txt").write_text(
        "Nothing is said of it here. " * 17 + needle + " And nothing here either." * 9
    )
    (docs / "valve.txt").write_text("The relief valve opens at nine bar.")
    index = tmp_path / "index"
    reindex(index, docs.resolve())
    asked = json.dumps({"question": "Where does the spare pump stand?", "needle": needle})
    (index / "questions").mkdir()
    (index / "questions" / "pumps.jsonl").write_text(asked)
    (tmp_path / "secret.jsonl").write_text(asked)
    (index / "questions" / "linked.jsonl").symlink_to(tmp_path / "secret.jsonl")
    return index


def until(look: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + LONG_S
    while not look():
        assert time.monotonic() < end, what
        time.sleep(0.2)


def done(client: httpx.Client, asked: httpx.Response) -> Mapping[str, Any]:
    """The order of an answer once it is over."""
    assert asked.status_code == 202, asked.text
    address = asked.headers["Location"]
    until(lambda: bool(client.get(address).json()["over"]), "the order comes to an end")
    order: Mapping[str, Any] = client.get(address).json()
    return order


def live_model(index: Path) -> str:
    with Index.open(index) as opened:
        return spaces_of(opened)[0].space.model


def test_what_is_not_offered_or_does_not_fit_is_refused_before_any_run(index: Path, tmp_path: Path) -> None:
    with serving(index) as server, server.client() as client:
        told = client.get("/migration").raise_for_status().json()
        assert (told["migration"], told["gate"], told["ways"], told["orders"]) == (None, None, [], [])
        assert [one["model"] for one in told["spaces"]] == [MINILM] and USE in told["models"]
        assert told["questions"] == ["pumps.jsonl"], "a link that leads out of the folder is no question set"
        refused = {
            "model": (str(tmp_path), "has no model"),
            "questions": ("../../secret.jsonl", "has no questions"),
            "chunker": ("Z", "unknown chunking strategy"),
        }
        for name, (value, words) in refused.items():
            answer = client.post("/migration", json={"chunker": "A", name: value})
            assert answer.status_code == 422 and words in answer.json()["detail"], name
        answer = client.post("/migration", json={"questions": "linked.jsonl"})
        assert answer.status_code == 422 and "has no questions" in answer.json()["detail"]
        answer = client.post("/migration", json={})
        assert answer.status_code == 422 and "there is nothing to migrate" in answer.json()["detail"]
        for way in ("switch", "rollback", "abort", "remove-old"):
            answer = client.post(f"/migration/{way}")
            assert answer.status_code == 422 and answer.json()["type"] == "urn:pincite:usage", way
        assert client.post("/migration/waive", json={"documents": ["long.txt"]}).status_code == 422
        assert client.post("/migration/cancel").status_code == 404
        assert client.get("/migration").json()["orders"] == []


def test_a_viewer_may_only_look(index: Path) -> None:
    tokens = {"PINCITE_TOKEN": "o" * 32, "PINCITE_VIEWER_TOKEN": "v" * 32}
    with serving(index, cwd=ROOT, **tokens) as server:
        with server.client(headers={"Authorization": f"Bearer {'v' * 32}"}) as viewer:
            assert viewer.get("/migration").status_code == 200
            page = viewer.get("/ui/migration", headers={"Accept": "text/html"})
            assert page.status_code == 200 and "Begin a migration" not in page.text
            for path in ("", "/switch", "/rollback", "/abort", "/remove-old", "/waive", "/cancel"):
                assert viewer.post(f"/migration{path}", json={}).status_code == 403
            for path in ("start", "go/switch", "waive", "cancel"):
                assert viewer.post(f"/ui/migration/{path}").status_code == 403
        with server.client() as nobody:
            assert nobody.post("/migration/switch").status_code == 401
    with serving(index) as server, server.client() as client:
        client.get("/ui/migration", headers={"Accept": "text/html"})
        told = client.post("/ui/migration/cancel")
        assert told.status_code == 403, "a post of a page without its token is another site's"


SHARE = {"of": 20, "low": 0.4, "high": 0.8}
MEASURED = {
    "metric": "recall@4",
    "old": {"count": 14, "value": 0.7, **SHARE},
    "new": {"count": 8, "value": 0.4, **SHARE},
    "difference": {"of": 20, "value": -0.3, "low": -0.5, "high": -0.1},
    "won": 0,
    "lost": 6,
    "p": 0.03125,
    "p_holm": 0.125,
}
HOSTILE = "<script>document.title='owned'</script>"


def stuck(index: Path) -> None:
    """A migration that a document blocks and the gate does not let in, as a run would leave it."""
    with Index.open(index) as opened:
        target = space_of_model(resolve_model(USE), DEFAULT_CHUNKER)
        migration = begin(opened, target, USE, None)
        with transactions.writing(opened.engine) as connection:
            found = connection.execute(schema.documents.select()).mappings().first()
            assert found is not None
            row = {"migration_id": migration.migration_id, "document_id": found["document_id"]}
            row |= {"revision": 1, "reason": f"the child ended: {HOSTILE}", "waived": False}
            connection.execute(schema.blockers.insert().values(**row))
        reasons = [f"recall@4 is significantly worse: lost {HOSTILE}"]
        gate = {"ok": False, "reasons": reasons, "notes": [], "measured": [MEASURED], "forced": ""}
        versions = {"old": opened.newest_version(), "new": opened.newest_version()}
        record_gate(opened, migration, gate | {"questions": "/x/pumps.jsonl", "versions": versions})
        record_stage(opened, "refused")


def test_the_page_shows_what_blocks_and_what_the_gate_says_and_leaves_a_document_out_by_keyboard(
    index: Path, browser: Browser
) -> None:
    stuck(index)
    with serving(index) as server, watched(browser, viewport={"width": 360, "height": 740}) as seen:
        page = seen.page
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(f"{server.url}/ui/migration")
        row = page.get_by_role("row", name="recall@4")
        for words in ("0.700", "0.400", "-0.300 (-0.500 to -0.100)", "0 / 6", "0.031", "0.125"):
            expect(row).to_contain_text(words)
        expect(page.get_by_text("not let in")).to_be_visible()
        expect(page.get_by_text("pumps.jsonl: the old model version at version")).to_be_visible()
        assert findings(seen) == []
        states = page.get_by_role("region", name=f"→ {USE}").locator(".badge")
        assert states.all_inner_texts() == ["refused"], "one state, not that it is being built too"
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.get_by_role("button", name="Switch", exact=True).count() == 0, "the gate stands before it"
        page.get_by_role("button", name="Switch against the quality check").click()
        assert page.evaluate("document.activeElement.name") == "force", "a reason is asked for first"

        page.get_by_role("button", name="Leave out the chosen").press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("no document was chosen")
        page.get_by_label("Leave out long.txt").press("Space")
        page.get_by_role("button", name="Leave out the chosen").press("Enter")
        expect(page.get_by_role("row", name="long.txt")).to_contain_text("left out")
        with Index.open(index) as opened:
            migration = newest_migration(opened)
            assert migration is not None and in_the_way(opened, migration) == ()
        assert page.title() == "Migration – Pincite", "no text of the ledger is run"
        with server.client() as client:
            told = client.get("/migration").raise_for_status().json()
            assert told["blockers"][0]["waived"] and told["ways"] == ["switch", "abort"]
            assert told["gate"]["measured"] == [MEASURED] and told["gate"]["changed"] == 0
        with Index.open(index) as opened:
            record_stage(opened, "held")
        page.reload()
        assert states.all_inner_texts() == ["ready to switch"]
        with server.client() as client:
            row = client.get("/migration").raise_for_status().json()["migration"]
        assert (row["state"], row["standing"]) == ("building", "ready to switch")


def test_the_page_and_the_api_say_the_same_of_one_that_is_held_while_an_order_waits(index: Path) -> None:
    stuck(index)
    served = Serving.open(index, SETTINGS, None, Work(1))
    try:
        record_stage(served.index, "held")
        waiting = RequestedRun("one", RunRequest("Switch", MIGRATE), time.time())
        found = replace(seen(served), orders=(waiting,))
        assert found.follows and found.status.migration is not None
        told = migration_body(found)
        shown = page(
            {"type": "http"},
            "migration_state.html.j2",
            seen=found,
            stands=found.status,
            migration=found.status.migration,
            level=found.status.progress,
            blockers=(),
            gate=None,
        )
    finally:
        served.close()
    assert told.migration is not None and told.migration.standing == "ready to switch"
    html = bytes(shown.body).decode()
    assert '<span class="badge ready-to-switch">ready to switch</span>' in html and "preparing" not in html


@pytest.mark.slow
def test_one_that_is_at_work_lets_a_night_go_on_and_is_cancelled_and_what_was_built_stays(
    index: Path,
) -> None:
    with serving(index) as server, server.client() as client:
        asked = client.post("/migration", json={"model": USE, "throttle": 0.001})
        assert asked.status_code == 202
        until(lambda: bool(holder(index, LockName.MIGRATION)), "it is at work")
        busy = client.post("/migration", json={})
        assert (busy.status_code, busy.json()["type"]) == (503, "urn:pincite:busy")
        night = done(client, client.post("/runs", json={}))
        assert night["state"] == "Completed" and holder(index, LockName.MIGRATION), (
            "neither waits for the other"
        )
        assert client.post("/migration/cancel").status_code == 202
        order = done(client, asked)
        assert order["state"] != "Completed"
        until(lambda: not holder(index, LockName.MIGRATION), "it ends")
        told = client.get("/migration").raise_for_status().json()
        assert (told["migration"]["state"], told["at_work"]) == ("building", "")
        assert live_model(index) == MINILM
        order = done(client, client.post("/migration", json={"switch": True}))
        assert (order["state"], live_model(index)) == ("Completed", USE)


@pytest.mark.slow
def test_a_person_moves_an_index_to_another_model_looks_at_the_gate_switches_and_goes_back(
    index: Path, browser: Browser
) -> None:
    with serving(index) as server, watched(browser) as seen, server.client() as client:
        page = seen.page
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(f"{server.url}/ui/migration")
        page.get_by_label("Model").select_option(USE)
        page.get_by_label("Questions for the quality check").select_option("pumps.jsonl")
        page.get_by_role("button", name="Begin").press("Enter")
        expect(page.get_by_text("Migrate to")).to_be_visible()
        expect(page.get_by_role("button", name="Switch")).to_be_visible(timeout=LONG_S * 1000)
        expect(page.get_by_text("let in", exact=True)).to_be_visible()
        expect(page.get_by_role("row", name="recall@1")).to_contain_text("+0.000")
        assert findings(seen) == [] and live_model(index) == MINILM

        (index.with_name("docs") / "new.txt").write_text("The gate valve is painted yellow.")
        assert done(client, client.post("/runs", json={}))["state"] == "Completed", "a nightly run in between"
        page.reload()
        expect(page.get_by_text("has changed since this verdict")).to_be_visible()

        page.get_by_role("button", name="Switch").click()
        expect(page.get_by_text("switched", exact=True)).to_be_visible(timeout=LONG_S * 1000)
        assert live_model(index) == USE
        hits = client.post("/search", json={"query": "yellow gate valve", "mode": "dense"}).json()["hits"]
        assert hits[0]["document"] == "new.txt"

        page.get_by_role("button", name="Roll back").click()
        expect(page.get_by_text("rolled back", exact=True)).to_be_visible(timeout=LONG_S * 1000)
        assert live_model(index) == MINILM
        page.get_by_role("button", name="Give up").click()
        expect(page.get_by_text("aborted", exact=True)).to_be_visible(timeout=LONG_S * 1000)
        asked = [fault for fault in seen.faults if fault.startswith("dialog")]
        assert len(asked) == 3 and [fault for fault in seen.faults if fault not in asked] == []
