"""Buckets as sources, from a real S3 server on loopback and other stores of fsspec."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pincite.schemas.errors import SourceChanged, SourceError, UnconfirmedLoss, UsageError
from pincite.schemas.records import Counts, Job
from pincite.storage.checks.verify import verify
from pincite.storage.objects.download_cache import drop_fetched
from pincite.storage.queries.index_report import document_reports
from pincite.storage.runs.commit import lease, publish
from pincite.storage.runs.registration import known_files
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.storage.snapshots.index import Index
from pincite.tasks.discover import SourceListing, discover, look, settle_if_idle
from pincite.tasks.sandbox.pool import StageFailed, pool, tagged_processes
from pincite.tasks.sources import bucket as bucket_module
from pincite.tasks.sources.bucket import Bucket, fetch_object, require_url
from pincite.tasks.sources.patterns import Patterns
from pincite.tasks.sources.source import address_of, open_source
from pincite.tasks.steps.fetch import Fetcher
from tests.doubles.s3_server import client, s3_server
from tests.storage.building import LEASE_S, POLICY, SPACE, finished, found
from tests.tasks.collecting import LIMITS, at_hand, of, reindex


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as url:
        yield url


@pytest.fixture
def bucket(server: str) -> Iterator[Any]:
    """The file system of an empty bucket "docs"."""
    store = client()
    store.mkdir("docs")
    yield store
    store.rm("docs", recursive=True)


def put(store: Any, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        store.pipe_file(f"docs/{path}", text.encode())


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://example.org/docs", "a web server can't list"),
        ("https://user:se@cret@example.org/docs@1", "https://example.org/docs@1: a web server can't list"),
        ("s3://key:secret@bucket/docs", "credentials do not belong"),
        ("s3://", "names no place"),
        ("zip://a::s3://bucket/b.zip", "names no place"),
    ],
)
def test_a_url_that_is_no_source_is_refused(url: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as raised:
        require_url(url)
    assert "secret" not in str(raised.value)


def test_addresses_are_absolute_and_file_urls_are_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert address_of("a b") == address_of((tmp_path / "a b").as_uri()) == str(tmp_path / "a b")
    assert address_of("s3://bucket/prefix/") == "s3://bucket/prefix"


def test_a_store_whose_library_is_missing_is_named_with_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gs://bucket can't be reached: .*gcsfs"):
        Bucket("gs://bucket", Patterns(), 1).list_files()


def test_a_bucket_is_indexed_followed_and_emptied(bucket: Any, tmp_path: Path) -> None:
    index, collection = tmp_path / "index", of("s3://docs/manuals", exclude=("drafts/",))
    put(
        bucket,
        {"manuals/a.txt": "# A\n\nfirst", "manuals/deep/b c?#1.txt": "second", "manuals/drafts/d.txt": "x"},
    )
    put(bucket, {"manuals/.hidden": "x", "manuals/folder/": "", "manuals-2/e.txt": "of another prefix"})
    assert reindex(index, collection) == Counts(2, indexed=2)
    assert found(index) == {"a.txt": ["first"], "deep/b c?#1.txt": ["second"]}
    with Index.open(index) as opened:
        assert settle_if_idle(opened, collection, POLICY, LIMITS) == Counts(2, unchanged=2)
    put(bucket, {"manuals/deep/b c?#1.txt": "newer"})
    bucket.mv("docs/manuals/a.txt", "docs/manuals/z.txt")
    assert reindex(index, collection) == Counts(2, indexed=1, unchanged=1)
    assert found(index) == {"z.txt": ["first"], "deep/b c?#1.txt": ["newer"]}
    bucket.rm("docs/manuals", recursive=True)
    with pytest.raises(UnconfirmedLoss, match="2 of 2 documents"):
        reindex(index, collection)
    assert reindex(index, collection, replace(POLICY, confirmed_deletions=2)) == Counts(2, deleted=2)


def test_an_object_of_the_known_etag_is_not_read_and_one_of_equal_bytes_is_unchanged(
    bucket: Any, tmp_path: Path
) -> None:
    put(bucket, {"a.txt": "first", "b.txt": "second"})
    index, collection = tmp_path / "index", of("s3://docs")
    reindex(index, collection)
    source = open_source(collection, index, LIMITS)
    with Index.open(index) as opened:
        known = known_files(opened, collection.source)
    assert all(len(file.etag) == 32 for file in known.values())
    forged = {path: replace(file, sha256="as it was") for path, file in known.items()}
    assert {file.sha256 for file in look(source, forged)} == {"as it was"}
    others = {path: replace(file, etag="another") for path, file in known.items()}
    assert [file.sha256 for file in look(source, others)] == [known[p].sha256 for p in sorted(known)]


def test_an_object_over_the_limit_is_failed_and_never_downloaded(bucket: Any, tmp_path: Path) -> None:
    put(bucket, {"a.txt": "first", "big.txt": "x" * 1_001})
    index, collection = tmp_path / "index", of("s3://docs")
    assert reindex(index, collection) == Counts(2, indexed=1, failed=1)
    with Index.open(index) as opened:
        (report,) = document_reports(opened, None, "failed")
    assert (report.path, report.stage) == ("big.txt", "discover")
    assert "over limits.source_bytes" in (report.reason or "")


def test_a_bucket_that_is_gone_or_out_of_reach_changes_nothing(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(bucket, {"a.txt": "first"})
    index, collection = tmp_path / "index", of("s3://docs")
    reindex(index, collection)
    with pytest.raises(SourceError, match="can't list s3://nobody: FileNotFoundError: The specified bucket"):
        Bucket("s3://nobody", Patterns(), 1).list_files()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    type(bucket).clear_instance_cache()
    with Index.open(index) as opened, pytest.raises(SourceError, match="Nothing was changed in the index"):
        settle_if_idle(opened, collection, POLICY, LIMITS)
    assert found(index) == {"a.txt": ["first"]}
    type(bucket).clear_instance_cache()


def test_an_object_that_changes_or_vanishes_between_list_and_download_fails_for_a_while(
    bucket: Any, tmp_path: Path
) -> None:
    put(bucket, {"a.txt": "first", "b.txt": "second"})
    index, collection = tmp_path / "index", of("s3://docs")
    with Index.create(index, SPACE) as opened, begin_run(opened, "reindex", collection.source) as run:
        pending = discover(run, POLICY, collection, LIMITS).pending
        drop_fetched(index)  # as where the disk had no room to keep them
        jobs = [lease(run, one, POLICY, LEASE_S) for one in pending]
        put(bucket, {"a.txt": "first and more"})
        bucket.rm("docs/b.txt")
        for job, why in zip(jobs, ("changed after it was listed", "vanished"), strict=True):
            assert job is not None
            with pytest.raises(SourceChanged, match=why):
                fetch_object(job, tmp_path / "object")
        with pytest.raises(Exception, match="no outcome"):
            finish_run(run)


def test_an_object_is_downloaded_once_and_kept_for_the_run_alone(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, collection, downloads = tmp_path / "index", of("s3://docs"), []
    blocks = bucket_module._blocks

    def counted(address: str, path: str, size_bytes: int) -> Iterator[bytes]:
        downloads.append(path)
        return blocks(address, path, size_bytes)

    monkeypatch.setattr(bucket_module, "_blocks", counted)
    put(bucket, {"a.txt": "first", "b.txt": "second", "copy.txt": "first"})
    with Index.create(index, SPACE) as opened:
        assert isinstance(settle_if_idle(opened, collection, POLICY, LIMITS), SourceListing)
    assert reindex(index, collection) == Counts(3, indexed=3)
    assert sorted(downloads) == ["a.txt", "b.txt", "copy.txt"] and not (index / "fetched").exists()
    put(bucket, {"a.txt": "other"})  # as long as before
    with Index.open(index) as opened:
        assert isinstance(settle_if_idle(opened, collection, POLICY, LIMITS), SourceListing)
    assert reindex(index, collection) == Counts(3, indexed=1, unchanged=2)
    assert downloads[3:] == ["a.txt"]
    assert found(index) == {"a.txt": ["other"], "b.txt": ["second"], "copy.txt": ["first"]}


def test_where_the_disk_has_no_room_an_object_is_downloaded_again(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    put(bucket, {"a.txt": "first", "b.txt": "second"})
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=11))  # of which half: 5 bytes
    index, collection = tmp_path / "index", of("s3://docs")
    with Index.create(index, SPACE) as opened, begin_run(opened, "reindex", collection.source) as run:
        pending = discover(run, POLICY, collection, LIMITS).pending
        assert len(list((index / "fetched").iterdir())) == 1
        for document_id in pending:
            job = lease(run, document_id, POLICY, LEASE_S)
            assert job is not None
            with at_hand(job) as path:
                publish(run, [finished(job, path.read_text())], POLICY)
        finish_run(run)
    index = tmp_path / "other"
    with Index.create(index, SPACE):
        (index / "fetched").write_text("no folder")
    assert reindex(index, collection) == Counts(2, indexed=2)
    assert found(index) == {"a.txt": ["first"], "b.txt": ["second"]}


def test_any_store_of_fsspec_is_a_source() -> None:
    import fsspec

    store = fsspec.filesystem("memory")
    store.pipe_file("/docs/deep/a.txt", b"words")
    source = Bucket("memory://docs", Patterns(), 100)
    (file,) = look(source, {})
    assert (file.path, file.size_bytes, file.unreadable) == ("deep/a.txt", 5, "")
    assert file.ctime_ns == 0, "it is too fresh for its time to be trusted"
    with pytest.raises(SourceError, match="can't list memory://none"):
        Bucket("memory://none", Patterns(), 100).list_files()
    store.rm("/docs", recursive=True)


def test_a_download_leaves_no_file_behind(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    put(bucket, {"a.txt": "first"})
    assert reindex(tmp_path / "index", of("s3://docs")) == Counts(1, indexed=1)
    assert os.listdir(tmp_path / "scratch") == []


def test_a_download_that_hangs_ends_at_the_deadline_with_its_child(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job("id", "a.txt", "s3://docs/a.txt", "0" * 64, 1, 1, 1, source="s3://docs", size_bytes=5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-tests")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-tests")
        family = f"hang-{os.getpid()}"
        with (
            pool(1, 1 << 30, family, environment=None) as workers,
            pytest.raises(StageFailed) as raised,
            Fetcher(workers, family).at_hand(job, 6.0, lambda _stage, _page: None),
        ):
            raise AssertionError("it was downloaded")
        assert not list(tagged_processes(family))
    failure = raised.value.failure
    assert (failure.stage, failure.kind, failure.transient) == ("fetch", "deadline", True)


@pytest.mark.slow
def test_pincite_indexes_a_bucket_as_it_does_a_folder(bucket: Any, tmp_path: Path) -> None:
    put(bucket, {"manuals/pump.md": "# Pump\n\nThe impeller has nine blades.\n", "manuals/empty.txt": ""})
    command = [
        sys.executable,
        "-m",
        "pincite",
        "index",
        "s3://docs/manuals",
        "--index",
        str(tmp_path / "index"),
    ]
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([*command, "--json"], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert (json.loads(done.stdout)["indexed"], json.loads(done.stdout)["failed"]) == (1, 1)
    with Index.open(tmp_path / "index") as opened:
        reports = {one.path: one for one in document_reports(opened, None)}
        assert all(check.ok for check in verify(opened))
    assert reports["pump.md"].live is not None and reports["pump.md"].live.title == "Pump"
    assert (reports["empty.txt"].stage, reports["empty.txt"].collection) == ("extract", "manuals")
