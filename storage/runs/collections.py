"""Collections: the sources of an index under their names, with the patterns of what is indexed of each."""

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

import sqlalchemy as sa

from pincite.schemas.errors import UsageError
from pincite.schemas.records import Collection
from pincite.storage.ledger import schema, transactions
from pincite.storage.runs.runs import Run
from pincite.storage.snapshots.index import Index


def require_known(index: Index, name: str | None) -> None:
    """Raises `UsageError` for a name that no collection of the index has; None is all of them."""
    known = sorted(one.name for one in read_collections(index))
    if name is not None and name not in known:
        raise UsageError(f"no collection is named {name}. Known are: {', '.join(known) or 'none'}")


def read_collections(index: Index) -> tuple[Collection, ...]:
    """All collections of the index, sorted by name; a source that an older Pincite indexed gets a name here."""
    with transactions.reading(index.engine) as connection:
        return read_within(connection)


def read_within(connection: sa.Connection) -> tuple[Collection, ...]:
    """As `read_collections`, in a transaction of the caller."""
    documents = schema.documents
    rows = connection.execute(sa.select(schema.collections))
    known = [Collection(row.name, row.source, tuple(row.include), tuple(row.exclude)) for row in rows]
    sources = sa.select(documents.c.source).where(documents.c.state != "deleted").distinct()
    for source in sorted(set(connection.scalars(sources)) - {one.source for one in known}):
        known.append(Collection(free_name(source, known), source))
    return tuple(sorted(known, key=lambda one: one.name))


def collection_names(connection: sa.Connection, sources: Iterable[str]) -> Mapping[str, str]:
    """The names of some sources, without a look at all documents where each has one."""
    rows = connection.execute(sa.select(schema.collections.c.source, schema.collections.c.name))
    names = {source: name for source, name in rows}
    if any(source not in names for source in sources):
        names = {one.source: one.name for one in read_within(connection)}
    return names


def known_collection(index: Index, source: str) -> Collection:
    """The collection of a source, or one under a free name and without patterns."""
    return agree(read_collections(index), source, None, None, None)


def free_name(source: str, known: Iterable[Collection]) -> str:
    """The last part of the source, with a number where another collection has that name."""
    taken = {one.name for one in known}
    name = PurePosixPath(source.partition("://")[2] or source).name or "documents"
    return next(
        candidate
        for n in range(1, len(taken) + 2)
        if (candidate := name if n == 1 else f"{name}-{n}") not in taken
    )


def agree(
    known: Iterable[Collection],
    source: str,
    name: str | None,
    include: tuple[str, ...] | None,
    exclude: tuple[str, ...] | None,
) -> Collection:
    """The collection that a run over a source is of; what is None stays as it was.

    Raises `UsageError` when the name is that of another source, which would lose its documents.
    """
    known = tuple(known)
    before = next((one for one in known if one.source == source), None)
    holder = next((one for one in known if one.name == name), None)
    if holder is not None and holder.source != source:
        raise UsageError(
            f"the collection {name} is {holder.source}, not {source}: give the new one another name, or drop the old "
            f"one first (`pincite index --drop --collection {name}`)"
        )
    name = name or (before.name if before else free_name(source, known))
    old = before or Collection(name, source)
    return Collection(
        name,
        source,
        old.include if include is None else include,
        old.exclude if exclude is None else exclude,
    )


def keep_collection(run: Run, collection: Collection) -> None:
    """Writes name and patterns as they hold from this run on. Raises `UsageError` when the name was given away."""
    table = schema.collections
    with transactions.writing(run.index.engine) as connection:
        agree(read_within(connection), collection.source, collection.name, None, None)
        connection.execute(table.delete().where(table.c.source == collection.source))
        connection.execute(
            table.insert().values(
                name=collection.name,
                source=collection.source,
                include=list(collection.include),
                exclude=list(collection.exclude),
            )
        )
