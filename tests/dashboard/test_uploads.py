"""Uploads: whole or not at all, in the folder of the collection and nowhere else."""

import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from pincite.dashboard.actions.upload_files import NameTaken, checked_name, put
from pincite.schemas.errors import NotFound, UsageError
from pincite.schemas.records import Collection
from pincite.tasks.sources.folder import list_files
from tests.dashboard.conftest import ROOT, Server, reindex, serving
from tests.dashboard.http.test_sessions import HTML, csrf_of


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", ".hidden", "../a.txt", "a/b.txt", "/etc/passwd", "..\\a.txt", "C:\\a.txt", "a\0b"),
        *("a\nb.txt", "x" * 201, "ф" * 101, "turned\u202etxt.exe"),
    ],
)
def test_a_name_that_could_leave_the_folder_or_hide_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        checked_name(name)


@pytest.mark.parametrize(
    "name", ["a.txt", "Ведомость 3.pdf", "<img src=x>.txt", "日本.md", "a..b", "-rf.txt"]
)
def test_other_names_are_kept_as_they_are(name: str) -> None:
    assert checked_name(name) == name


def test_a_file_is_written_whole_and_never_over_another_without_a_word(tmp_path: Path) -> None:
    here = Collection("docs", str(tmp_path.resolve()))
    written = put(here, "a.txt", io.BytesIO(b"one"), replace=False)
    assert written.read_bytes() == b"one"
    with pytest.raises(NameTaken, match="is there already"):
        put(here, "a.txt", io.BytesIO(b"two"), replace=False)
    assert written.read_bytes() == b"one"
    written.chmod(0o640)
    put(here, "a.txt", io.BytesIO(b"two"), replace=True)
    assert written.read_bytes() == b"two" and written.stat().st_mode & 0o777 == 0o640

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(UsageError, match="can't be written"):
        put(here, "a.txt", Broken(), replace=True)
    assert written.read_bytes() == b"two" and os.listdir(tmp_path) == ["a.txt"]


def test_no_link_leads_out_of_the_folder(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (inside / "link.txt").symlink_to(outside / "secret.txt")
    (inside / "folder").symlink_to(outside)
    here = Collection("docs", str(inside.resolve()))
    for path in ("link.txt", "folder/secret.txt", "folder/new.txt", "../out/new.txt"):
        with pytest.raises((UsageError, NotFound)):
            put(here, path, io.BytesIO(b"changed"), replace=True)
    assert (outside / "secret.txt").read_text() == "secret" and os.listdir(outside) == ["secret.txt"]
    with pytest.raises(UsageError, match="no folder of this machine"):
        put(Collection("far", "s3://bucket/docs"), "a.txt", io.BytesIO(b""), replace=False)
    with pytest.raises(NotFound, match="is not there"):
        put(Collection("gone", str(tmp_path / "gone")), "a.txt", io.BytesIO(b""), replace=False)


def test_a_file_whose_name_is_not_utf8_is_not_replaced_by_another_beside_it(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"latin\xe9.md")).write_bytes(b"one")
    (listed,) = list_files(tmp_path, None)
    with pytest.raises(UsageError, match="rename it"):
        put(Collection("docs", str(tmp_path.resolve())), listed.path, io.BytesIO(b"two"), replace=True)
    assert os.listdir(os.fsencode(tmp_path)) == [b"latin\xe9.md"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uploaded-to").resolve()
    (folder / "first.txt").write_text("The first text of the folder.")
    (folder / "deep").mkdir()
    (folder / "deep" / "empty.txt").write_text("")
    reindex(folder.with_name("index-of-uploads"), folder)
    return folder


@pytest.fixture(scope="module")
def open_server(folder: Path) -> Iterator[Server]:
    with silent_prefect() as url:
        variables = {"PINCITE_LIMITS__SOURCE_BYTES": "200000", "PREFECT_API_URL": url}
        with serving(folder.with_name("index-of-uploads"), **variables) as running:
            yield running


@contextmanager
def silent_prefect() -> Iterator[str]:
    """A server that says that it is well, and nothing else until the end: no run of its starts or ends."""
    ended = threading.Event()

    class Silent(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.endswith("/health"):
                ended.wait()
            self.send_response(200)
            self.end_headers()

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/api"
        finally:
            ended.set()
            server.shutdown()


@pytest.fixture
def client(open_server: Server) -> Iterator[httpx.Client]:
    with open_server.client() as opened:
        opened.headers["X-CSRF-Token"] = csrf_of(opened.get("/", headers=HTML).text)
        yield opened


def upload(client: httpx.Client, name: str, content: bytes, **fields: str) -> httpx.Response:
    return client.post("/ui/upload", files={"file": (name, content)}, data=fields)


def test_a_file_is_uploaded_into_its_collection(folder: Path, client: httpx.Client) -> None:
    told = upload(client, "new.txt", b"A new text.", collection=folder.name)
    assert told.status_code == 200 and "new.txt" in told.text and "The next run indexes it" in told.text
    assert (folder / "new.txt").read_bytes() == b"A new text."
    again = upload(client, "new.txt", b"Another.", collection=folder.name)
    assert again.status_code == 422 and "is there already" in again.json()["detail"]
    for name in ("../up.txt", "a/b.txt", ".hidden"):
        assert upload(client, name, b"x", collection=folder.name).status_code == 422, name
    assert upload(client, "a.txt", b"x", collection="nowhere").status_code == 404
    assert not (folder.parent / "up.txt").exists()


def test_the_file_of_a_document_is_replaced_wherever_it_lies(folder: Path, client: httpx.Client) -> None:
    rows = {row["document"]: row for row in client.get("/documents").json()["documents"]}
    told = upload(
        client, "other-name.txt", b"Now there is text.", document=rows["deep/empty.txt"]["document_id"]
    )
    assert told.status_code == 200
    assert (folder / "deep" / "empty.txt").read_bytes() == b"Now there is text."
    assert upload(client, "a.txt", b"x", document="0123456789abcdef").status_code == 404


def send(client: httpx.Client, name: str, content: bytes, **fields: str) -> httpx.Response:
    """As a program does, without a page."""
    return client.post("/documents", files={"file": (name, content)}, data=fields)


def test_a_program_uploads_and_replaces_a_file(folder: Path, open_server: Server) -> None:
    with open_server.client() as client:
        told = send(client, "by-program.txt", b"A text of a program.", collection=folder.name)
        assert told.status_code == 201
        expected = {
            "document": "by-program.txt",
            "collection": folder.name,
            "order": None,
            "not_started": None,
        }
        assert told.json() == expected
        assert (folder / "by-program.txt").read_bytes() == b"A text of a program."
        assert send(client, "by-program.txt", b"x", collection=folder.name).status_code == 422
        again = send(client, "by-program.txt", b"Another.", collection=folder.name, replace="true")
        assert again.status_code == 201 and (folder / "by-program.txt").read_bytes() == b"Another."
        for name in ("../up.txt", ".hidden", "a\x1bb.txt", "turned\u202etxt.exe", "x" * 300):
            assert send(client, name, b"x", collection=folder.name).status_code in (400, 422), name
        assert send(client, "a.txt", b"x", collection="nowhere").status_code == 404
        rows = {row["document"]: row for row in client.get("/documents").json()["documents"]}
        document = rows["first.txt"]["document_id"]
        told = client.put(f"/documents/{document}/file", files={"file": ("other.txt", b"Replaced.")})
        assert told.status_code == 200 and told.json()["document"] == "first.txt"
        assert (folder / "first.txt").read_bytes() == b"Replaced."
        told = client.put("/documents/none/file", files={"file": ("other.txt", b"Replaced.")})
        assert told.status_code == 404
        large = client.put(f"/documents/{document}/file", files={"file": ("l.txt", b"x" * 300_000)})
        assert large.status_code == 413 and (folder / "first.txt").read_bytes() == b"Replaced."


def test_a_page_of_another_site_can_not_upload(folder: Path, open_server: Server) -> None:
    with open_server.client(headers={"Origin": "http://evil.example"}) as client:
        assert send(client, "evil.txt", b"x", collection=folder.name).status_code == 403
        assert client.put("/documents/any/file", files={"file": ("a.txt", b"x")}).status_code == 403
        for path in ("/runs", "/retry", "/runs/any/cancel", "/orders/any/cancel"):
            assert client.post(path, json={}).status_code == 403
    assert not (folder / "evil.txt").exists()


def test_a_file_that_is_stored_is_said_to_be_though_its_run_can_not_start(
    folder: Path, client: httpx.Client
) -> None:
    for _ in range(20):  # as many as there may be; none starts, since the Prefect server says nothing
        client.post("/runs")
    told = send(client, "stored.txt", b"Stored.", collection=folder.name, run="true")
    assert told.status_code == 201 and told.json()["order"] is None
    assert "20 runs are asked for" in told.json()["not_started"]
    told = upload(client, "stored-too.txt", b"Stored.", collection=folder.name, run="yes")
    assert told.status_code == 200
    assert "stored-too.txt</bdi> is stored. The run was not started: 20 runs" in told.text
    assert (folder / "stored.txt").exists() and (folder / "stored-too.txt").exists()


WRITING = """
import io, sys, time
from pathlib import Path
from pincite.dashboard.actions.upload_files import put
from pincite.schemas.records import Collection

class Slow(io.BytesIO):
    def read(self, size=-1):
        print("writing", flush=True)
        time.sleep(300)
        return b""

put(Collection("docs", sys.argv[1]), "a.txt", Slow(), replace=False)
"""


@contextmanager
def writing(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that goes on writing an upload."""
    command = [sys.executable, "-c", WRITING, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "writing\n"
            yield process
        finally:
            process.kill()


def test_what_a_killed_upload_left_is_swept_when_a_server_starts(tmp_path: Path) -> None:
    docs = (tmp_path / "docs").resolve()
    (docs / "deep").mkdir(parents=True)
    (docs / "deep" / "a.txt").write_text("A text.")
    reindex(tmp_path / "index", docs)
    with writing(docs / "deep") as killed:
        killed.kill()
        killed.wait()
    (left,) = (docs / "deep").glob(".*.upload")
    (docs / ".notes.upload").write_text("of a person")
    with writing(docs) as at_work, serving(tmp_path / "index") as server, server.client() as client:
        (being_written,) = set(docs.glob(".*.upload")) - {docs / ".notes.upload"}
        until = time.monotonic() + 60
        while left.exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert not left.exists() and being_written.exists() and at_work.poll() is None
        assert (docs / ".notes.upload").exists() and (docs / "deep" / "a.txt").exists()
        assert client.get("/healthz").status_code == 200


def test_only_uploads_may_be_large_and_only_to_their_limit(folder: Path, client: httpx.Client) -> None:
    assert upload(client, "large.txt", b"x" * 150_000, collection=folder.name).status_code == 200
    told = upload(client, "larger.txt", b"x" * 300_000, collection=folder.name)
    assert told.status_code == 413 and "larger than 200,000 bytes" in told.json()["detail"]

    def endless() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="e.txt"\r\n\r\n'
        while True:
            yield b"x" * 50_000

    try:
        kind = {"Content-Type": "multipart/form-data; boundary=b"}
        told = client.post("/ui/upload", content=endless(), headers=kind)
        assert told.status_code == 413
    except (httpx.WriteError, httpx.ReadError):  # the server hung up while we were still sending
        pass
    assert sorted(one.name for one in folder.iterdir() if one.suffix == ".upload") == []
    assert not (folder / "larger.txt").exists() and not (folder / "e.txt").exists()
