"""Calibrated thresholds in the ledger, and how far an index has moved since one was measured."""

import time
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from pincite.schemas.calibration import Calibration
from pincite.schemas.evaluation import QuestionSet
from pincite.schemas.records import Space
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.versions import told_since
from pincite.storage.snapshots.index import Index


def store_calibration(
    index: Index, version: int, threshold: float, questions: QuestionSet, report: Mapping[str, object]
) -> Calibration:
    """Keeps a threshold that was measured at a version; from now on it is the index's.

    Its report names documents, and is not kept when one was forgotten since that version.
    """
    with transactions.writing(index.engine) as connection:
        space_id, _ = schema.live_space(connection, version)
        kept = dict(report) if told_since(connection) <= version else {}
        _insert(connection, space_id, version, threshold, questions, kept)
    stored = latest_calibration(index)
    assert stored is not None
    return stored


def adopt_threshold(
    index: Index, space_id: int, version: int, threshold: float, questions: QuestionSet
) -> None:
    """Keeps a threshold for a space that is not live yet, so that it refuses from the switch on.

    Nothing is done where `pincite calibrate` once measured one on it.
    """
    calibrations = schema.calibrations
    own = sa.select(calibrations.c.report).where(calibrations.c.space_id == space_id)
    with transactions.writing(index.engine) as connection:
        if all(report == _ADOPTED for report in connection.scalars(own)):
            _insert(connection, space_id, version, threshold, questions, _ADOPTED)


_ADOPTED = {"adopted": "the distance at which the quality check of a migration compared the model version"}


def _insert(
    connection: sa.Connection,
    space_id: int,
    version: int,
    threshold: float,
    questions: QuestionSet,
    report: Mapping[str, object],
) -> None:
    connection.execute(
        schema.calibrations.insert().values(
            made_at=time.time(),
            space_id=space_id,
            version=version,
            threshold=threshold,
            questions=questions.name,
            questions_sha256=questions.sha256,
            report=report,
        )
    )


def latest_calibration(index: Index, version: int | None = None) -> Calibration | None:
    """As of `calibrated_space`."""
    return calibrated_space(index, version)[1]


def calibrated_space(index: Index, version: int | None = None) -> tuple[Space, Calibration | None]:
    """The live space, and the newest threshold that was measured on it; None when none was.

    With `version` the space that was live then, and only what was measured on that version or an older one.
    """
    calibrations, spaces = schema.calibrations, schema.spaces
    with transactions.reading(index.engine) as connection:
        upto = schema.current_version(connection) if version is None else version
        space_id, space = schema.live_space(connection, upto)
        query = (
            sa.select(calibrations, spaces.c.model, spaces.c.fingerprint)
            .join(spaces, spaces.c.space_id == calibrations.c.space_id)
            .where(calibrations.c.space_id == space_id, calibrations.c.version <= upto)
            .order_by(calibrations.c.calibration_id.desc())
            .limit(1)
        )
        row = connection.execute(query).mappings().first()
    found = None if row is None else Calibration(**{name: row[name] for name in Calibration.__slots__})
    return space, found


def share_changed_since(index: Index, version: int, until: int | None = None) -> float:
    """Share of the documents, of then and of now (`until`) together, that are not live in the same revision at both.

    0 to 1. Only what changed is read, while the space is the same.
    """
    with transactions.reading(index.engine) as connection:
        newest = schema.current_version(connection) if until is None else until
        if schema.live_space(connection, version)[0] != schema.live_space(connection, newest)[0]:
            then, now = _live(connection, version), _live(connection, newest)
            return len(then ^ now) / len(then | now) if then | now else 0.0
        ended, begun = _ended_and_begun(connection, version, newest)
        count = _of_space(connection, newest).with_only_columns(sa.func.count())
        together = (connection.scalar(count) or 0) + len(ended - begun)
        return len(ended ^ begun) / together if together else 0.0


def _ended_and_begun(
    connection: sa.Connection, version: int, newest: int
) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    """(revisions live at `version` whose row ended since, those whose live row began since); a rename is in both."""
    revisions = schema.revisions
    ended = _of_space(connection, version).where(revisions.c.ended_version <= newest)
    begun = _of_space(connection, newest).where(revisions.c.began_version > version)
    return _pairs(connection, ended), _pairs(connection, begun)


def _of_space(connection: sa.Connection, version: int) -> sa.Select[tuple[Any, ...]]:
    """The revisions that are live at a version."""
    revisions = schema.revisions
    space_id, _ = schema.live_space(connection, version)
    return sa.select(revisions.c.document_id, revisions.c.revision).where(
        schema.live_at(revisions, version), revisions.c.space_id == space_id
    )


def _live(connection: sa.Connection, version: int) -> set[tuple[str, int]]:
    return _pairs(connection, _of_space(connection, version))


def _pairs(connection: sa.Connection, query: sa.Select[tuple[Any, ...]]) -> set[tuple[str, int]]:
    return {(row.document_id, row.revision) for row in connection.execute(query)}
