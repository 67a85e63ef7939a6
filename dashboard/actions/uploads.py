"""Receiving: a file that was sent becomes one of a collection's, and a run over it is asked for."""

from dataclasses import dataclass
from typing import BinaryIO

from pincite.dashboard.actions.document_filter import collection_named
from pincite.dashboard.actions.upload_files import checked_name, put
from pincite.dashboard.state.run_requests import RequestedRun, RunRequest
from pincite.dashboard.state.serving import Serving
from pincite.schemas.errors import PinciteError
from pincite.schemas.records import Collection
from pincite.storage.queries.documents import document_of

WRITE_S = 600.0  # longest time in which a file is copied to its folder


@dataclass(frozen=True, slots=True)
class Received:
    """A file that is stored. `not_started` says why the run that was wanted could not be asked for."""

    document: str  # its path in the collection
    collection: str
    order: RequestedRun | None = None
    not_started: str = ""


def receive(
    served: Serving,
    name: str,
    content: BinaryIO,
    collection: str,
    *,
    replace: bool = False,
    run: bool = False,
) -> Received:
    """Stores a file under its own name. Raises what `put` and `checked_name` raise; then nothing is stored."""
    return _store(
        served, collection_named(served.index, collection), checked_name(name), content, replace, run
    )


def receive_for(served: Serving, document_id: str, content: BinaryIO, *, run: bool = False) -> Received:
    """Stores a file in place of a document's, wherever it lies in its collection. Raises as `receive` does."""
    report, _ = document_of(served.index, served.current(), document_id)
    collection = collection_named(served.index, report.collection)
    return _store(served, collection, report.path, content, True, run, document_id)


def _store(
    served: Serving,
    collection: Collection,
    path: str,
    content: BinaryIO,
    replace: bool,
    run: bool,
    document_id: str = "",
) -> Received:
    put(collection, path, content, replace)
    if not run:
        return Received(path, collection.name)
    waited_for = (document_id,) if document_id else ()
    try:
        order = served.runs.ask(RunRequest.nightly(f"Index {path}", collection.name, documents=waited_for))
    except (PinciteError, OSError) as error:  # the file is stored all the same, and that must be said
        return Received(path, collection.name, not_started=str(error))
    return Received(path, collection.name, order)
