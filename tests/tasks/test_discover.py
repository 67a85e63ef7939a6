"""Discovery of real folders: any name, any kind of entry, any loop."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pincite.schemas.errors import SourceError
from pincite.schemas.records import Counts, SourceFile
from pincite.storage.checks.verify import verify
from pincite.storage.queries.index_report import document_reports
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.storage.snapshots.index import Index
from pincite.tasks.discover import discover, look, read_hashes
from pincite.tasks.sources.folder import Folder, list_files, source_root
from pincite.tasks.sources.patterns import Patterns
from tests.storage.building import (
    AS_NOBODY,
    POLICY,
    SPACE,
    fill,
    found,
    reindex,
    run_apart,
    states,
    work,
)

NAMES = [
    "довідник.txt",
    "床前明月光.txt",
    "مرحبا.txt",
    "två ord.txt",
    "line\nbreak.txt",
    "quote'\"`.txt",
    "100%s.txt",
    "-rf",
    "back\\slash.txt",
    "tab\tand\x07bell.txt",
    "emoji👩‍👩‍👧.txt",
    "e\u0301.txt",
    "\u00e9.txt",
    "a" * 251 + ".txt",
    "no suffix ",
    "#char=1,2?x&y.txt",
    "{sql}; DROP TABLE documents; --.txt",
    "[red]markup[/red].txt",
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "index"


def whole(folder: Path) -> Folder:
    return Folder(folder, Patterns())


def paths(folder: Path, excluded: Path | None = None) -> dict[str, str]:
    """Path and, where it is no readable file, the reason."""
    files = list_files(folder, excluded)
    assert [file.path for file in files] == sorted({file.path for file in files}), "each once, in order"
    return {file.path: file.unreadable for file in read_hashes(whole(folder), files, {})}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_any_script_and_sign_is_kept_to_the_letter(index: Path, source: Path, name: str) -> None:
    fill(source, {f"{name}/{name}" if len(name) < 100 else name: "words"})
    assert reindex(index, source) == Counts(1, indexed=1)
    assert list(found(index)) == [f"{name}/{name}" if len(name) < 100 else name]
    assert reindex(index, source) == Counts(1, unchanged=1)


def test_names_that_are_not_utf8_are_listed_as_failed_each_by_itself(index: Path, source: Path) -> None:
    strange = [b"a\xff", b"a\xfe", b"a\\xff", b"a\\xff\xfe", b"a\xff\\xfe", b"dir\xe9/plain"]
    for name in strange:
        path = os.path.join(os.fsencode(source), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(os.fsdecode(path)).write_text(f"words {name!r}")
    assert reindex(index, source) == Counts(6, indexed=1, failed=5)
    assert found(index) == {"a\\xff": ["words b'a\\\\xff'"]}, "its name is UTF-8, with a backslash"
    reasons = {reason for state, reason in states(index).values() if state == "failed"}
    assert reasons == {"its name is not UTF-8: rename it"}
    assert reindex(index, source) == Counts(6, unchanged=1, failed=5)
    with Index.open(index) as opened:
        assert all(check.ok for check in verify(opened))


def test_loops_of_links_end_and_multiply_nothing(source: Path) -> None:
    fill(source, {"a/one.txt": "1", "b/two.txt": "2", "three.txt": "3"})
    (source / "a" / "up").symlink_to(source)
    (source / "a" / "over").symlink_to(source / "b")
    (source / "b" / "back").symlink_to(source / "a")
    (source / "itself").symlink_to("itself")
    (source / "gone").symlink_to("nowhere")
    (source / "again.txt").symlink_to("three.txt")
    assert paths(source) == {
        "a/one.txt": "",
        "b/two.txt": "",
        "three.txt": "",
        "again.txt": "",
        "itself": "can't be reached: Too many levels of symbolic links",
        "gone": "can't be reached: No such file or directory",
    }


def test_folders_that_link_to_each_other_are_not_walked_in_every_order(source: Path) -> None:
    names = [f"d{n:02}" for n in range(12)]  # 12! ways through them
    fill(source, {f"{name}/file.txt": name for name in names})
    for name in names:
        for other in names:
            (source / name / f"to {other}").symlink_to(source / other)
    began = time.monotonic()
    assert paths(source) == {f"{name}/file.txt": "" for name in names}
    assert time.monotonic() - began < 120


def test_links_out_of_the_source_are_listed_with_their_reason_where_they_are_not_to_be_followed(
    tmp_path: Path, source: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (source / "three.txt").write_text("three")
    (source / "out").symlink_to(outside)
    (source / "secret.txt").symlink_to(outside / "secret.txt")
    (source / "beside").symlink_to(tmp_path / f"{source.name}-2")  # a name that begins alike
    (tmp_path / f"{source.name}-2").mkdir()
    (source / "inside.txt").symlink_to("three.txt")
    (source / "nowhere").symlink_to("nothing")
    unnamable = os.fsencode(tmp_path / "caf") + b"\xe9"
    os.mkdir(unnamable)
    os.symlink(unnamable, os.fsencode(source / "cafe"))
    followed = {file.path for file in list_files(source)}
    assert {"out/secret.txt", "secret.txt", "inside.txt"} <= followed
    listed = {file.path: file for file in list_files(source, follow_links_out=False)}
    refused = {path for path, file in listed.items() if "leads out of the source" in file.unreadable}
    assert refused == {"out/", "secret.txt", "beside/", "cafe/"}
    assert r"caf\xe9" in listed["cafe/"].unreadable
    assert all(listed[path].kind == "unfit" and not listed[path].absolute for path in refused)
    assert str(outside) in listed["out/"].unreadable and "out/secret.txt" not in listed
    assert not listed["inside.txt"].unreadable and "No such file" in listed["nowhere"].unreadable
    assert followed - {"out/secret.txt", "secret.txt"} <= set(listed)


def test_a_file_that_was_swapped_for_a_link_out_is_not_read_and_what_was_behind_one_is_unfit(
    tmp_path: Path, source: Path
) -> None:
    outside = tmp_path / "outside"
    fill(outside, {"secret.txt": "secret"})
    (source / "out").symlink_to(outside)
    (source / "three.txt").write_text("three")
    bound = Folder(source, Patterns(), follow_links_out=False)
    listed = bound.list_files()
    (source / "three.txt").unlink()
    (source / "three.txt").symlink_to(outside / "secret.txt")
    known = {"out/secret.txt": SourceFile("out/secret.txt", "", 1, 1, 1, "0" * 64)}
    seen = {file.path: file for file in look(bound, known, listed)}
    assert {path: (file.kind, file.sha256) for path, file in seen.items()} == {
        "out/": ("unfit", ""),
        "out/secret.txt": ("unfit", ""),
        "three.txt": ("unfit", ""),
    }


def test_a_linked_folder_outside_is_entered_once_under_its_first_name(tmp_path: Path, source: Path) -> None:
    fill(tmp_path / "outside", {"x.txt": "words", "sub/y.txt": "words"})
    (source / "b").symlink_to(tmp_path / "outside")
    (source / "a").symlink_to(tmp_path / "outside")
    assert paths(source) == {"a/x.txt": "", "a/sub/y.txt": ""}


def test_a_folder_deeper_than_any_recursion_is_walked(source: Path) -> None:
    levels = sys.getrecursionlimit() + 50
    descriptor = os.open(source, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=descriptor)
        deeper = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = deeper
    os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
    os.close(descriptor)
    assert paths(source) == {"d/" * levels + "f": ""}
    subprocess.run(["rm", "-rf", source], check=True)  # shutil would go too deep


def test_what_is_no_regular_file_is_listed_with_its_reason(source: Path) -> None:
    os.mkfifo(source / "pipe")
    (source / "null").symlink_to("/dev/null")
    fill_only = {"pipe": "is no regular file", "null": "is no regular file"}
    assert paths(source) == fill_only


def test_what_can_not_pass_by_itself_is_not_said_to(index: Path, source: Path) -> None:
    os.mkfifo(source / "pipe")
    Path(os.fsdecode(os.path.join(os.fsencode(source), b"a\xff.txt"))).write_text("words")
    (source / "link.txt").symlink_to("nowhere")
    assert reindex(index, source).failed == 3
    with Index.open(index) as opened:
        told = {one.reason: (one.kind, one.transient) for one in document_reports(opened, None)}
    assert told == {
        "is no regular file": ("unfit", False),
        "its name is not UTF-8: rename it": ("unfit", False),
        "can't be reached: No such file or directory": ("unavailable", True),
    }


def test_hidden_files_and_the_index_itself_are_no_documents(source: Path) -> None:
    fill(source, {"a.txt": "words", ".git/config": "x", ".hidden": "x", "sub/.hidden": "x"})
    index = source / "my index"
    assert reindex(index, source) == Counts(1, indexed=1)
    assert reindex(index, source) == Counts(1, unchanged=1)
    (source / "link to it").symlink_to(index)
    assert paths(source, index) == {"a.txt": ""}


def test_the_index_folder_can_not_be_its_own_source(source: Path) -> None:
    fill(source, {"a.txt": "words"})
    with pytest.raises(SourceError, match="the folder of the index itself"):
        source_root(source, source)


def test_another_index_inside_the_source_is_no_document(source: Path, tmp_path: Path) -> None:
    fill(source, {"a.txt": "words"})
    assert reindex(source / "other", source) == Counts(1, indexed=1)
    assert paths(source, tmp_path / "index") == {"a.txt": ""}


def test_a_source_that_is_missing_a_file_or_out_of_reach_is_refused(source: Path, tmp_path: Path) -> None:
    (source / "file").write_text("x")
    (source / "loop").symlink_to("loop")
    with pytest.raises(SourceError, match=r"no such folder: .*missing.*Nothing was changed"):
        source_root(source / "missing", source)
    with pytest.raises(SourceError, match="is a file: name the folder"):
        source_root(source / "file", source)
    with pytest.raises(SourceError, match=r"can't reach .*loop: Too many levels"):
        source_root(source / "loop", source)
    with pytest.raises(SourceError, match=r"can't list .*: No such file"):
        list_files(source / "missing")
    strange = Path(os.fsdecode(os.fsencode(source) + b"\xff"))
    strange.mkdir()
    with pytest.raises(SourceError, match="is not UTF-8: rename it"):
        source_root(strange, tmp_path)


@pytest.fixture
def open_to_all(tmp_path: Path) -> Iterator[None]:
    """Other users can reach the folder of this test, and nobody is kept out of it for good."""
    closed = [parent for parent in tmp_path.parents if not parent.stat().st_mode & 0o001]
    modes = {parent: parent.stat().st_mode for parent in closed}
    for parent in closed:
        parent.chmod(modes[parent] | 0o011)
    yield
    for parent in closed:
        parent.chmod(modes[parent])


LIST_AS_NOBODY = """
import sys
from pathlib import Path
from pincite.tasks.discover import look
from pincite.tasks.sources.folder import Folder
from pincite.tasks.sources.patterns import Patterns
for file in look(Folder(Path(sys.argv[1]), Patterns()), {}):
    print(file.path, "|", file.unreadable)
"""


@pytest.mark.usefixtures("open_to_all")
def test_what_permissions_hide_is_listed_and_the_rest_is_read(source: Path, tmp_path: Path) -> None:
    fill(
        source, {"open.txt": "x", "shut.txt": "x", "private/a.txt": "x", "blind/b.txt": "x", "blind/c/d": "x"}
    )
    tmp_path.chmod(0o755)
    for path, mode in (("shut.txt", 0o000), ("private", 0o700), ("blind", 0o744)):
        (source / path).chmod(mode)
    said = run_apart(LIST_AS_NOBODY, source, prefix=AS_NOBODY)
    assert said.splitlines() == [
        "blind/b.txt | can't be reached: Permission denied",
        "blind/c/ | the folder can't be listed: Permission denied",
        "open.txt | ",
        "private/ | the folder can't be listed: Permission denied",
        "shut.txt | can't be read: Permission denied",
    ]


def test_documents_out_of_sight_are_kept_and_shown_as_stale(
    index: Path, source: Path, tmp_path: Path
) -> None:
    share = fill(tmp_path / "share", {"a.txt": "# A\n\nfirst", "deep/b.txt": "# B\n\nsecond"})
    (source / "mount").symlink_to(share)
    assert reindex(index, source) == Counts(2, indexed=2)
    share.rename(tmp_path / "unmounted")
    assert reindex(index, source) == Counts(3, failed=3)
    assert states(index)["mount/deep/b.txt"] == (
        "failed",
        "mount: can't be reached: No such file or directory",
    )
    assert found(index) == {"mount/a.txt": ["first"], "mount/deep/b.txt": ["second"]}
    (tmp_path / "unmounted").rename(share)
    assert reindex(index, source) == Counts(3, unchanged=2, deleted=1)
    with Index.open(index) as opened:
        assert all(check.ok for check in verify(opened))


def test_a_file_that_vanishes_before_it_is_hashed_is_listed_and_gone_next_time(
    index: Path, source: Path
) -> None:
    fill(source, {"a.txt": "words", "b.txt": "others"})
    listed = list_files(source)
    (source / "a.txt").unlink()
    gone, there = read_hashes(whole(source), listed, {})
    assert (gone.unreadable, gone.sha256) == ("can't be read: No such file or directory", "")
    assert there.unreadable == ""
    assert reindex(index, source) == Counts(1, indexed=1)


def test_a_file_with_known_size_and_times_is_not_read_again(source: Path) -> None:
    fill(source, {"a.txt": "words"})
    (file,) = list_files(source)
    known = replace(file, sha256="as it was")
    assert read_hashes(whole(source), (file,), {"a.txt": known})[0].sha256 == "as it was"
    for other in (
        replace(known, size_bytes=file.size_bytes + 1),
        replace(known, mtime_ns=file.mtime_ns - 1),
        replace(known, ctime_ns=file.ctime_ns - 1),
        replace(known, sha256=""),
    ):
        assert read_hashes(whole(source), (file,), {"a.txt": other})[0].sha256 != "as it was"


def test_the_change_time_of_a_file_at_rest_is_kept(source: Path) -> None:
    fill(source, {"a.txt": "words"})
    (file,) = list_files(source)
    assert read_hashes(whole(source), (file,), {})[0].ctime_ns == 0
    time.sleep(1.1)
    assert read_hashes(whole(source), (file,), {})[0].ctime_ns == file.ctime_ns


@pytest.mark.parametrize("year", ["1901-12-14", "2300-01-01", "2400-06-01"])
def test_a_file_of_another_century_is_indexed(index: Path, source: Path, year: str) -> None:
    # Nanoseconds since 1970 pass 64 bits in 2262.
    fill(source, {"a.txt": "words"})
    subprocess.run(["touch", "-d", year, source / "a.txt"], check=True)
    assert reindex(index, source) == Counts(1, indexed=1)
    assert reindex(index, source) == Counts(1, unchanged=1)


def test_files_that_change_while_documents_are_handed_out_are_seen_next_time(
    index: Path, source: Path
) -> None:
    fill(source, {"a.txt": "words", "b.txt": "others"})
    with Index.create(index, SPACE) as opened, begin_run(opened, "reindex", str(source)) as run:
        pending = discover(run, POLICY).pending
        (source / "b.txt").write_text("newest")
        work(run, pending)
        finish_run(run)
        assert look(whole(source), {})[1].sha256 != ""
    assert reindex(index, source) == Counts(2, indexed=1, unchanged=1)


def test_an_empty_folder_is_a_source_of_nothing(index: Path, source: Path) -> None:
    (source / "empty").mkdir()
    assert reindex(index, source) == Counts()
    assert found(index) == {}


def test_no_file_is_open_or_read_that_is_not_regular(source: Path) -> None:
    pipe = source / "pipe"
    os.mkfifo(pipe)
    listed = (SourceFile("pipe", str(pipe), 0, 0, 0, "", "is no regular file"),)
    assert read_hashes(whole(source), listed, {}) == listed  # opening it would wait for a writer without end
