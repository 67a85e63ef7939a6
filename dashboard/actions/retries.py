"""What a person or a program asks of an index: runs, retries, their end. Pages and API call these functions."""

from collections.abc import Sequence
from dataclasses import replace

from pincite.dashboard.actions.document_filter import DocumentFilter, collection_named
from pincite.dashboard.state.run_requests import RequestedRun, RunRequest
from pincite.dashboard.state.serving import Serving
from pincite.schemas.counting import counted
from pincite.schemas.errors import UsageError
from pincite.storage.queries.documents import RetryCandidate, chosen_documents, ids_of

MOST_RETRIED = 20_000  # by one order that names them: Prefect takes parameters up to 512 kB


def update(served: Serving, collection: str = "") -> RequestedRun:
    """Asks for a run over one collection, or over all. Raises `NotFound` for one that the index does not have."""
    if collection:
        collection_named(served.index, collection)
    words = f"Bring {collection} up to date" if collection else "Bring all collections up to date"
    return served.runs.ask(RunRequest.nightly(words, collection or None))


def retry_chosen(served: Serving, document_ids: Sequence[str]) -> RequestedRun:
    """Asks for another attempt on these documents.

    Raises `UsageError` when there is none or one of them is not failed, `NotFound` for one that is not there.
    """
    if not document_ids:
        raise UsageError("no document was chosen: tick those to retry")
    documents = chosen_documents(served.index, document_ids)
    if well := [one.path for one in documents if one.state != "failed"]:
        raise UsageError(f"{well[0]} is not failed: only failed documents are retried")
    return _ask(served, documents)


def retry_matching(served: Serving, choice: DocumentFilter) -> RequestedRun:
    """Asks for another attempt on every failed document of a choice. Raises `UsageError` when there is none."""
    wanted = replace(choice.wanted(served.index), state="failed")
    found = ids_of(served.index, served.current(), wanted, MOST_RETRIED)
    if not found:
        raise UsageError("no failed document matches: there is nothing to retry")
    if len(found) <= MOST_RETRIED:
        return _ask(served, chosen_documents(served.index, found))
    if choice.narrow:
        raise UsageError(
            f"more than {MOST_RETRIED:,} documents match: use `pincite retry --reason`, which takes them all"
        )
    of = f" of {choice.collection}" if choice.collection else ""
    return served.runs.ask(
        RunRequest.nightly(f"Retry all failed documents{of}", choice.collection or None, ())
    )


def _ask(served: Serving, documents: Sequence[RetryCandidate]) -> RequestedRun:
    names = sorted({one.collection for one in documents})
    many = len(documents) > 1
    words = f"Retry {counted(len(documents), 'document')}" if many else f"Retry {documents[0].path}"
    ids = [one.document_id for one in documents]
    return served.runs.ask(RunRequest.nightly(words, names[0] if len(names) == 1 else None, ids))
