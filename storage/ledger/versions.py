"""Which versions an index has, which of them can still be read, and which was the newest at a moment."""

import time
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from pincite.schemas.errors import UsageError, VersionGone
from pincite.storage.ledger.schema import current_version, meta, runs, versions

OLDEST_VERSION = "oldest_version"
TOLD_SINCE = "told_since"
GONE_MEANWHILE = "a document was forgotten while it was looked for: ask again"
OLDEST_TIME = "oldest_time"  # of attempts that are kept whole; seconds since the epoch


@dataclass(frozen=True, slots=True)
class Moment:
    """A version, and until when what the ledger knows besides it counts."""

    version: int
    until: float  # seconds since the epoch, exclusive
    newest: bool  # nothing is left out: what is meant is now


def oldest_version(connection: sa.Connection) -> int:
    """The oldest version that can be read; 0 while no vacuum took anything away."""
    value = connection.scalar(sa.select(meta.c.value).where(meta.c.key == OLDEST_VERSION))
    return int(value or 0)


def told_since(connection: sa.Connection) -> int:
    """The oldest version since which rows of `revisions` tell every change: a vacuum and a forgetting delete rows."""
    value = connection.scalar(sa.select(meta.c.value).where(meta.c.key == TOLD_SINCE))
    return int(value or 0)


def oldest_time(connection: sa.Connection) -> float:
    """Since when every attempt is kept; 0 while no vacuum took any away."""
    value = connection.scalar(sa.select(meta.c.value).where(meta.c.key == OLDEST_TIME))
    return float(value or 0.0)


def remember(connection: sa.Connection, key: str, value: str) -> None:
    """Sets a row of `meta`."""
    if not connection.execute(meta.update().where(meta.c.key == key).values(value=value)).rowcount:
        connection.execute(meta.insert().values(key=key, value=value))


def require_version(connection: sa.Connection, version: int) -> None:
    """Raises `UsageError` for a version that never was and `VersionGone` for one that is no longer kept."""
    newest, oldest = current_version(connection), oldest_version(connection)
    if not 0 <= version <= newest:
        raise UsageError(f"there is no version {version}: the index has the versions {oldest} to {newest}")
    if version < oldest:
        raise VersionGone(
            f"version {version} is no longer kept: vacuum took away what only versions before {oldest} had. "
            f"The index has the versions {oldest} to {newest}"
        )


def version_at(connection: sa.Connection, until: float) -> int:
    """The newest version that was committed before `until`. Raises `UsageError` when there was none."""
    query = sa.select(sa.func.max(versions.c.version)).where(versions.c.committed_at < until)
    version = connection.scalar(query)
    if version is None:
        first = connection.scalar(sa.select(sa.func.min(versions.c.committed_at)))
        known = f"its first version is of {local(first)}" if first is not None else "it has no version yet"
        raise UsageError(f"the index held nothing before {local(until)}: {known}")
    return int(version)


def moment(connection: sa.Connection, version: int | None = None, at: float | None = None) -> Moment:
    """What is meant by a version, by a time (exclusive, seconds since the epoch) or by neither: now.

    A version stands until work on the next one begins. Raises `UsageError` for both at once, and as
    `require_version` does.
    """
    if version is not None and at is not None:
        raise UsageError("a version and a time were given: say one of them")
    newest = current_version(connection)
    chosen = version if version is not None else newest if at is None else version_at(connection, at)
    require_version(connection, chosen)
    if at is not None:
        return Moment(chosen, at, newest=chosen == newest and at >= time.time())
    if chosen == newest:
        return Moment(chosen, time.time(), newest=True)
    return Moment(chosen, _replaced_at(connection, chosen), newest=False)


def _replaced_at(connection: sa.Connection, version: int) -> float:
    """When work on the next version began: at the start of its run, or at its commit in the same run."""
    made = versions.join(runs, runs.c.run_id == versions.c.run_id, isouter=True)
    query = sa.select(versions.c.run_id, versions.c.committed_at, runs.c.started_at).select_from(made)
    following = connection.execute(
        query.where(versions.c.version > version).order_by(versions.c.version).limit(1)
    ).one()
    run_id = connection.scalar(sa.select(versions.c.run_id).where(versions.c.version == version))
    same_run = following.run_id == run_id or following.started_at is None
    return float(following.committed_at if same_run else following.started_at)


def new_version(connection: sa.Connection, run_id: str) -> int:
    """Begins the next version inside the caller's transaction and returns it."""
    version = current_version(connection) + 1
    connection.execute(versions.insert().values(version=version, run_id=run_id, committed_at=time.time()))
    return version


def local(seconds: float) -> str:
    """A time as people of this machine read it."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(sep=" ", timespec="seconds")
