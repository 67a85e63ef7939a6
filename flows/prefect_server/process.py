"""The process of the embedded Prefect server.

    python -m pincite.flows.prefect_server.process HOME TEMPLATE [scheduling]

Started by `prefect_server.server` only. It binds a free port of 127.0.0.1, serves Prefect's API there, writes the
port as one line to stdout when it answers, and ends

- after a drain, when its stdin brings a byte: all task-run records that it was sent are stored first;
- at once, when its stdin ends or its parent changes: whoever started it is gone.

Each start begins with an empty database: a copy of TEMPLATE, which the first start writes, because Prefect's
migrations cost 4.4 CPU s. So no run of a killed parent stays "Running", and the recorder of task runs, which
scans its table at every flush, does not slow down from run to run. The last run's records stay readable.
"""

import asyncio
import gc
import os
import select
import shutil
import socket
import sqlite3
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uvicorn import Server

DRAIN_S = 60.0  # longest wait for events that are still in the server's queue
HANG_UP_S = 5.0  # longest wait for requests and web sockets that are still open
_WATCH_S = 1.0  # between two looks at the parent
_TICK_S = 0.02


def main() -> None:
    gc.disable()  # a fifth of the time to import Prefect's server goes to looking for garbage that there is not
    home, template = Path(sys.argv[1]), Path(sys.argv[2])
    # Prefect reads `.env`, `prefect.toml` and `pyproject.toml` in its working directory; what stands there
    # where Pincite is called from is not meant for this server.
    os.chdir(home)
    stop = threading.Event()
    threading.Thread(target=_watch_parent, args=(os.getppid(), stop), daemon=True).start()
    _empty_database(home / "prefect.db", template)
    asyncio.run(_serve(home / "prefect.db", template, stop, scheduling="scheduling" in sys.argv[3:]))
    # The records are stored; what is left is a second of farewells between Prefect's own services.
    os._exit(0)


def _watch_parent(parent: int, stop: threading.Event) -> None:
    """Sets `stop` when the parent asks for it; ends this process when the parent is gone."""
    while True:
        readable, _, _ = select.select([0], [], [], _WATCH_S)
        if readable and os.read(0, 1):
            return stop.set()
        # Another child of the parent may hold the pipe open after the parent's death.
        if readable or os.getppid() != parent:
            os._exit(1)


def _empty_database(database: Path, template: Path) -> None:
    """Puts a copy of the template in place, or nothing where there is no sound one: Prefect then migrates."""
    for suffix in ("", "-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    if not template.exists():
        return
    shutil.copyfile(template, database)
    try:
        with closing(sqlite3.connect(database)) as copy:
            sound = copy.execute("PRAGMA quick_check").fetchone() == ("ok",)
            sound = sound and copy.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)
    except sqlite3.DatabaseError:
        sound = False
    if not sound:
        print(f"{template} was damaged and is written again", file=sys.stderr)
        template.unlink(missing_ok=True)
        database.unlink()


def _keep_template(database: Path, template: Path) -> None:
    """Keeps the migrated, still empty database for later starts; where it can't, they take longer."""
    if template.exists():
        return
    draft = template.with_name(f"{template.name}.{os.getpid()}")
    try:
        template.parent.mkdir(parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(draft)) as target:
            source.backup(target)
        draft.rename(template)
    except (OSError, sqlite3.OperationalError) as error:
        print(f"{template} could not be written: {error}", file=sys.stderr)


async def _serve(database: Path, template: Path, stop: threading.Event, scheduling: bool) -> None:
    import uvicorn
    from prefect.server.api.server import create_app

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        create_app(ephemeral=not scheduling, final=True),
        lifespan="on",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(_TICK_S)
    gc.freeze()  # what was imported stays, and need not be looked at again
    gc.enable()
    if server.started:
        _keep_template(database, template)
        print(listener.getsockname()[1], flush=True)
        while not stop.is_set() and not serving.done():
            await asyncio.sleep(_TICK_S)
        await _drain(server)
    server.should_exit = True
    await serving


async def _drain(server: "Server") -> None:
    """Waits until every event that was sent is with the recorder, which stores its last batch at shutdown."""
    from pincite.flows.prefect_server.event_broker import pending

    hang_up = time.monotonic() + HANG_UP_S
    while server.server_state.tasks and time.monotonic() < hang_up:
        await asyncio.sleep(_TICK_S)
    deadline = time.monotonic() + DRAIN_S
    while pending() and time.monotonic() < deadline:
        await asyncio.sleep(_TICK_S)
    if pending():
        print(f"{pending()} events were not recorded within {DRAIN_S:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
