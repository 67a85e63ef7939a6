"""`pincite index` and `pincite retry`."""

import time
from collections.abc import Sequence, Set
from typing import Annotated, NoReturn

import typer

from pincite.console import DEFAULT_INDEX, ExitCode, IndexOption, JsonOption, print_json, say
from pincite.flows.settings import load_settings
from pincite.retry_output import RequestedDocuments
from pincite.run_output import finish, run_all
from pincite.schemas.counting import counted
from pincite.schemas.errors import UsageError
from pincite.schemas.records import Collection, CollectionOutcome
from pincite.schemas.settings import Settings
from pincite.storage.erasure.recovery import RECOVERY
from pincite.storage.queries.index_report import document_reports
from pincite.storage.runs.collections import read_collections, require_known
from pincite.storage.runs.registration import drop_collection
from pincite.storage.snapshots.index import Index, has_index
from pincite.tasks.sources.source import address_of
from pincite.tasks.steps.configuration import require_space_of
from pincite.tasks.steps.plan import CollectionChoice, UpdateRequest
from pincite.tasks.update import opened_for
from pincite.updating import chosen_failures


def index(
    source: Annotated[
        str | None,
        typer.Argument(help="A folder or a bucket (s3://bucket/prefix); all collections when none is named."),
    ] = None,
    index: IndexOption = DEFAULT_INDEX,
    collection: Annotated[str | None, typer.Option(help="The name of this source in the index.")] = None,
    include: Annotated[
        list[str] | None, typer.Option(help="Index only files that match, as in .gitignore; may be repeated.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Leave out files that match, as in .gitignore; may be repeated.")
    ] = None,
    confirm_deletions: Annotated[
        int | None,
        typer.Option(min=0, help="How many documents may be gone from a source that looks emptied."),
    ] = None,
    drop: Annotated[
        bool, typer.Option("--drop", help="Take the source and its documents out of the index.")
    ] = False,
    chunker: Annotated[str | None, typer.Option(help="structural, or a reference strategy A to F.")] = None,
    model: Annotated[str | None, typer.Option(help="An embedding model's name or folder.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=0, help="Extraction processes; 0 is one per core.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Bring the index up to date with a source: new, changed, deleted, stale and retryable documents."""
    settings = load_settings(chunker=chunker, model=model, workers=workers)
    choice = CollectionChoice(source, collection, _given(include), _given(exclude))
    if drop:
        if not has_index(index):
            _dropped((), choice)  # raises, as what is asked for is not there
        with Index.open(index) as opened:
            _drop(opened, choice, confirm_deletions, json)
    with opened_for(index, settings, choice) as (opened, chosen):
        request = UpdateRequest(confirmed_deletions=confirm_deletions)
        done = run_all(opened, chosen, settings, request)
        finish(done, opened, settings, json)


def _given(patterns: list[str] | None) -> tuple[str, ...] | None:
    return tuple(patterns) if patterns else None


def _drop(index: Index, choice: CollectionChoice, confirmed: int | None, as_json: bool) -> NoReturn:
    collection = _dropped(read_collections(index), choice)
    deleted = drop_collection(index, collection, confirmed, RECOVERY)
    if as_json:
        print_json({"deleted": deleted})
    else:
        say(f"{deleted} deleted")
    raise typer.Exit(ExitCode.WELL)


def _dropped(known: Sequence[Collection], choice: CollectionChoice) -> Collection:
    if choice.source is None and choice.collection is None:
        raise UsageError("--drop needs the source or the --collection to drop")
    source = None if choice.source is None else address_of(choice.source)
    found = [one for one in known if source in (None, one.source) and choice.collection in (None, one.name)]
    if not found:
        names = ", ".join(f"{one.name} ({one.source})" for one in known) or "none"
        raise UsageError(f"no such collection is in the index. Known are: {names}")
    return found[0]


def retry(
    documents: Annotated[
        list[str] | None, typer.Argument(help="Failed documents, by path or id; all when none is named.")
    ] = None,
    index: IndexOption = DEFAULT_INDEX,
    reason: Annotated[
        str | None,
        typer.Option(help="Only failures of this kind or stage, or with these words in their reason."),
    ] = None,
    collection: Annotated[str | None, typer.Option(help="Only documents of this collection.")] = None,
    json: JsonOption = False,
) -> None:
    """Try failed documents again, also those whose failure looked permanent."""
    settings = load_settings()
    with Index.open(index) as opened:
        require_known(opened, collection)
        failed = document_reports(opened, None, state="failed")
        chosen = chosen_failures(failed, documents or (), reason, collection)
        if not chosen and not json:
            others = f"none of {counted(len(failed), 'failed document')} is of this choice"
            say(f"Nothing to retry: {others if failed else 'no document is failed'}.")
        ids = tuple(sorted(one.document_id for one in chosen))
        asked = RequestedDocuments(frozenset(one.document_id for one in failed), frozenset(ids), time.time())
        done = _retried(opened, {one.source for one in chosen}, settings, ids) if ids else []
        finish(done, opened, settings, json, asked)


def _retried(
    opened: Index, sources: Set[str], settings: Settings, ids: tuple[str, ...]
) -> list[CollectionOutcome]:
    require_space_of(opened, settings)
    chosen = [one for one in read_collections(opened) if one.source in sources]
    return run_all(opened, chosen, settings, UpdateRequest(retry=ids))
