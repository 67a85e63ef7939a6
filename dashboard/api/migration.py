"""/migration: how one stands, and what is asked of it."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Response

from pincite.dashboard.actions.migrations import cancel, go, seen, start, waive
from pincite.dashboard.api.migration_models import (
    MigrationBody,
    StartBody,
    SwitchBody,
    WaiveBody,
    migration_body,
)
from pincite.dashboard.api.run_models import OrderBody, ordered
from pincite.dashboard.http.problems import READS, WRITES, described
from pincite.dashboard.state.serving import Served
from pincite.tasks.migration.plan import VERBS, Way

router = APIRouter(prefix="/migration", tags=["migration"])


@router.get("", responses=described(*READS))
async def migration(served: Served) -> MigrationBody:
    """Model versions, progress with the remaining time, what blocks it, the quality check, what can be asked for."""
    return await served.work.run(lambda: migration_body(seen(served)))


@router.post("", status_code=202, responses=described(*WRITES))
async def begin(served: Served, response: Response, body: StartBody) -> OrderBody:
    """Builds another model version beside the searched one, evaluates both, and waits for the word to switch."""
    return ordered(response, await served.work.run(lambda: start(served, body.options())))


@router.post("/switch", status_code=202, responses=described(*WRITES))
async def switch(served: Served, response: Response, body: SwitchBody | None = None) -> OrderBody:
    """Goes on with what waits for the word: the last catch-up, and the switch unless the quality check says no.

    A verdict that is older than what the model versions hold is renewed first.
    """
    force = body.force if body else ""
    return ordered(response, await served.work.run(lambda: go(served, "switch", force)))


def _going(way: Way) -> Callable[..., Awaitable[OrderBody]]:
    async def endpoint(served: Served, response: Response) -> OrderBody:
        return ordered(response, await served.work.run(lambda: go(served, way)))

    return endpoint


for way in [one for one in VERBS if one != "switch"]:
    router.post(
        f"/{way}",
        status_code=202,
        responses=described(*WRITES),
        name=way.replace("-", "_"),
        description=VERBS[way].effect,
    )(_going(way))


@router.post("/waive", responses=described(*WRITES))
async def leave_out(served: Served, body: WaiveBody) -> MigrationBody:
    """Lets the migration end without these documents, which block it."""

    def change() -> MigrationBody:
        waive(served, body.documents)
        return migration_body(seen(served))

    return await served.work.run(change)


@router.post("/cancel", status_code=202, responses=described(404, *WRITES))
async def stop(served: Served) -> MigrationBody:
    """Interrupts the migration that is at work on this machine, or takes its order back: what was built stays."""

    def change() -> MigrationBody:
        cancel(served)
        return migration_body(seen(served))

    return await served.work.run(change)
