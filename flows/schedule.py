"""Schedule: the nightly flow as a deployment, served by this process while a block runs.

with prefect_api(home, scheduling=True), serve_schedule(index, settings):
    ...                                 # the deployment "nightly/nightly" runs at its times, and when it is asked to

Each run is a process of its own. One at a time: a run that is due while another goes on waits for its end, and one
that finds the index held by a run from elsewhere ends as Cancelled, naming the holder.
"""

import asyncio
import contextvars
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.errors import ServerFailed, UsageError
from schemas.settings import Schedule, Settings

if TYPE_CHECKING:
    from prefect.runner import Runner
    from prefect.schedules import Schedule as PrefectSchedule

NIGHTLY = "nightly/nightly"
POLL_S = 5.0
START_S = 60.0  # longest wait for the server to take the deployment
STOP_S = 30.0  # longest wait for the process of a run that is ended with us


def schedule_of(schedule: Schedule) -> "PrefectSchedule | None":
    """The cron schedule in its time zone; None where none is set. Raises `UsageError` for a wrong one.

    Times follow the clocks of the time zone over a change to and from summer time; an hour that is skipped moves its
    run to the next one that exists, and one that comes twice runs once.
    """
    from prefect.client.schemas.schedules import CronSchedule
    from prefect.schedules import Cron

    if not schedule.cron:
        return None
    try:
        CronSchedule(cron=schedule.cron, timezone=schedule.timezone)
    except ValueError as error:
        raise UsageError(
            f"[schedule] cron {schedule.cron!r}, timezone {schedule.timezone!r}: {error}"
        ) from error
    return Cron(schedule.cron, timezone=schedule.timezone)


@contextmanager
def serve_schedule(index: Path, settings: Settings, every_s: float | None = None) -> Iterator[None]:
    """Serves the deployment in a thread until the block ends; without a cron it runs only when it is asked to.

    `every_s` replaces the cron by an interval. A run that goes on at the end is ended; the next takes up the rest.
    """
    from prefect.schedules import Interval

    when = Interval(timedelta(seconds=every_s)) if every_s else schedule_of(settings.schedule)
    served: Future[tuple[Runner, asyncio.AbstractEventLoop]] = Future()
    context = contextvars.copy_context()  # the settings of `prefect_api` are in it
    thread = threading.Thread(
        target=context.run, args=(_serve_in_thread, index, when, served), name="schedule", daemon=True
    )
    thread.start()
    try:
        runner, loop = served.result(START_S)
    except TimeoutError as error:
        raise ServerFailed(
            f"the Prefect server did not take the deployment within {START_S:.0f} s"
        ) from error
    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(runner.astop(), loop).result(STOP_S)
        thread.join(STOP_S)


def _serve_in_thread(index: Path, when: "PrefectSchedule | None", served: "Future[Any]") -> None:
    try:
        asyncio.run(_serve(index, when, served))
    except Exception as error:
        if served.done():
            raise
        served.set_exception(ServerFailed(f"the Prefect server did not take the deployment: {error}"))


async def _serve(index: Path, when: "PrefectSchedule | None", served: "Future[Any]") -> None:
    from prefect.runner import Runner
    from prefect.types.entrypoint import EntrypointType

    from flows.nightly import nightly

    flow_name, name = NIGHTLY.split("/")
    deployment = await nightly.ato_deployment(
        name=name,
        schedule=when,
        parameters={"index": str(index.resolve())},
        description="All collections of the index are brought up to date.",
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    runner = Runner(name=flow_name, query_seconds=POLL_S, limit=1, pause_on_shutdown=False)
    await runner.aadd_deployment(deployment)
    served.set_result((runner, asyncio.get_running_loop()))
    await runner.start()
