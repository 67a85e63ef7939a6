"""Schedule: the flows nightly, maintain and migrate as deployments, served by this process while a block runs.

with prefect_api(home, scheduling=True), serve_schedule(index, settings):
    ...                                 # "nightly/nightly" runs at its times, and each when it is asked to

Each run is a process of its own. Nightly and maintain hold the index, so one of them at a time: a run that is due
while another goes on waits for its end, and one that finds the index held by a run from elsewhere ends as Cancelled,
naming the holder. A migration takes the index only for moments: it has a runner of its own and goes on beside them.
"""

import asyncio
import contextvars
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pincite.schemas.errors import ServerFailed, UsageError
from pincite.schemas.settings import Schedule, Settings

if TYPE_CHECKING:
    from prefect.runner import Runner
    from prefect.schedules import Schedule as PrefectSchedule

NIGHTLY, MAINTAIN, MIGRATE = "nightly/nightly", "maintain/maintain", "migrate/migrate"
DEPLOYMENTS: Mapping[str, str] = {
    NIGHTLY: "All collections of the index are brought up to date.",
    MAINTAIN: "Small segments are merged, and files that no version needs any more are removed.",
    MIGRATE: "The index moves to another embedding model or chunker while it is searched, or back.",
}
"""What each is for."""
_RUNNERS: Mapping[str, Sequence[str]] = {"index": (NIGHTLY, MAINTAIN), "migration": (MIGRATE,)}
"""Of each runner the deployments that run one at a time."""
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
def serve_schedule(address: str, settings: Settings, every_s: float | None = None) -> Iterator[None]:
    """Serves the deployments of an index in a thread until the block ends; without a cron they run when asked to.

    `address` is its absolute folder, which each run opens. `every_s` replaces the cron of nightly by an interval. A
    run that goes on at the end is ended; the next takes up the rest.
    """
    from prefect.schedules import Interval

    when = Interval(timedelta(seconds=every_s)) if every_s else schedule_of(settings.schedule)
    served: Future[tuple[list[Runner], asyncio.AbstractEventLoop]] = Future()
    context = contextvars.copy_context()  # the settings of `prefect_api` are in it
    thread = threading.Thread(
        target=context.run, args=(_serve_in_thread, address, when, served), name="schedule", daemon=True
    )
    thread.start()
    try:
        runners, loop = served.result(START_S)
    except TimeoutError as error:
        raise ServerFailed(
            f"the Prefect server did not take the deployments within {START_S:.0f} s"
        ) from error
    try:
        yield
    finally:
        stopping = [asyncio.run_coroutine_threadsafe(runner.astop(), loop) for runner in runners]
        for one in stopping:
            one.result(STOP_S)
        thread.join(STOP_S)


def _serve_in_thread(address: str, when: "PrefectSchedule | None", served: "Future[Any]") -> None:
    try:
        asyncio.run(_serve(address, when, served))
    except Exception as error:
        if served.done():
            raise
        served.set_exception(ServerFailed(f"the Prefect server did not take the deployments: {error}"))


async def _serve(address: str, when: "PrefectSchedule | None", served: "Future[Any]") -> None:
    from prefect.runner import Runner

    runners = []
    for name, deployments in _RUNNERS.items():
        runner = Runner(name=name, query_seconds=POLL_S, limit=1, pause_on_shutdown=False)
        for one in deployments:
            await runner.aadd_deployment(await _deployment(one, address, when if one == NIGHTLY else None))
        runners.append(runner)
    served.set_result((runners, asyncio.get_running_loop()))
    await asyncio.gather(*(runner.start() for runner in runners))


async def _deployment(deployment: str, address: str, when: "PrefectSchedule | None") -> Any:
    from prefect.types.entrypoint import EntrypointType

    from pincite.flows.maintain import maintain
    from pincite.flows.migrate import migrate
    from pincite.flows.nightly import nightly

    flow: Any = {NIGHTLY: nightly, MAINTAIN: maintain, MIGRATE: migrate}[deployment]
    return await flow.ato_deployment(
        name=deployment.partition("/")[2],
        schedule=when,
        parameters={"index": address},
        description=DEPLOYMENTS[deployment],
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
