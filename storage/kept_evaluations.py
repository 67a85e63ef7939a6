"""Kept evaluations: one Parquet file each in the folder `evaluations` of the index, for gates and trends.

A file is named by the version that was measured and by its content, and holds no time: the same evaluation is the
same file. It belongs to no transaction and to no reader's snapshot. Beside it lies its report as a page, if it was
kept: for people, and read by nothing.
"""

import hashlib
import os
from collections.abc import Container
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pincite.schemas.errors import UsageError
from pincite.schemas.evaluation import Judged, Result
from pincite.schemas.records import Space
from pincite.schemas.tables import EVALUATIONS
from pincite.storage.locks.quote_lock import sharing_cache
from pincite.storage.objects.disk_errors import writable
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import forgotten_ids

FOLDER = "evaluations"
_SPACE = Space.__slots__
_ROW = Judged.__slots__
_OWN = tuple(name for name in Result.__slots__ if name not in ("name", "space", "rows"))


def keep(index: Path, result: Result) -> Result:
    """Writes the result and returns it with its name; one that is there already is left as it is."""
    table = _table(result)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", compression_level=1)
    data = sink.getvalue()
    name = f"{result.version:06d}-{hashlib.sha256(data).hexdigest()[:12]}"
    path = _path(index, name)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    with writable(path):
        path.parent.mkdir(exist_ok=True)
        try:
            with temporary.open("wb") as file:
                file.write(memoryview(data))
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(path)
        finally:
            temporary.unlink(missing_ok=True)
    return replace(result, name=name)


def keep_report(index: Index, name: str, html: str, forgotten: Container[str]) -> bool:
    """Keeps the whole report of a result beside it, over an earlier one. It quotes documents, as no result does.

    `forgotten` are the ids of the documents that were to be forgotten before it was made. False, and nothing is
    kept, when there are others by now.
    """
    path = _report(index.path, name)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with writable(path), sharing_cache(index.path):
        if any(one not in forgotten for one in forgotten_ids(index)):
            return False
        path.parent.mkdir(exist_ok=True)
        try:
            temporary.write_text(html, encoding="utf-8")
            temporary.rename(path)
        finally:
            temporary.unlink(missing_ok=True)
    return True


def report_of(index: Path, name: str) -> str | None:
    """The kept report of a result; None for one whose report was not kept, or was given up."""
    path = _report(index, name)
    return path.read_text(encoding="utf-8") if path.is_file() else None


def drop_reports(index: Path) -> int:
    """Deletes all kept reports, since any may quote what must be forgotten, and says how many; the results stay.

    Also what a writer that was killed left of one. Nobody writes one meanwhile (`pincite.storage.locks.quote_lock`).
    """
    paths = sorted((index / FOLDER).glob("*.html*"))
    for path in paths:
        path.unlink(missing_ok=True)
    return len(paths)


def kept(index: Path) -> list[Result]:
    """All results of an index, by version, then name. Raises `UsageError` naming a file that can't be read."""
    return [read(path) for path in sorted((index / FOLDER).glob("*.parquet"))]


def read(path: Path) -> Result:
    """One result. Raises `UsageError` when there is none or the file is something else."""
    try:
        table = pq.read_table(path, partitioning=None)
        rows = table.cast(EVALUATIONS).to_pylist()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UsageError(
            f"{path} is no kept evaluation: {error}. See `pincite evaluate --history` for those of an index"
        ) from error
    if not rows:
        raise UsageError(f"{path} holds no evaluation: it has no rows")
    first = rows[0]
    return Result(
        name=path.stem,
        space=Space(**{name: first[name] for name in _SPACE}),
        rows=tuple(Judged(**{name: row[name] for name in _ROW}) for row in rows),
        **{name: first[name] for name in _OWN},
    )


def find(index: Path, baseline: str) -> Path | None:
    """The file that a baseline names: one of this index by its name, or a path; None when it is neither."""
    own = _path(index, baseline)
    if "/" not in baseline and own.is_file():
        return own
    path = Path(baseline)
    return path if path.is_file() else None


def _path(index: Path, name: str) -> Path:
    return index / FOLDER / f"{name}.parquet"


def _report(index: Path, name: str) -> Path:
    return _path(index, name).with_suffix(".html")


def _table(result: Result) -> pa.Table:
    shared = {name: getattr(result, name) for name in _OWN} | asdict(result.space)
    return pa.Table.from_pylist([shared | asdict(row) for row in result.rows], schema=EVALUATIONS)
