"""Runs on the page: shown while they go on, cancelled, and orders that meet them."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, expect

from pincite.dashboard.state.run_requests import MOST_KEPT, RequestedRun, RunRequest, Runs, cancel_run
from pincite.dashboard.state.serving import Serving
from pincite.dashboard.state.thread_pool import Work
from pincite.schemas.errors import IndexBusy, NotFound
from pincite.schemas.settings import Schedule, Settings
from pincite.storage.ledger import schema, transactions
from pincite.storage.queries.overview import runs_of
from pincite.storage.snapshots.index import Index
from tests.dashboard.conftest import ROOT, reindex, serving, watched
from tests.dashboard.http.test_sessions import HTML, csrf_of

WORKING = """
import sys, time
from pathlib import Path
from pincite.cli import end_by_signals
from pincite.storage.snapshots.index import Index
from pincite.storage.runs.runs import begin_run
end_by_signals()
with Index.open(Path(sys.argv[1])) as index, begin_run(index, "reindex", sys.argv[2]):
    print("begun", flush=True)
    time.sleep(300)
"""


@pytest.fixture
def index(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("The text of a document.")
    reindex(tmp_path / "index", (tmp_path / "docs").resolve())
    return tmp_path / "index"


@contextmanager
def working(index: Path) -> Iterator["subprocess.Popen[str]"]:
    """A run of another process that goes on, begun as a script begins one with `&`: with SIGINT ignored."""
    command = [
        "env",
        "--ignore-signal=INT",
        sys.executable,
        "-c",
        WORKING,
        str(index),
        str(index.with_name("docs")),
    ]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "begun\n"
            yield process
        finally:
            process.kill()


def test_a_run_appears_by_itself_and_is_cancelled_by_one_of_two_browsers(
    index: Path, browser: Browser
) -> None:
    with serving(index) as server, watched(browser) as seen, watched(browser) as other:
        for one in (seen, other):
            one.page.goto(f"{server.url}/")
            expect(one.page.locator("section.running")).to_have_count(0)
        with working(index) as process:
            for one in (seen, other):
                expect(one.page.locator("section.running")).to_contain_text(
                    f"process {process.pid}", timeout=60_000
                )
            seen.page.get_by_role("button", name="Cancel the run").click()
            process.wait(60)
            for one in (seen, other):
                expect(one.page.locator("section.running")).to_have_count(0, timeout=60_000)
                summary = expect(one.page.locator("#summary"))
                summary.to_contain_text("interrupted, as by a cancel", timeout=60_000)
        assert server.end()[0] == 0  # though two streams of events are open
        assert [fault for fault in seen.faults if "ERR_" not in fault] == []
    with Index.open(index) as opened:
        assert runs_of(opened, 1)[0].state == "broken"


def test_a_run_that_is_over_or_unknown_can_not_be_cancelled(index: Path) -> None:
    with serving(index) as server, server.client() as client:
        token = {"X-CSRF-Token": csrf_of(client.get("/", headers=HTML).text)}
        with Index.open(index) as opened:
            run = runs_of(opened, 1)[0].run_id
        for data in ({"run": run}, {"run": "none"}, {"order": "none"}):
            assert client.post("/ui/runs/cancel", headers=token, data=data).status_code == 404
        told = client.post("/ui/runs", headers=token, data={"collection": "nowhere"})
        assert told.status_code == 404 and "nowhere" in told.json()["detail"]
        for data in ({}, {"document": "0" * 16}, {"every": "yes"}):
            assert client.post("/ui/retry", headers=token, data=data).status_code in (404, 422)
        document = client.get("/documents").json()["documents"][0]["document_id"]
        told = client.post("/ui/retry", headers=token, data={"document": document})
        assert told.status_code == 422 and "is not failed" in told.json()["detail"]


def test_a_run_whose_process_was_killed_is_not_cancelled_by_its_number(index: Path) -> None:
    with working(index) as process:
        process.kill()
        process.wait()
    with Index.open(index) as opened, subprocess.Popen(["sleep", "60"]) as stranger:
        try:
            with transactions.writing(opened.engine) as connection:
                connection.execute(schema.runs.update().values(pid=stranger.pid))  # its number, used again
            assert runs_of(opened, 1)[0].state == "broken", "it started at another time"
            with transactions.writing(opened.engine) as connection:
                connection.execute(schema.runs.update().values(process=""))  # as an older Pincite wrote it
            run = runs_of(opened, 1)[0]
            assert run.state == "running"
            with pytest.raises(NotFound, match="has ended"):
                cancel_run(opened, run.run_id)
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_an_assistant_starts_no_schedule(index: Path) -> None:
    settings = Settings(schedule=Schedule(cron="0 2 * * *"))
    serving = Serving.open(index, settings, None, Work())
    try:
        assert started_for(index) == []
    finally:
        serving.close()


CHATTY = """
import json, sys
print("loading ...")
print(5)
for line in sys.stdin:
    said = json.loads(line)
    if "order" in said:
        state = {"order": said["order"], "state": "Scheduled", "message": "", "flow_run": "f", "over": False}
        print(json.dumps(state))
        over = "later" not in said["parameters"]
        print(json.dumps(state | ({"state": "Completed", "over": True} if over else {})), flush=True)
"""
"""A double of the process that serves the deployments; its orders are done at once, or never."""


def wished(words: str, **parameters: object) -> RunRequest:
    return RunRequest(words, "nightly/nightly", parameters)


def started_for(index: Path) -> list[psutil.Process]:
    """The processes that were started here to serve deployments over an index."""
    children = psutil.Process().children()
    return [
        one for one in children if {"pincite.flows.deployments.dispatcher", str(index)} <= set(one.cmdline())
    ]


def settled(runs: Runs, order: RequestedRun) -> RequestedRun:
    """The order once it is over."""
    until = time.monotonic() + 60
    while not runs.order(order.order).over and time.monotonic() < until:
        time.sleep(0.01)
    assert runs.order(order.order).over
    return runs.order(order.order)


def test_what_a_library_prints_is_no_word_of_an_order(tmp_path: Path) -> None:
    runs = Runs(tmp_path, (sys.executable, "-c", CHATTY))
    try:
        done = settled(runs, runs.ask(wished("an order")))
        assert (done.state, done.flow_run) == ("Completed", "f")
    finally:
        runs.close()


def test_an_order_that_is_open_is_never_forgotten(tmp_path: Path) -> None:
    runs = Runs(tmp_path, (sys.executable, "-c", CHATTY))
    try:
        first = runs.ask(wished("goes on", later=True))
        second = runs.ask(wished("is done"))
        for number in range(MOST_KEPT):
            settled(runs, runs.ask(wished(f"order {number}")))
        assert len(runs.orders()) == MOST_KEPT
        assert not runs.order(first.order).over, "it goes on, so the page and the API still tell of it"
        with pytest.raises(NotFound):
            runs.order(second.order)
    finally:
        runs.close()


def test_orders_are_bounded_and_lost_with_their_process(tmp_path: Path) -> None:
    index = tmp_path / "no-index"
    runs = Runs(index)
    try:
        for number in range(20):
            runs.ask(wished(f"order {number}"))
        with pytest.raises(IndexBusy, match="20 runs are asked for"):
            runs.ask(wished("one more"))
        with pytest.raises(NotFound):
            runs.withdraw("none")
        (process,) = started_for(index)
        process.kill()  # the fault: it ends without a word
    finally:
        runs.close()
    assert {settled(runs, one).state for one in runs.orders()} == {"Lost"}


@pytest.mark.slow
def test_fifty_searchers_meet_no_error_while_the_index_changes(index: Path) -> None:
    docs = index.with_name("docs")
    told: list[int] = []
    with serving(index) as server:

        def searching(number: int) -> None:
            with server.client() as client:
                for turn in range(6):
                    query = {"q": f"text of document {number + turn}", "mode": "bm25"}
                    told.append(client.get("/ui/search", params=query, headers=HTML).status_code)

        with ThreadPoolExecutor(50) as pool:
            going = [pool.submit(searching, number) for number in range(50)]
            for turn in range(4):
                for number in range(5):
                    (docs / f"{number}.txt").write_text(f"The text of document {number}, turn {turn}.")
                reindex(index, docs.resolve())
            for one in going:
                one.result()
    assert told == [200] * 300
