"""The embedded Prefect server: a loopback server of our own, started for a run and gone with it.

    with prefect_api(home):
        reindex(...)            # a flow of this process; its runs are recorded

Where `PREFECT_API_URL` is set, that server is used and none is started. Otherwise `flows.prefect_server.process` runs
on a free port of 127.0.0.1 under a random password, with a home of its own below `home`, so that neither the
user's `~/.prefect` nor its profile is read or written. Nothing outside this machine is contacted.

Several processes may share one `home`: each locks the first free slot (`home/slot-0`, `home/slot-1`, ...).
A server whose parent was killed ends by itself; one that could not (stopped, swapped out) is found by its pid
file and ended when its slot is used next.

Prefect is imported late, in here: its import looks at the environment, and costs a CPU second.
"""

import fcntl
import logging
import os
import secrets
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from itertools import count
from pathlib import Path
from queue import Empty
from typing import IO

import psutil

from pincite.schemas import import_path
from pincite.schemas.addresses import is_loopback, past_proxies, without_user
from pincite.schemas.counting import counted
from pincite.schemas.errors import PinciteError, ServerFailed
from pincite.storage.objects.disk_errors import writable

START_S = 120.0  # longest wait for a server to answer: ten times of what it takes on two idle cores
NEEDS_BYTES = 2_000_000  # of disk: a server that has done nothing yet has 1.1 MB
STOP_S = 90.0  # longest wait for a server to store its last records
ANSWER_S = 10.0  # longest wait for a server that should be there already
_LOG_TAIL = 2_000  # characters of the log in an error

_QUIET = {
    "DO_NOT_TRACK": "1",  # importing prefect in a terminal reports the import otherwise
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_SERVER_EPHEMERAL_ENABLED": "false",  # no second server behind our back
}

_SERVER = {
    **_QUIET,
    "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
    "PREFECT_SERVER_UI_ENABLED": "false",
    "PREFECT_SERVER_UI_V2_ENABLED": "false",  # its page calls an outside host even with analytics off
    "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": "http://127.0.0.1",  # the default lets every web page in
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
    "PREFECT_SERVER_EVENTS_MESSAGING_BROKER": "pincite.flows.prefect_server.event_broker",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    # Of the services only the recorder of task runs is needed; the others cost half a millisecond a task.
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_EVENT_LOGGER_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
    "PREFECT_SERVER_EVENTS_STREAM_OUT_ENABLED": "false",
    "PREFECT_SERVER_LOGS_STREAM_OUT_ENABLED": "false",
}

_SCHEDULING = {
    "PREFECT_SERVER_SERVICES_SCHEDULER_ENABLED": "true",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",  # such a server may run for months
    "PREFECT_SERVER_SERVICES_FOREMAN_ENABLED": "false",  # it watches workers, of which there are none
}

_logger = logging.getLogger(__name__)


@contextmanager
def prefect_api(home: Path, scheduling: bool = False) -> Iterator[str]:
    """The URL of a Prefect API that flows use which run inside, in this process and thread.

    A server that is `scheduling` also makes the runs of deployments with a schedule. Raises `ServerFailed` when a
    server of our own does not start. At the end all records of task runs are stored, and the server and its process
    group are gone.
    """
    with starting(home, scheduling) as start, start.ready() as url:
        yield url


@contextmanager
def starting(home: Path, scheduling: bool = False) -> Iterator["StartedServer"]:
    """A server that starts while other work goes on; `ready()` of what comes back waits for it."""
    if url := os.environ.get("PREFECT_API_URL"):
        require_answer(url)
        with _environment({"DO_NOT_TRACK": "1", **past_proxies(os.environ)}):
            yield StartedServer(url)
        return
    with _slot(home) as slot:
        password = f"pincite:{secrets.token_urlsafe(24)}"
        server = _spawn(slot, password, scheduling)
        try:
            with _environment(
                {**_QUIET, **past_proxies(os.environ), "PREFECT_HOME": str(slot)}, drop=_foreign()
            ):
                yield StartedServer("", slot, password, server)
        finally:
            _stop(server)
            (slot / "server.pid").unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class StartedServer:
    """A server that was started, or one that stood already (then only `url` is set)."""

    url: str
    slot: Path = Path()
    password: str = ""
    server: subprocess.Popen[bytes] | None = None

    @contextmanager
    def ready(self) -> Iterator[str]:
        """The URL, once the server answers; flows of this thread use it inside."""
        if self.server is None:
            with server_faults():
                yield self.url
            return
        url = f"http://127.0.0.1:{_port(self.server, self.slot / 'server.log')}/api"
        # Imported now and not while the server starts: the two would leave searches no core of two for some seconds.
        from prefect.events.worker import EventsWorker
        from prefect.settings import temporary_settings

        logging.getLogger("EventsWorker").setLevel(logging.ERROR)  # it warns of every drain
        # The environment is for threads that Prefect starts without our context and for child processes,
        # the settings are for a prefect that was imported before.
        with (
            _environment({"PREFECT_API_URL": url, "PREFECT_API_AUTH_STRING": self.password}),
            temporary_settings(_client_settings(url, self.password, self.slot)),
        ):
            try:
                with server_faults():
                    yield url
            finally:
                if self.server.poll() is not None:
                    self._give_up_records(self.server.returncode)
                EventsWorker.drain_all(timeout=STOP_S)

    def _give_up_records(self, code: int) -> None:
        """Empties the queue of events to a dead server: each would be tried for seconds, also at exit."""
        from prefect.events.worker import EventsWorker

        for worker in tuple(EventsWorker._instances.values()):  # type: ignore[misc]  # of a generic class
            with suppress(Empty):
                while isinstance(worker, EventsWorker):
                    worker._queue.get_nowait()
        _logger.warning(
            "the embedded Prefect server ended during the run (exit code %d): its records of this run are not "
            "complete, the ledger's are. Its log: %s",
            code,
            self.slot / "server.log",
        )


def _client_settings(url: str, password: str, slot: Path) -> Mapping[str, object]:
    return {
        "home": slot,
        "api.url": url,
        "api.auth_string": password,
        "api.key": None,
        "logging.to_api.enabled": False,
        "server.ephemeral.enabled": False,
        # Nobody listens to heartbeats here, and the thread that sends them holds up a flow's end by a second.
        "flows.heartbeat_frequency": None,
        # A server of ours that is gone does not come back: 14 s of trying are enough for a busy one.
        "client.max_retries": 3,
    }


def answers(url: str) -> bool:
    """Whether a Prefect server answers at this URL of its API, with whatever words."""
    import httpx

    try:
        with httpx.Client(timeout=ANSWER_S, trust_env=not is_loopback(url)) as client:
            return client.get(f"{url.rstrip('/')}/health").status_code < 500
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return False


def require_answer(url: str) -> None:
    """Raises `ServerFailed` unless a Prefect server of the user's own answers."""
    if not answers(url):
        raise ServerFailed(
            f"no Prefect server answers at {without_user(url)} (PREFECT_API_URL): start it, or unset the variable, "
            "and Pincite starts one of its own. Nothing was changed"
        )


@contextmanager
def server_faults() -> Iterator[None]:
    """What Prefect raises in the block when its server is gone is told as `ServerFailed`, in one line."""
    with _quiet_loggers():
        try:
            yield
        except PinciteError:
            raise
        except Exception as error:
            url = os.environ.get("PREFECT_API_URL", "")
            if answers(url):
                raise
            raise ServerFailed(
                f"the Prefect server at {without_user(url)} ended or can't be reached any more "
                f"({type(error).__name__}): what was finished is kept, run again"
            ) from error


@contextmanager
def _quiet_loggers() -> Iterator[None]:
    """Prefect prints the traceback of each request to a server that is gone; we say once that it is."""
    handlers = logging.getLogger("prefect").handlers
    for handler in handlers:
        handler.addFilter(_is_of_interest)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(_is_of_interest)


def _is_of_interest(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    module = type(error).__module__
    return not (module.startswith(("httpx", "httpcore")) or "Failed to reach API" in str(error))


@contextmanager
def _slot(home: Path) -> Iterator[Path]:
    """A locked folder for one server. The lock ends with this process, however it ends."""
    for number in count():
        slot = home.resolve() / f"slot-{number}"
        with writable(slot):
            slot.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (slot / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            _end_leftover(slot / "server.pid")
            yield slot
            return


def _end_leftover(pid_file: Path) -> None:
    """Ends the server of a killed parent, unless its pid now belongs to another process.

    Told by the command line, which names the slot; start times move with the system's clock. A file without a number
    is of a machine that lost its power, and its server with it.
    """
    try:
        process = psutil.Process(int(pid_file.read_text()))
        if not {"pincite.flows.prefect_server.process", str(pid_file.parent)} <= set(process.cmdline()):
            return
    except (FileNotFoundError, ValueError, psutil.NoSuchProcess, psutil.AccessDenied):
        return
    _logger.warning("ended a Prefect server that a killed run left behind (process %d)", process.pid)
    _kill_group(process.pid)
    process.wait(STOP_S)


def _spawn(slot: Path, password: str, scheduling: bool) -> subprocess.Popen[bytes]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    own = {"PREFECT_HOME": str(slot), "PREFECT_SERVER_API_AUTH_STRING": password}
    more = ["scheduling"] if scheduling else []
    template = _cache() / f"prefect-{version('prefect')}.db"
    with (slot / "server.log").open("wb") as log:
        server = subprocess.Popen(
            import_path.python("pincite.flows.prefect_server.process", str(slot), str(template), *more),
            env={
                **kept,
                **import_path.environment(),
                **_SERVER,
                **(_SCHEDULING if scheduling else {}),
                **own,
            },
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # Ctrl-C ends the run, which then still needs its server
        )
    written = slot / "server.pid.new"
    written.write_text(str(server.pid))
    written.replace(slot / "server.pid")  # whole, or not there
    return server


def _cache() -> Path:
    """Where the empty database for new servers is kept, for all homes of this user (XDG Base Directory)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pincite"


def _port(server: subprocess.Popen[bytes], log: Path) -> int:
    """The port on which the server answers. Waits for it, at most `START_S`."""
    output = _pipe(server.stdout)
    began = time.monotonic()
    readable, _, _ = select.select([output], [], [], START_S)
    line = output.readline() if readable else b""
    if line:
        return int(line)
    why = "it ended" if readable else f"no answer within {START_S:.0f} s"
    tail = log.read_text(errors="replace")[-_LOG_TAIL:].strip()
    free = shutil.disk_usage(log.parent).free
    room = f"has only {counted(free, 'byte')} free, and it needs some {NEEDS_BYTES:,}"
    remedy = (
        f"The disk of {log.parent} {room}: make room"
        if free < NEEDS_BYTES
        else "Set PREFECT_API_URL to use a server of your own"
    )
    raise ServerFailed(
        f"The embedded Prefect server did not start ({why}, after {time.monotonic() - began:.0f} s). "
        f"{remedy}. The end of {log}:\n{tail or '(nothing)'}"
    )


def _stop(server: subprocess.Popen[bytes]) -> None:
    """Lets the server store what it was sent, then ends its process group."""
    with server:
        try:
            if server.poll() is None:
                _pipe(server.stdin).write(b"\n")
                server.wait(STOP_S)
        except (BrokenPipeError, subprocess.TimeoutExpired) as error:
            _logger.warning("the embedded Prefect server did not end in order: %s", error)
        finally:
            _kill_group(server.pid)


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise AssertionError("the server is started with pipes")
    return pipe


def _foreign() -> frozenset[str]:
    """Variables that would lead our client to the user's own profile or account."""
    return frozenset({"PREFECT_PROFILE", "PREFECT_PROFILES_PATH", "PREFECT_API_KEY"})


@contextmanager
def _environment(values: Mapping[str, str], drop: frozenset[str] = frozenset()) -> Iterator[None]:
    """The environment with `values` and without `drop`, as it was afterwards."""
    before = {name: os.environ.get(name) for name in {*values, *drop}}
    for name in drop:
        os.environ.pop(name, None)
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
