"""`pincite compact`, `pincite vacuum` and `pincite forget`."""

import re
from dataclasses import asdict
from typing import Annotated

import typer
from rich.filesize import decimal

from pincite.console import (
    DEFAULT_INDEX,
    ExitCode,
    IndexOption,
    JsonOption,
    complain,
    one_line,
    print_json,
    say,
)
from pincite.schemas.counting import counted
from pincite.schemas.errors import UsageError
from pincite.storage.erasure.erase import PREFECT
from pincite.storage.erasure.forget import Forgotten, Verified, verify_forgotten
from pincite.storage.erasure.forget import forget as forget_documents
from pincite.storage.erasure.proof import Proof
from pincite.storage.maintenance.whole_index import compact_index, vacuum_index
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import allow_again as allow
from pincite.storage.tombstones import find

_DURATION = re.compile(r"(?P<count>\d{1,9}(?:\.\d+)?)\s*(?P<unit>[smhdw]?)")
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}


def compact(index: IndexOption = DEFAULT_INDEX, json: JsonOption = False) -> None:
    """Merge small segments and leave out dead rows. Older versions stay readable until a vacuum."""
    with Index.open(index) as opened:
        done = compact_index(opened)
    assert done is not None
    if json:
        print_json(asdict(done))
        return
    if done.segments_before == done.segments_after and not done.bytes_written:
        say(f"Nothing to do: {counted(done.segments_before, 'segment')}, none to merge.")
        return
    merged = counted(done.segments_before, "segment")
    say(f"{merged} became {done.segments_after:,}, {counted(done.dead_rows, 'dead row')} left out")
    say(
        f"{decimal(done.bytes_ended)} became {decimal(done.bytes_written)}, version {done.version}; the old files "
        "stay for older versions until `pincite vacuum`"
    )


def vacuum(
    older_than: Annotated[
        str, typer.Option(help="The grace time: what was replaced longer ago goes; 7d, 12h, 30m, 0.")
    ] = "7d",
    index: IndexOption = DEFAULT_INDEX,
    json: JsonOption = False,
) -> None:
    """Remove what only old versions hold. What a living reader reads stays."""
    grace_s = seconds_of(older_than)
    with Index.open(index) as opened:
        done = vacuum_index(opened, grace_s)
    if json:
        print_json(asdict(done))
        return
    say(
        f"{counted(done.files, 'file')} removed, {decimal(done.bytes_freed)} freed, "
        f"{counted(done.revisions, 'former revision')}"
    )
    say(f"the oldest version that can be read is {done.oldest}")
    for reader in done.held_by:
        complain(f"kept more for a reader: {reader}")


def forget(
    documents: Annotated[
        list[str] | None, typer.Argument(help="Paths or ids of documents, also of deleted ones.")
    ] = None,
    allow_again: Annotated[
        bool, typer.Option("--allow-again", help="Let forgotten documents be indexed again instead.")
    ] = False,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Scan again for all that was ever forgotten; nothing else is removed."),
    ] = False,
    index: IndexOption = DEFAULT_INDEX,
    json: JsonOption = False,
) -> None:
    """Remove documents from every version: texts, vectors, words and caches; then scan the folder for traces.

    Their files are not indexed again, under their name or with their bytes, until --allow-again.
    """
    if verify == bool(documents):
        raise UsageError("name the documents, or scan for those that were forgotten with --verify alone")
    with Index.open(index) as opened:
        if verify:
            verified = verify_forgotten(opened)
            print_json(asdict(verified)) if json else _show_verified(verified)
            raise typer.Exit(ExitCode.FELL_SHORT if verified.proof.found else ExitCode.WELL)
        if allow_again:
            allowed = sum(allow(opened, name) for name in documents or ())
            print_json({"allowed": allowed}) if json else say(f"{allowed} may be indexed again")
            return
        asked = {one.document_id: one for name in documents or () for one in find(opened, name)}
        done = forget_documents(opened, list(asked.values()))
    if json:
        print_json(asdict(done))
    else:
        _show_forgotten(done)
    raise typer.Exit(ExitCode.FELL_SHORT if done.proof.found else ExitCode.WELL)


def _show_forgotten(done: Forgotten) -> None:
    say(
        f"{counted(len(done.document_ids), 'document')} forgotten: {counted(done.erased.rows, 'row')} of "
        f"{counted(done.erased.segments, 'segment')}, {counted(done.erased.revisions, 'revision')}, "
        f"{counted(done.erased.side_files, 'side file')}"
    )
    _show_proof(done.proof)
    for copy in done.copies:
        complain(f"{one_line(copy)} has the same bytes and is not forgotten: forget it too if it should be")
    for reader in done.readers:
        complain(f"{reader} reads the index: it may keep the text in memory until it searches again or ends")


def _show_verified(verified: Verified) -> None:
    say(f"{counted(len(verified.document_ids), 'document was', 'documents were')} ever forgotten")
    _show_proof(verified.proof)


def _show_proof(proof: Proof) -> None:
    say(
        f"scanned {counted(proof.files, 'file')}, {decimal(proof.size_bytes)}, {counted(proof.rows, 'row')}, for "
        f"{counted(proof.strings, 'string')} and {counted(proof.vectors, 'vector')}: "
        f"{'nothing found' if not proof.found else 'TRACES FOUND'}"
    )
    for trace in proof.found:
        complain(f"left: {one_line(trace)}")
    at_work = [one for one in proof.found if one.startswith(f"{PREFECT}/")]
    if at_work:
        complain(
            "a Prefect server is at work in that folder and has it in its records: end `pincite serve`, or what else "
            "runs on the index, then run `pincite forget --verify`, which empties the folder. Remove nothing by hand"
        )
    if len(proof.found) > len(at_work):
        complain("remove what is left, then run `pincite forget --verify`, which looks for it again")
    if proof.shared:
        stands = counted(proof.shared, "of the strings stands", "of the strings stand")
        say(f"{stands} in other documents too, so nothing follows from them")


def seconds_of(duration: str) -> float:
    """A duration in seconds. Raises `UsageError`."""
    match = _DURATION.fullmatch(duration.strip().lower())
    if match is None:
        raise UsageError(f"{duration!r} is no duration: write 7d, 12h, 30m or 90s")
    return float(match["count"]) * _SECONDS[match["unit"]]
