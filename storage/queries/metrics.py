"""Gauges: the state of an index in Prometheus' text format, counted from the ledger when it is asked for."""

import time
from collections.abc import Iterable, Iterator

import sqlalchemy as sa
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pincite.storage.ledger import schema, transactions
from pincite.storage.runs.collections import collection_names
from pincite.storage.snapshots.index import Index

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
STATES = ("pending", "running", "indexed", "failed")
_COUNTS = ("discovered", "indexed", "failed", "unchanged", "deleted")


def metrics_text(index: Index) -> bytes:
    """All gauges of an index: a few grouped queries, whatever it holds. To be served as `CONTENT_TYPE`.

    pincite_documents{collection, state}, pincite_chunks, pincite_version, and of the last ended run of each
    collection pincite_run_documents{collection, outcome}, pincite_run_seconds, pincite_run_broken and
    pincite_run_age_seconds.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Gauges(index))
    return generate_latest(registry)


class _Gauges(Collector):
    def __init__(self, index: Index) -> None:
        self._index = index

    def collect(self) -> Iterable[Metric]:
        with transactions.reading(self._index.engine) as connection:
            yield from _of_documents(connection)
            yield from _of_runs(connection)


def _of_documents(connection: sa.Connection) -> Iterator[Metric]:
    documents, revisions = schema.documents, schema.revisions
    version = schema.current_version(connection)
    space_id, _ = schema.live_space(connection, version)
    query = (
        sa.select(documents.c.source, documents.c.state, sa.func.count())
        .where(documents.c.state != "deleted")
        .group_by(documents.c.source, documents.c.state)
    )
    counts = {(source, state): count for source, state, count in connection.execute(query)}
    sources = sorted({source for source, _ in counts})
    names = collection_names(connection, sources)
    gauge = GaugeMetricFamily("pincite_documents", "Documents by state.", labels=["collection", "state"])
    for source in sources:
        for state in STATES:
            gauge.add_metric([names[source], state], counts.get((source, state), 0))
    yield gauge
    chunks = sa.select(sa.func.coalesce(sa.func.sum(revisions.c.chunks), 0)).where(
        schema.live_at(revisions, version), revisions.c.space_id == space_id
    )
    yield GaugeMetricFamily("pincite_chunks", "Chunks that can be found.", connection.scalar(chunks))
    yield GaugeMetricFamily("pincite_version", "Newest version of the index.", version)


def _of_runs(connection: sa.Connection) -> Iterator[Metric]:
    runs = schema.runs
    newest = (
        sa.select(runs.c.source, sa.func.max(runs.c.started_at).label("started_at"))
        .where(runs.c.kind == "reindex", runs.c.ended_at.is_not(None))
        .group_by(runs.c.source)
        .subquery()
    )
    same = sa.and_(runs.c.source == newest.c.source, runs.c.started_at == newest.c.started_at)
    rows = connection.execute(sa.select(runs).join(newest, same).order_by(runs.c.source)).all()
    names = collection_names(connection, ())
    one = ["collection"]
    documents = GaugeMetricFamily(
        "pincite_run_documents", "Documents of the last run by outcome.", labels=[*one, "outcome"]
    )
    seconds = GaugeMetricFamily("pincite_run_seconds", "Duration of the last run.", labels=one)
    age = GaugeMetricFamily("pincite_run_age_seconds", "Time since the end of the last run.", labels=one)
    broken = GaugeMetricFamily("pincite_run_broken", "1 when the last run broke off.", labels=one)
    for row in rows:
        if row.source not in names:  # it was dropped since
            continue
        label = [names[row.source]]
        for outcome in _COUNTS:
            documents.add_metric([*label, outcome], getattr(row, outcome) or 0)
        seconds.add_metric(label, row.ended_at - row.started_at)
        age.add_metric(label, max(0.0, time.time() - row.ended_at))
        broken.add_metric(label, row.state == "broken")
    yield from (documents, seconds, age, broken)
