"""What the processes of one test session share: a folder, things made once, one Prefect server."""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from pincite.flows.prefect_server import server as embedded


def session_folder(factory: pytest.TempPathFactory) -> Path:
    """The temporary folder of the whole session; under xdist it is above the folders of the workers."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@contextmanager
def _locked(file: Path) -> Iterator[IO[str]]:
    """The file, locked against the other workers."""
    with file.open("w") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield opened


def made_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """The folder, filled by the first worker that asks for it. Nobody changes it: who wants to makes a copy."""
    whole = folder / "whole"
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / "lock"):
        if not whole.exists():
            make(folder)
            whole.touch()
    return folder


@contextmanager
def shared_prefect_server(folder: Path) -> Iterator[str]:
    """The URL of the session's Prefect server. Who asks first starts it, and ends it once all others have left."""
    folder.mkdir(parents=True, exist_ok=True)
    address = folder / "address.json"
    with (folder / "users").open("w") as users, _locked(folder / "door") as door:
        fcntl.flock(users, fcntl.LOCK_SH)
        if address.exists():
            fcntl.flock(door, fcntl.LOCK_UN)
            with _using(folder, *json.loads(address.read_text())) as url:
                yield url
            return
        with embedded.prefect_api(folder) as url:
            address.write_text(json.dumps([url, os.environ["PREFECT_API_AUTH_STRING"]]))
            fcntl.flock(door, fcntl.LOCK_UN)
            try:
                yield url
            finally:
                fcntl.flock(door, fcntl.LOCK_EX)  # nobody comes in any more
                address.unlink()
                fcntl.flock(users, fcntl.LOCK_EX)  # all others have left


@contextmanager
def _using(folder: Path, url: str, password: str) -> Iterator[str]:
    """Flows of this process, and commands that it starts, use the server of another worker."""
    from prefect.events.worker import EventsWorker
    from prefect.settings import temporary_settings

    home = folder / os.environ["PYTEST_XDIST_WORKER"]
    given = {"PREFECT_API_URL": url, "PREFECT_API_AUTH_STRING": password, "PREFECT_HOME": str(home)}
    with (
        embedded._environment({**embedded._QUIET, **given}, drop=embedded._foreign()),
        temporary_settings(embedded._client_settings(url, password, home)),
    ):
        try:
            yield url
        finally:
            EventsWorker.drain_all(timeout=embedded.STOP_S)
