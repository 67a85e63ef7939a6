"""What became something else since it was listed is never waited for, and never read."""

import os
import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pincite.schemas.settings import Limits
from pincite.storage.snapshots.index import Index
from pincite.tasks.sources.folder import Folder, list_files
from pincite.tasks.sources.left_out import is_left_out
from pincite.tasks.sources.patterns import Patterns
from tests.storage.building import SPACE


def test_a_file_that_became_a_pipe_or_a_device_is_no_regular_file(tmp_path: Path) -> None:
    for name in ("pipe", "socket", "device", "folder"):
        (tmp_path / name).write_text("words")
    folder = Folder(tmp_path, Patterns(), follow_links_out=True)
    files = folder.list_files()
    for file in files:
        Path(file.absolute).unlink()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/tty")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        reasons = {file.path: folder.hashed(file) for file in files}
    assert {file.kind for path, file in reasons.items() if path != "device"} == {"unfit"}
    assert all(file.unreadable and not file.sha256 for file in reasons.values())
    assert reasons["pipe"].unreadable == "is no regular file"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no Linux")
def test_a_link_into_a_file_system_of_the_kernel_is_refused(tmp_path: Path) -> None:
    ends = {"kmsg": "/proc/kmsg", "status": "/proc/self/status", "sys": "/sys/kernel/uevent_seqnum"}
    for name, end in ends.items():
        if os.path.exists(end):
            (tmp_path / name).symlink_to(end)
    folder = Folder(tmp_path, Patterns(), follow_links_out=True)
    for file in folder.list_files():
        assert not folder.hashed(file).sha256
        assert "can't be read" in folder.hashed(file).unreadable or folder.hashed(file).kind == "unfit"
    assert "file system of the kernel (proc)" in folder.hashed(folder.list_files()[1]).unreadable


def test_a_file_over_the_limit_is_refused_by_its_size(tmp_path: Path) -> None:
    with (tmp_path / "big.txt").open("wb") as file:
        file.truncate(1 << 40)
    folder = Folder(tmp_path, Patterns())
    began = time.process_time()
    (file,) = (folder.hashed(one) for one in folder.list_files())
    assert time.process_time() - began < 2
    assert (file.kind, file.unreadable) == (
        "limit",
        "is 1,048,576 MiB, over limits.source_bytes (512 MiB): it was not read",
    )


def test_a_file_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words")
    folder = Folder(tmp_path, Patterns(), limits=replace(Limits(), deadline_s=-1.0))
    assert "limits.deadline_s" in folder.hashed(folder.list_files()[0]).unreadable


def test_only_a_real_index_is_left_out_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    docs = tmp_path / "docs"
    (docs / "dept").mkdir(parents=True)
    (docs / "dept" / "a.txt").write_text("paper of the department")
    (docs / "dept" / "ledger.sqlite").write_bytes(b"")
    (docs / "dept" / "run.lock").write_bytes(b"")
    Index.create(docs / "real", SPACE).close()
    (docs / "real" / "run.lock").touch()
    assert [file.path for file in list_files(docs)] == ["dept/a.txt", "dept/ledger.sqlite", "dept/run.lock"]
    assert "real is the folder of an index: nothing in it is taken for a document" in caplog.text


@pytest.mark.parametrize(
    "name",
    ["~$report.docx", "Thumbs.db", "thumbs.db", "desktop.ini", "Desktop.ini", ".DS_Store", "~WRL0001.tmp"],
)
def test_what_offices_and_systems_leave_in_folders_is_no_document(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    (tmp_path / "report.txt").write_text("x")
    assert [file.path for file in list_files(tmp_path)] == ["report.txt"]


@pytest.mark.parametrize("name", ["~notes.txt", "thumbs.txt", "my desktop.ini", "icon.txt", "lost"])
def test_what_only_sounds_like_it_is_a_document(name: str) -> None:
    assert not is_left_out(name)
