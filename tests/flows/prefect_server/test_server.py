"""The embedded Prefect server, with real servers: one for most tests, one more where a parent is killed."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from pincite.flows.prefect_server import process as server_process
from pincite.flows.prefect_server import server as embedded
from pincite.flows.prefect_server.server import ServerFailed, prefect_api, server_faults, starting
from pincite.schemas.errors import IndexBusy

CHECKOUT = Path(embedded.__file__).parents[3]

RUN = """
import sys
from pathlib import Path
from pincite.flows.prefect_server.server import prefect_api

outside = []
def audit(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple) and arguments[1][0] != "127.0.0.1":
        outside.append(arguments[1])
    if event == "socket.getaddrinfo" and arguments[0] not in ("127.0.0.1", "localhost", None):
        outside.append(arguments[0])
sys.addaudithook(audit)

with prefect_api(Path(sys.argv[1])) as url:
    from prefect import flow, task
    from prefect.cache_policies import NO_CACHE
    from prefect.task_runners import ThreadPoolTaskRunner

    @task(cache_policy=NO_CACHE, persist_result=False)
    def document(number: int) -> bool:
        return True

    @flow(task_runner=ThreadPoolTaskRunner(max_workers=8), persist_result=False)
    def run() -> int:
        return sum(future.result() for future in [document.submit(number) for number in range(int(sys.argv[3]))])

    assert run() == int(sys.argv[3])
    if sys.argv[2] == "wait":
        print("ready", flush=True)
        sys.stdin.read()
print(outside)
"""


@dataclass(frozen=True, slots=True)
class Parent:
    """A process that ran a flow of 120 tasks, more than the server writes at once, in `home` and is done with it."""

    home: Path
    output: str
    errors: str


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prefect")


@pytest.fixture
def without_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)


@pytest.fixture(scope="module")
def parent(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Parent:
    user = tmp_path_factory.mktemp("user")
    (user / ".prefect").mkdir()
    (user / ".prefect" / "profiles.toml").write_text(
        'active = "mine"\n[profiles.mine]\nPREFECT_API_URL = "http://192.0.2.1:4200/api"\n'
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN, str(home), "end", "120"],
        cwd=CHECKOUT,
        env=_without_prefect() | {"HOME": str(user), "PREFECT_API_KEY": "of-the-user"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [entry.name for entry in (user / ".prefect").iterdir()] == ["profiles.toml"]
    return Parent(home, done.stdout, done.stderr)


def _without_prefect() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}


def _servers(home: Path) -> list[psutil.Process]:
    """Running server processes of `home`."""
    found = []
    for process in psutil.process_iter():
        try:
            line = process.cmdline()
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
        if "pincite.flows.prefect_server.process" in line and any(
            part.startswith(str(home)) for part in line
        ):
            found.append(process)
    return found


def _servers_when(home: Path, count: int) -> list[psutil.Process]:
    """The servers of `home` once they are `count`, or as they are after 30 s.

    A process that was just started shows an empty command line for a moment.
    """
    deadline = time.monotonic() + 30
    while len(found := _servers(home)) != count and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


HOLD = """
import sys
from pathlib import Path
from pincite.flows.prefect_server.server import starting

with starting(Path(sys.argv[1])):
    print("started", flush=True)
    sys.stdin.read()
"""


@contextmanager
def _holding(home: Path, script: str, ready: str) -> Iterator[subprocess.Popen[str]]:
    """A process that holds a server in `home` until it is killed."""
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, str(home), "wait", "2"],
        cwd=CHECKOUT,
        env=_without_prefect(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == f"{ready}\n"
            yield process
        finally:
            process.kill()


def test_all_task_runs_are_recorded_when_the_server_has_ended(parent: Parent) -> None:
    with closing(sqlite3.connect(parent.home / "slot-0" / "prefect.db")) as database:
        tasks = database.execute("SELECT state_name, count(*) FROM task_run GROUP BY 1").fetchall()
        runs = database.execute("SELECT state_name FROM flow_run").fetchall()
    assert (tasks, runs) == ([("Completed", 120)], [("Completed",)])


def test_nothing_but_this_machine_is_contacted_and_nothing_is_said(parent: Parent) -> None:
    assert (parent.output, parent.errors) == ("[]\n", "")
    assert (parent.home / "slot-0" / "server.log").read_text() == ""


def test_no_process_is_left_at_the_end(parent: Parent) -> None:
    assert _servers(parent.home) == []


def test_flows_of_a_process_that_imported_prefect_before_use_the_server_and_its_password(
    parent: Parent, without_url: None
) -> None:
    import prefect
    from prefect.settings import get_current_settings

    @prefect.task(cache_policy=prefect.cache_policies.NO_CACHE, persist_result=False)
    def document() -> bool:
        return True

    @prefect.flow(persist_result=False)
    def run() -> bool:
        return document.submit().result()

    before = dict(os.environ)
    with prefect_api(parent.home) as url:
        assert run()
        assert os.environ["PREFECT_API_URL"] == url
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{url}/admin/version").close()
        connections = {c.laddr.ip for s in _servers(parent.home) for c in s.net_connections() if c.laddr}
        assert connections == {"127.0.0.1"}
    assert dict(os.environ) == before
    assert get_current_settings().api.url != url
    assert _servers(parent.home) == []


def test_a_set_api_url_is_used_and_nothing_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Healthy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/api/health" else 500)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Healthy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        its = f"http://127.0.0.1:{server.server_port}/api"
        monkeypatch.setenv("PREFECT_API_URL", its)
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        with prefect_api(tmp_path) as url:
            assert url == its and "127.0.0.1" in os.environ["NO_PROXY"]
        server.shutdown()
    assert list(tmp_path.iterdir()) == []


def test_a_set_api_url_that_does_not_answer_is_told_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://user:secret@127.0.0.1:9/api")
    with (
        pytest.raises(ServerFailed, match=r"no Prefect server answers at http://…@127.0.0.1:9/api") as raised,
        prefect_api(tmp_path),
    ):
        raise AssertionError("it was used")
    assert "secret" not in str(raised.value)


def test_what_prefect_raises_when_its_server_is_gone_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    with pytest.raises(ServerFailed, match="what was finished is kept, run again"), server_faults():
        raise RuntimeError("Failed to reach API at http://127.0.0.1:9/api/")
    with pytest.raises(IndexBusy), server_faults():
        raise IndexBusy("another run")


def test_a_killed_parent_takes_its_server_along(home: Path) -> None:
    with _holding(home, RUN, "ready") as holder:
        assert len(_servers(home)) == 1
        holder.kill()
        assert _servers_when(home, 0) == []


def test_a_slot_each_for_two_at_once_and_a_server_that_could_not_end_with_its_parent_is_ended_at_the_next_start(
    home: Path, without_url: None
) -> None:
    with _holding(home, HOLD, "started") as holder:
        (server,) = _servers_when(home, 1)
        with starting(home):
            assert len(_servers_when(home, 2)) == 2
            assert sorted(path.parent.name for path in home.glob("*/server.pid")) == ["slot-0", "slot-1"]
        server.send_signal(signal.SIGSTOP)
        holder.kill()
        holder.wait()
        with starting(home):
            assert len(_servers_when(home, 1)) == 1
            assert server not in _servers(home)
    assert _servers(home) == []


def test_a_pid_file_whose_pid_belongs_to_another_process_ends_nothing(tmp_path: Path) -> None:
    waits = [sys.executable, "-c", "input()"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE, start_new_session=True) as innocent:
        (tmp_path / "server.pid").write_text(str(innocent.pid))
        embedded._end_leftover(tmp_path / "server.pid")
        time.sleep(0.1)
        assert innocent.poll() is None
        innocent.kill()


@pytest.mark.parametrize("written", ["", "12x"])
def test_a_pid_file_without_a_number_ends_nothing_that_is_named_like_a_server(
    written: str, tmp_path: Path
) -> None:
    waits = [
        sys.executable,
        "-c",
        "input()",
        "pincite.flows.prefect_server.process",
        str(tmp_path),
    ]  # as in another container
    with subprocess.Popen(waits, stdin=subprocess.PIPE, start_new_session=True) as innocent:
        (tmp_path / "server.pid").write_text(written)
        embedded._end_leftover(tmp_path / "server.pid")
        time.sleep(0.1)
        assert innocent.poll() is None
        innocent.kill()


def test_a_server_that_does_not_start_shows_the_end_of_its_log(
    tmp_path: Path, without_url: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE"
    monkeypatch.setitem(embedded._SERVER, setting, "nonsense")
    with pytest.raises(ServerFailed, match=r"(?s)it ended.*PREFECT_API_URL.*nonsense"), prefect_api(tmp_path):
        pass
    assert _servers(tmp_path) == []


def test_a_damaged_template_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "template.db").write_bytes(b"not a database" * 100)
    server_process._empty_database(tmp_path / "prefect.db", tmp_path / "template.db")
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_has_no_room_says_so(small_disk: Path, without_url: None) -> None:
    (small_disk / "ballast").write_bytes(bytes(2_900_000))
    with pytest.raises(ServerFailed, match=r"bytes free, and it needs some [\d,]+: make room"):
        prefect_api(small_disk / "prefect").__enter__()
