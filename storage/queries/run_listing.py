"""Run listing: runs newest first, a page at a time."""

from dataclasses import dataclass

import sqlalchemy as sa

from pincite.schemas.errors import UsageError
from pincite.storage.ledger import schema, transactions
from pincite.storage.queries.overview import RunRow, run_row
from pincite.storage.snapshots.index import Index


@dataclass(frozen=True, slots=True)
class RunPage:
    """Runs, newest first; `more` of them are older than these."""

    runs: tuple[RunRow, ...]
    more: bool


def list_runs(index: Index, after: str = "", limit: int = 50) -> RunPage:
    """At most `limit` runs that began before the run `after`. Raises `UsageError` when there is no such run."""
    runs = schema.runs
    keys = runs.c.started_at, runs.c.run_id
    query = sa.select(runs).order_by(*(key.desc() for key in keys)).limit(limit + 1)
    with transactions.reading(index.engine) as connection:
        if after:
            last = connection.execute(sa.select(*keys).where(runs.c.run_id == after)).first()
            if last is None:
                raise UsageError(f"no run has the id {after!r}: begin the listing without it")
            query = query.where(sa.tuple_(*keys) < sa.tuple_(*(sa.literal(value) for value in last)))
        rows = connection.execute(query).mappings().all()
    return RunPage(tuple(run_row(dict(row)) for row in rows[:limit]), len(rows) > limit)
