"""Observe: what a run does, as JSON lines on stderr and as OpenTelemetry spans.

PINCITE_LOG=json                      a line for each run and for each document that it worked on
OTEL_EXPORTER_OTLP_ENDPOINT=http://…  spans run > document > stage, sent by OTLP over HTTP (needs "pincite[otel]")

Neither ends a run: what can't be written or sent is a warning.
"""

import json
import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pincite.schemas.errors import Failure
from pincite.schemas.records import Counts, Job
from pincite.storage.runs.runs import Run

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
FLUSH_MS = 5_000  # longest wait for spans at the end of a run

_logger = logging.getLogger(__name__)


@dataclass
class StageTimes:
    """The stages of one document with the moments at which they began, seconds since the epoch."""

    began: float = field(default_factory=time.time)
    stages: list[tuple[str, float]] = field(default_factory=list)

    def at(self, stage: str, _page: int | None = None) -> None:
        if not self.stages or self.stages[-1][0] != stage:
            self.stages.append((stage, time.time()))

    def spans(self, ended: float) -> Iterator[tuple[str, float, float]]:
        """Each stage with when it began and ended."""
        ends = [began for _, began in self.stages[1:]] + [ended]
        for (stage, began), end in zip(self.stages, ends, strict=True):
            yield stage, began, end


@dataclass
class Observer:
    """Tells of one run. Documents may be told by several threads at a time."""

    run: Run
    lines: bool = False
    provider: "TracerProvider | None" = None
    span: "Span | None" = None
    counts: Counts | None = None

    def document(self, job: Job, outcome: str, failure: Failure | None, course: StageTimes) -> None:
        """One document has its outcome, which stands in the ledger."""
        ended = time.time()
        told: dict[str, object] = {
            **{"document": job.path, "document_id": job.document_id, "source": self.run.source},
            **{"outcome": outcome, "attempt": job.attempt},
        }
        if failure is not None:
            told |= {
                "stage": failure.stage,
                "kind": failure.kind,
                "reason": failure.reason,
                "page": failure.page,
            }
        if self.lines:
            stages = {stage: round(end - began, 3) for stage, began, end in course.spans(ended)}
            self._write("document", told | {"seconds": round(ended - course.began, 3), "stages": stages})
        if self.provider is not None:
            self._trace(told, course, ended)

    def ended(self, began: float, error: BaseException | None) -> None:
        """The run is over, by itself or by an exception."""
        told: dict[str, object] = {"source": self.run.source, "state": "broken" if error else "completed"}
        if error is not None:
            told["reason"] = f"{type(error).__name__}: {error}"
        told |= asdict(self.counts) if self.counts else {}
        if self.lines:
            self._write("run", told | {"seconds": round(time.time() - began, 3)})
        if self.span is not None:
            self.span.set_attributes(_attributes(told))
            _mark(self.span, str(told.get("reason", "")))
            self.span.end()

    def _write(self, event: str, told: Mapping[str, object]) -> None:
        line = {"time": datetime.now(UTC).isoformat(), "event": event, "run": self.run.run_id, **told}
        sys.stderr.write(json.dumps(line, ensure_ascii=True) + "\n")

    def _trace(self, told: Mapping[str, object], course: StageTimes, ended: float) -> None:
        from opentelemetry.trace import set_span_in_context

        assert self.provider is not None and self.span is not None
        tracer = self.provider.get_tracer("pincite")
        within = set_span_in_context(self.span)
        whole = tracer.start_span(
            "document", within, start_time=_ns(course.began), attributes=_attributes(told)
        )
        for stage, began, end in course.spans(ended):
            tracer.start_span(stage, set_span_in_context(whole), start_time=_ns(began)).end(_ns(end))
        _mark(whole, str(told.get("reason", "")))
        whole.end(_ns(ended))


@contextmanager
def observing(run: Run) -> Iterator[Observer]:
    """Tells of the run of the block, which sets `counts` when it has them."""
    observer = Observer(run, lines=os.environ.get("PINCITE_LOG") == "json", provider=_provider())
    began = time.time()
    if observer.provider is not None:
        tracer = observer.provider.get_tracer("pincite")
        observer.span = tracer.start_span("run", attributes={"pincite.run": run.run_id})
    try:
        yield observer
    except BaseException as error:
        observer.ended(began, error)
        raise
    else:
        observer.ended(began, None)
    finally:
        if observer.provider is not None:
            observer.provider.force_flush(FLUSH_MS)
            observer.provider.shutdown()


def _provider() -> "TracerProvider | None":
    if not os.environ.get(ENDPOINT):
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        _logger.warning(
            '%s is set, but %s: no traces are sent. `pip install "pincite[otel]"`', ENDPOINT, error
        )
        return None
    provider = TracerProvider(resource=Resource.create({"service.name": "pincite"}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _attributes(told: Mapping[str, object]) -> dict[str, str | int | float]:
    return {f"pincite.{name}": value for name, value in told.items() if isinstance(value, str | int | float)}


def _mark(span: "Span", reason: str) -> None:
    if reason:
        from opentelemetry.trace import Status, StatusCode

        span.set_status(Status(StatusCode.ERROR, reason))


def _ns(seconds: float) -> int:
    return int(seconds * 1e9)
