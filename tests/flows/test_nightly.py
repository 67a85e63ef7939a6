"""The nightly flow: real schedules, real processes that hold the index, sources that are gone."""

import asyncio
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import yaml

from pincite.flows.prefect_server.server import prefect_api
from pincite.schemas.errors import UsageError
from pincite.schemas.settings import Schedule
from pincite.storage.queries.index_report import index_report
from pincite.storage.runs.runs import begin_run
from pincite.storage.snapshots.index import Index

ROOT = Path(__file__).resolve().parents[2]
KYIV = ZoneInfo("Europe/Kyiv")

HOLDER = """
import signal, sys
from pathlib import Path
from pincite.storage.locks.run_lock import exclusive
with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    signal.pause()
"""


# What `pincite serve` does, until the first run has ended.
SERVE = """
import time
from pathlib import Path
from pincite.flows.deployments.schedule import serve_schedule
from pincite.flows.prefect_server.server import prefect_api
from pincite.flows.settings import load_settings
with (
    prefect_api(Path("home"), scheduling=True),
    serve_schedule(str(Path("pincite-index").resolve()), load_settings(), every_s=3),
):
    from prefect.client.orchestration import get_client
    until, done = time.monotonic() + 120, []
    while not done and time.monotonic() < until:
        time.sleep(1)
        with get_client(sync_client=True) as client:
            done = [run.state for run in client.read_flow_runs() if run.state.is_final()]
print(done[0].message)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with an empty collection in its settings: nothing there needs a model."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "pincite.toml").write_text('[collections.docs]\nsource = "docs"\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def state_of_a_night() -> tuple[str, str]:
    from pincite.flows.nightly import nightly

    state = nightly(return_state=True)
    return state.name or "", state.message or ""


def test_a_night_brings_every_collection_up_to_date(api: str, here: Path) -> None:
    assert state_of_a_night() == (
        "Completed",
        "0 discovered, 0 indexed, 0 failed, 0 unchanged, 0 deleted",
    )
    with Index.open(here / "pincite-index") as opened:
        report = index_report(opened, None)
    assert [(one.name, one.source) for one in report.collections] == [("docs", str(here / "docs"))]
    assert report.last_run is not None and report.last_run["state"] == "completed"


def test_a_night_that_finds_the_index_held_is_cancelled_and_names_the_holder(api: str, here: Path) -> None:
    state_of_a_night()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(here / "pincite-index")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        try:
            assert holder.stdout is not None and holder.stdout.readline() == "held\n"
            name, message = state_of_a_night()
        finally:
            holder.kill()
    assert name == "Cancelled" and f"is in use by process {holder.pid}" in message
    assert state_of_a_night()[0] == "Completed"


def test_a_source_that_is_gone_fails_the_night_and_not_the_other_collections(api: str, here: Path) -> None:
    (here / "other").mkdir()
    with (here / "pincite.toml").open("a") as file:
        file.write('[collections.another]\nsource = "other"\n')
    state_of_a_night()
    (here / "other").rename(here / "unmounted")
    name, message = state_of_a_night()
    assert name == "Failed" and f"no such folder: {here / 'other'}" in message
    with Index.open(here / "pincite-index") as opened, begin_run(opened, "look", ""):
        from sqlalchemy import select

        from pincite.storage.ledger import schema, transactions

        with transactions.reading(opened.engine) as connection:
            rows = connection.execute(select(schema.runs.c.source).where(schema.runs.c.state == "completed"))
            assert sorted(Path(row.source).name for row in rows) == ["docs", "docs", "other"]


def test_the_deployment_runs_at_its_times_in_a_process_of_its_own(here: Path) -> None:
    served = subprocess.run(
        [sys.executable, "-c", SERVE],
        env={name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        | {"PYTHONPATH": str(ROOT)},
        cwd=here,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert served.returncode == 0, served.stderr
    assert served.stdout == "0 discovered, 0 indexed, 0 failed, 0 unchanged, 0 deleted\n"
    with Index.open(here / "pincite-index") as opened:
        last = index_report(opened, None).last_run
    assert last is not None and last["state"] == "completed"


def next_runs(schedule: Schedule, start: str, count: int) -> list[str]:
    """The next runs by the clock of Kyiv, as Prefect's server computes them."""
    from prefect.server.schemas.schedules import CronSchedule

    from pincite.flows.deployments.schedule import schedule_of

    made = schedule_of(schedule)
    assert made is not None and made.cron is not None
    cron = CronSchedule(cron=made.cron, timezone=made.timezone)
    dates = asyncio.run(cron.get_dates(count, start=datetime.fromisoformat(start)))
    return [date.astimezone(KYIV).strftime("%m-%d %H:%M %z") for date in dates]


def test_the_night_keeps_its_hour_over_a_change_of_the_clocks() -> None:
    at_two = Schedule("0 2 * * *", "Europe/Kyiv")
    assert next_runs(at_two, "2026-10-23T12:00:00+00:00", 4) == [
        *("10-24 02:00 +0300", "10-25 02:00 +0300", "10-26 02:00 +0200", "10-27 02:00 +0200")
    ]
    # 03:30 comes twice on 25 October and runs once.
    twice = next_runs(Schedule("30 3 * * *", "Europe/Kyiv"), "2026-10-24T12:00:00+00:00", 2)
    assert [date[:11] for date in twice] == ["10-25 03:30", "10-26 03:30"]
    # 03:30 does not exist on 28 March: no day is left out.
    skipped = next_runs(Schedule("30 3 * * *", "Europe/Kyiv"), "2027-03-27T12:00:00+00:00", 2)
    assert [date[:5] for date in skipped] == ["03-28", "03-29"]
    assert datetime(2027, 3, 28, 1, 30, tzinfo=UTC).astimezone(KYIV).strftime("%H:%M") == "04:30"


def test_a_schedule_without_cron_has_no_times_and_a_wrong_one_is_named() -> None:
    from pincite.flows.deployments.schedule import schedule_of

    assert schedule_of(Schedule()) is None
    with pytest.raises(UsageError, match=r"cron '61 2 \* \* \*'"):
        schedule_of(Schedule("61 2 * * *"))


def test_prefect_yaml_names_the_flows_that_are_served_and_a_schedule_that_prefect_takes() -> None:
    from prefect.flows import load_flow_from_entrypoint

    from pincite.flows.deployments.schedule import DEPLOYMENTS, schedule_of

    deployments = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]
    for deployment in deployments:
        flow = load_flow_from_entrypoint(deployment["entrypoint"])
        assert DEPLOYMENTS[f"{flow.name}/{deployment['name']}"] == deployment["description"]
        for schedule in deployment.get("schedules", ()):
            assert schedule_of(Schedule(schedule["cron"], schedule["timezone"])) is not None
        assert set(deployment["parameters"]) <= set(flow.parameters.properties)
        assert deployment["concurrency_limit"] == {"limit": 1, "collision_strategy": "CANCEL_NEW"}
    assert len(deployments) == len(DEPLOYMENTS)


@pytest.mark.slow
def test_prefect_yaml_is_deployed_and_run_by_a_worker(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from prefect.client.orchestration import get_client

    def prefect(*arguments: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "prefect", *arguments],
            cwd=here,
            env={**os.environ, "PWD": str(here), "PYTHONPATH": str(ROOT)},
            check=True,
            timeout=200,
            stdout=subprocess.DEVNULL,
        )

    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    shutil.copy(ROOT / "prefect.yaml", here)
    with prefect_api(here / "home", scheduling=True):
        prefect("work-pool", "create", "pincite", "--type", "process")
        prefect("--no-prompt", "deploy", "--all")
        prefect("deployment", "run", "nightly/nightly")
        prefect("worker", "start", "--pool", "pincite", "--run-once")
        with get_client(sync_client=True) as client:
            states = [run.state for run in client.read_flow_runs() if run.state and run.state.is_final()]
    assert [state.message for state in states] == [
        "0 discovered, 0 indexed, 0 failed, 0 unchanged, 0 deleted"
    ]
    with Index.open(here / "pincite-index") as opened:
        assert [one.name for one in index_report(opened, None).collections] == ["docs"]
