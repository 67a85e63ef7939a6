"""Discover: which files a source holds, by name, state of the file and content hash."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from pincite.schemas.counting import counted
from pincite.schemas.errors import IndexBusy, PinciteError, SourceError, UnconfirmedLoss
from pincite.schemas.records import Collection, Counts, Policy, Registered, SourceFile
from pincite.schemas.settings import Limits
from pincite.storage.objects.download_cache import Fetching
from pincite.storage.runs.collections import keep_collection, known_collection
from pincite.storage.runs.registration import is_idle, known_files, register
from pincite.storage.runs.runs import Run, begin_run, finish_run
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import forgotten_contents, not_named
from pincite.tasks.sources.folder import unreadable
from pincite.tasks.sources.source import Source, open_source
from pincite.tasks.steps.observe import observing

READERS = 8
"""Files hashed at a time: a bucket answers after tens of milliseconds, and a disk does not mind."""

MANY = 10
"""So many documents, and more than half of all, are not taken for deletions when they are gone at once."""


@dataclass(frozen=True, slots=True)
class SourceListing:
    """What a source held when it was listed, with the hashes that were needed to see that something is to be done."""

    files: tuple[SourceFile, ...]


def read_hashes(
    source: Source, files: Iterable[SourceFile], known: Mapping[str, SourceFile]
) -> tuple[SourceFile, ...]:
    """The files with their content hash; one that `known` has as the same version is not read."""
    settled = [_as_known(file, known.get(file.path)) for file in files]
    unread = [n for n, file in enumerate(settled) if not file.sha256 and not file.unreadable]
    with ThreadPoolExecutor(READERS) as readers:
        for n, file in zip(unread, readers.map(source.hashed, [settled[n] for n in unread]), strict=True):
            settled[n] = file
    return tuple(settled)


def _as_known(file: SourceFile, known: SourceFile | None) -> SourceFile:
    """The file with the known hash, if it is the version of which that was taken.

    The ETag of an object, else size and times. The change time is 0 where a file was too fresh to be sure.
    """
    if known is None or not known.sha256 or file.unreadable:
        return file
    if file.etag or known.etag:
        same = (known.etag, known.size_bytes) == (file.etag, file.size_bytes)
    else:
        same = _times(known) == _times(file)
    return replace(file, sha256=known.sha256) if same else file


def _times(file: SourceFile) -> tuple[int, int, int]:
    return file.size_bytes, file.mtime_ns, file.ctime_ns


def _out_of_sight(listed: Sequence[SourceFile], known: Iterable[str]) -> Iterator[SourceFile]:
    """Known documents below a folder that can't be listed, or behind a link that leads nowhere now."""
    closed = {file.path.rstrip("/"): file for file in listed if file.unreadable}
    there = {file.path for file in listed}
    for path in sorted(set(known) - there) if closed else ():
        parts = path.split("/")
        above = next((a for n in range(1, len(parts)) if (a := "/".join(parts[:n])) in closed), None)
        if above is not None:
            yield unreadable(path, f"{above}: {closed[above].unreadable}", closed[above].kind)


def look(
    source: Source, known: Mapping[str, SourceFile], listed: tuple[SourceFile, ...] | None = None
) -> tuple[SourceFile, ...]:
    """The files of a source with their hashes, and those that are known but out of sight."""
    listed = source.list_files() if listed is None else listed
    hidden = tuple(_out_of_sight(listed, [path for path in known if source.patterns.admit(path)]))
    ours = [file for file in listed if file.path.endswith("/") or source.patterns.admit(file.path)]
    return read_hashes(source, ours, known) + hidden


def require_plausible(
    source: Source, known: Mapping[str, SourceFile], files: Iterable[SourceFile], confirmed: int | None
) -> None:
    """Raises `UnconfirmedLoss` when so many documents are gone that the source itself may be.

    That is when nothing is left where something was, or when at least `MANY` are gone and more than half. A document
    that moved is not gone, nor one that the patterns now leave out. `confirmed` is the number of lost ones that were
    agreed to.
    """
    there = {file.path for file in files}
    bytes_there = {file.sha256 for file in files if file.sha256}
    ours = [file for file in known.values() if source.patterns.admit(file.path)]
    lost = sum(file.path not in there and file.sha256 not in bytes_there for file in ours)
    emptied = bool(known) and not there
    if emptied:
        lost = len(known)
    suspicious = emptied or (lost >= MANY and lost * 2 > len(ours))
    if suspicious and lost != confirmed:
        raise UnconfirmedLoss(
            f"{source.address} holds {counted(len(there), 'file')}, and {lost:,} of "
            f"{counted(len(known), 'document')} would be deleted: an unmounted disk or a wrong bucket looks like "
            "this. Nothing was changed in the index",
            lost,
            confirmed,
        )


def discover(
    run: Run,
    policy: Policy,
    collection: Collection | None = None,
    limits: Limits | None = None,
    listing: SourceListing | None = None,
) -> Registered:
    """Hashes what the run's source holds and writes what is to be done into the ledger.

    The source is listed only where no `listing` of it is given.
    """
    collection = collection or known_collection(run.index, run.source)
    source = open_source(
        collection,
        run.index.path,
        limits or Limits(),
        Fetching(run.index.path),
        follow_links_out=policy.follow_links_out,
    )
    known = known_files(run.index, run.source)
    held = source.list_files() if listing is None else listing.files
    listed = not_named(run.index, run.source, known, held)
    files = look(source, known, listed)
    require_plausible(source, known, files, policy.confirmed_deletions)
    keep_collection(run, collection)
    return register(run, files, policy)


def settle_if_idle(
    index: Index, collection: Collection, policy: Policy, limits: Limits | None = None
) -> Counts | SourceListing:
    """Records a run over a source in which no document is to be read; what the source holds when one is.

    This spares a nightly run without changes the start of a Prefect server. Raises `IndexBusy` when another run
    holds the index, before a server is started in vain; what else it raises is recorded as a broken run.
    """
    with index.lock.exclusive():
        known = known_files(index, collection.source)
    try:
        source = open_source(
            collection, index.path, limits or Limits(), follow_links_out=policy.follow_links_out
        )
        files, idle = _look_if_idle(index, source, known, policy)
    except SourceError as error:
        if known:
            _record_broken(index, collection.source, error)
        raise
    if not idle:
        return SourceListing(files)
    with begin_run(index, "reindex", collection.source) as run, observing(run) as observer:
        if not is_idle(index, run.source, files, policy):
            raise IndexBusy(f"another run worked on the index at {index.path} meanwhile: run again")
        keep_collection(run, collection)
        register(run, files, policy)
        observer.counts = counts = finish_run(run)
    return counts


def _look_if_idle(
    index: Index, source: Source, known: Mapping[str, SourceFile], policy: Policy
) -> tuple[tuple[SourceFile, ...], bool]:
    """(the files, whether none of them is to be worked on). All are hashed unless one is surely new or changed."""
    versions = {(file.etag, file.size_bytes) for file in known.values() if file.sha256}
    listed = not_named(index, source.address, known, source.list_files())
    forgotten: set[str] = set()
    for file in listed:
        if not file.unreadable and (file.etag, file.size_bytes) not in versions:
            if file.path in known or not _is_forgotten(index, source, file):
                return listed, False  # surely new or changed: the run hashes it, and keeps what it downloads
            forgotten.add(file.path)
    files = look(source, known, tuple(file for file in listed if file.path not in forgotten))
    require_plausible(source, known, files, policy.confirmed_deletions)
    return files, is_idle(index, source.address, files, policy)


def _is_forgotten(index: Index, source: Source, file: SourceFile) -> bool:
    """Whether a file of an unknown name has the bytes of a forgotten document; it is read only if there is one."""
    contents = forgotten_contents(index)
    return bool(contents) and source.hashed(file).sha256 in contents


def _record_broken(index: Index, source: str, error: PinciteError) -> None:
    """A run that ends at once, so that whoever looks at the runs sees why this one did nothing."""
    try:
        with begin_run(index, "reindex", source) as run, observing(run):
            raise error
    except SourceError:
        return
