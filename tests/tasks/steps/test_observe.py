"""What a run tells: JSON lines on stderr, and spans that a real OTLP receiver gets."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from pincite.schemas.errors import Failure
from pincite.schemas.records import Collection, Counts
from pincite.storage.runs.commit import fail, lease, publish
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.storage.snapshots.index import Index
from pincite.tasks.discover import discover, settle_if_idle
from pincite.tasks.steps.observe import StageTimes, observing
from tests.storage.building import LEASE_S, POLICY, SPACE, fill, finished


class Receiver(BaseHTTPRequestHandler):
    spans: list[Any]

    def do_POST(self) -> None:
        request = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.spans += scope.spans
        body = ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    got: list[Any] = []
    with HTTPServer(("127.0.0.1", 0), type("Handler", (Receiver,), {"spans": got})) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        yield got
        server.shutdown()
        serving.join()


def run_both(index: Path, source: Path) -> Counts:
    """A run in which a.txt is indexed and b.txt fails."""
    fill(source, {"a.txt": "words", "b.txt": "others"})
    with (
        Index.create(index, SPACE) as opened,
        begin_run(opened, "reindex", str(source)) as run,
        observing(run) as observer,
    ):
        good, bad = (lease(run, one, POLICY, LEASE_S) for one in discover(run, POLICY).pending)
        assert good and bad
        for job in (good, bad):
            course = StageTimes()
            for stage in ("extract", "extract", "chunk"):
                course.at(stage, 1)
            if job is good:
                publish(run, [finished(job, "words")], POLICY)
                observer.document(job, "indexed", None, course)
            else:
                failure = Failure("chunk", "deadline", "not done", 7)
                assert fail(run, job, failure)
                observer.document(job, "failed", failure, course)
        observer.counts = finish_run(run)
    return observer.counts


def test_a_run_is_json_lines_where_it_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    index, source = tmp_path / "index", tmp_path / "source"
    monkeypatch.setenv("PINCITE_LOG", "json")
    run_both(index, source)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["event"], line.get("document"), line.get("outcome")) for line in lines] == [
        ("document", "a.txt", "indexed"),
        ("document", "b.txt", "failed"),
        ("run", None, None),
    ]
    assert (lines[1]["kind"], lines[1]["reason"], lines[1]["page"]) == ("deadline", "not done", 7)
    assert list(lines[0]["stages"]) == ["extract", "chunk"]
    assert (lines[2]["state"], lines[2]["indexed"], lines[2]["failed"]) == ("completed", 1, 1)
    assert len({line["run"] for line in lines}) == 1

    (source / "b.txt").unlink()
    with Index.open(index) as opened:
        assert settle_if_idle(opened, Collection("source", str(source)), POLICY) == Counts(
            2, unchanged=1, deleted=1
        )
        (line,) = map(json.loads, capsys.readouterr().err.splitlines())
        assert (line["event"], line["deleted"]) == ("run", 1)
        (source / "a.txt").unlink()
        with pytest.raises(Exception, match="1 of 1 document would"):
            settle_if_idle(opened, Collection("source", str(source)), POLICY)
        (line,) = map(json.loads, capsys.readouterr().err.splitlines())
        assert line["state"] == "broken" and "--confirm-deletions 1" in line["reason"]


def test_nothing_is_said_where_nothing_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PINCITE_LOG", raising=False)
    run_both(tmp_path / "index", tmp_path / "source")
    assert capsys.readouterr().err == ""


def test_spans_of_a_run_reach_the_receiver_nested_with_times(tmp_path: Path, spans: list[Any]) -> None:
    run_both(tmp_path / "index", tmp_path / "source")
    by_id = {span.span_id: span for span in spans}
    names = sorted(
        (span.name, by_id[span.parent_span_id].name if span.parent_span_id else "") for span in spans
    )
    assert names == [
        ("chunk", "document"),
        ("chunk", "document"),
        ("document", "run"),
        ("document", "run"),
        ("extract", "document"),
        ("extract", "document"),
        ("run", ""),
    ]
    for span in spans:
        parent = by_id.get(span.parent_span_id, span)
        assert parent.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= parent.end_time_unix_nano
    (failed,) = [span for span in spans if span.name == "document" and span.status.code == 2]
    attributes = {one.key: one.value.string_value or one.value.int_value for one in failed.attributes}
    assert (attributes["pincite.document"], attributes["pincite.page"]) == ("b.txt", 7)
    assert failed.status.message == "not done"


def test_a_receiver_that_is_not_there_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    assert run_both(tmp_path / "index", tmp_path / "source") == Counts(2, indexed=1, failed=1)
