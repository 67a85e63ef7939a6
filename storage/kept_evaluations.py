"""Kept evaluations: one Parquet file each in the folder `evaluations` of the index, for gates and trends.

A file is named by the version that was measured and by its content, and holds no time: the same evaluation is the
same file. It belongs to no transaction and to no reader's snapshot. Beside it lies its report as a page, if it was
kept: for people, and read by nothing.
"""

import hashlib
from collections.abc import Container
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq

from pincite.schemas.errors import UsageError
from pincite.schemas.evaluation import Judged, Result
from pincite.schemas.records import Space
from pincite.schemas.tables import EVALUATIONS
from pincite.storage.objects.interface import ObjectStore
from pincite.storage.objects.local import LocalStore
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import forgotten_ids

FOLDER = "evaluations"
_SUFFIX = ".parquet"
_SPACE = Space.__slots__
_ROW = Judged.__slots__
_OWN = tuple(name for name in Result.__slots__ if name not in ("name", "space", "rows"))


def keep(objects: ObjectStore, result: Result) -> Result:
    """Writes the result and returns it with its name; the same one is the same file."""
    sink = pa.BufferOutputStream()
    pq.write_table(_table(result), sink, compression="zstd", compression_level=1)
    data = sink.getvalue()
    name = f"{result.version:06d}-{hashlib.sha256(data).hexdigest()[:12]}"
    objects.put(_object(name), data)
    return replace(result, name=name)


def keep_report(index: Index, name: str, html: str, forgotten: Container[str]) -> bool:
    """Keeps the whole report of a result beside it, over an earlier one. It quotes documents, as no result does.

    `forgotten` are the ids of the documents that were to be forgotten before it was made. False, and nothing is
    kept, when there are others by now.
    """
    with index.places.quotes.shared():
        if any(one not in forgotten for one in forgotten_ids(index)):
            return False
        index.places.objects.put(_report(name), pa.py_buffer(html.encode()))
    return True


def report_of(objects: ObjectStore, name: str) -> str | None:
    """The kept report of a result; None for one whose report was not kept, or was given up."""
    try:
        with objects.open(_report(name)) as file:
            return bytes(file.read()).decode()
    except FileNotFoundError:
        return None


def drop_reports(objects: ObjectStore) -> int:
    """Deletes all kept reports, since any may quote what must be forgotten, and says how many; the results stay.

    Also what a writer that was killed left of one. Nobody writes one meanwhile (`pincite.storage.locks.quote_lock`).
    """
    names = [name for name in objects.names(FOLDER) if ".html" in name]
    for name in names:
        objects.delete(name)
    return len(names)


def kept(objects: ObjectStore) -> list[Result]:
    """All results of an index, by version, then name. Raises `UsageError` naming a file that can't be read."""
    names = sorted(name for name in objects.names(FOLDER) if name.endswith(_SUFFIX))
    return [_opened(objects, name) for name in names]


def kept_result(objects: ObjectStore, name: str) -> Result | None:
    """The result of this name; None when there is none."""
    plain = name.replace("-", "").isalnum()
    return (
        _opened(objects, _object(name)) if plain and objects.size_bytes(_object(name)) is not None else None
    )


def read(path: Path) -> Result:
    """One result in a file of its own. Raises `UsageError` when there is none or the file is something else."""
    return _opened(LocalStore(path.parent), path.name, str(path))


def _opened(objects: ObjectStore, name: str, shown: str = "") -> Result:
    shown = shown or objects.address(name)
    try:
        with objects.open(name) as file:
            rows = pq.read_table(file, partitioning=None).cast(EVALUATIONS).to_pylist()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UsageError(
            f"{shown} is no kept evaluation: {error}. See `pincite evaluate --history` for those of an index"
        ) from error
    if not rows:
        raise UsageError(f"{shown} holds no evaluation: it has no rows")
    first = rows[0]
    return Result(
        name=PurePosixPath(name).stem,
        space=Space(**{name: first[name] for name in _SPACE}),
        rows=tuple(Judged(**{name: row[name] for name in _ROW}) for row in rows),
        **{name: first[name] for name in _OWN},
    )


def _object(name: str) -> str:
    return f"{FOLDER}/{name}{_SUFFIX}"


def _report(name: str) -> str:
    return f"{FOLDER}/{name}.html"


def _table(result: Result) -> pa.Table:
    shared = {name: getattr(result, name) for name in _OWN} | asdict(result.space)
    return pa.Table.from_pylist([shared | asdict(row) for row in result.rows], schema=EVALUATIONS)
