"""`pincite migrate`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

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
from pincite.flows.settings import load_settings
from pincite.migration_output import telling, words_of
from pincite.schemas.counting import counted
from pincite.schemas.errors import IndexBusy, UsageError
from pincite.schemas.records import Space
from pincite.schemas.settings import Settings
from pincite.storage.locks.interface import LockName
from pincite.storage.migration.state import newest_migration
from pincite.storage.migration.status import MigrationStatus, status_of
from pincite.storage.queries.index_report import index_report
from pincite.storage.snapshots.index import Index
from pincite.tasks.migration.plan import MigrationOptions, Way, heading, is_level, require
from pincite.tasks.steps.configuration import advice

_MOST_NAMED = 20


def migrate(
    model: Annotated[str | None, typer.Option(help="The embedding model to move to.")] = None,
    chunker: Annotated[str | None, typer.Option(help="The chunking strategy to move to.")] = None,
    index: IndexOption = DEFAULT_INDEX,
    throttle: Annotated[float, typer.Option(help="Share of the time in which it works, up to 1.")] = 1.0,
    waive: Annotated[
        list[str] | None,
        typer.Option("--accept", "--waive", help="A document that blocks the migration and may be left out."),
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(help="Questions (JSON lines) on which both are compared before the switch.")
    ] = None,
    force: Annotated[str, typer.Option(help="Why to switch although the comparison says no.")] = "",
    keep_days: Annotated[
        float | None,
        typer.Option(help="Days after the switch until the next run removes the old model version."),
    ] = None,
    switch: Annotated[
        bool, typer.Option("--switch/--no-switch", help="Switch when it is built, or wait for the word.")
    ] = True,
    status: Annotated[bool, typer.Option("--status", help="Say how far it is; nothing is changed.")] = False,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Switch back to the model version before.")
    ] = False,
    give_up: Annotated[
        bool, typer.Option("--abort", help="Drop the new model version; the index stays.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove-old", help="Remove the model version before the switch.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Move the index to another embedding model or chunker while it is searched; or go on, switch back, give up.

    Texts and chunks are taken from the index: no file is read again. Documents that come, change or go meanwhile
    go to both. The switch is one transaction, and so is the way back. Without --model and --chunker what was
    begun goes on, or the index is brought to what the settings name. With --no-switch it is built, evaluated, and
    waits for the next `pincite migrate`.
    """
    ways: dict[Way, bool] = {"rollback": rollback, "abort": give_up, "remove-old": remove}
    chosen = [name for name, wanted in ways.items() if wanted]
    if len(chosen) + status > 1 or ((chosen or status) and (model or chunker)):
        raise UsageError(
            "choose one of --status, --rollback, --abort and --remove-old, or say where to go with --model or "
            "--chunker"
        )
    choice = MigrationOptions(
        throttle,
        tuple(waive or ()),
        questions,
        force,
        keep_days,
        switch,
        model or "",
        chunker or "",
        say=complain,
    )
    with Index.open(index) as opened:
        went = status or _do(opened, chosen[0] if chosen else "forward", choice)
        _report(opened, json)
    if not went:
        raise typer.Exit(ExitCode.FELL_SHORT)


def _do(index: Index, way: Way, choice: MigrationOptions) -> bool:
    """Whether it came to what was asked for. A Prefect server is started only for what takes a while."""
    settings = load_settings()
    to = heading(index, settings, choice)
    due = require(index, way, to, choice)
    plan = _plan(index, way, to) if due and way in ("forward", "rollback") else ""
    if due and (busy := index.lock.holder(LockName.MIGRATION)):
        raise IndexBusy(f"a migration of {index.path} is at work: {busy}. Wait until it ends")
    if not due:
        complain("the index is of that model and chunker already: there is nothing to migrate")
        return True
    if way in ("abort", "remove-old") or (way == "rollback" and is_level(index)):
        from pincite.flows.migration import carry_out, went  # brings what evaluates

        return went(carry_out(index, way, settings, choice), way, choice)
    complain(f"{plan}; Prefect is being started")
    return _run(index, way, choice)


def _plan(index: Index, way: Way, to: Settings) -> str:
    """What is before it: where it goes, and how much there is."""
    migration = newest_migration(index)
    if way == "rollback" and migration:
        return f"back to {_called(migration.source.space)}"
    report = index_report(index, None)
    documents = report.states.get("indexed", 0)
    much = f"{counted(report.chunks, 'chunk')}, {counted(documents, 'indexed document')}"
    return f"to {to.model}, {to.chunker}: {much}"


def _run(index: Index, way: Way, choice: MigrationOptions) -> bool:
    """As a run of the flow, with a bar of what the ledger says of it."""
    from pincite.flows.prefect_server.server import prefect_api

    with telling(index, way), prefect_api(index.path.resolve() / "prefect"):
        from pincite.flows.migrate import run_here

        try:
            return run_here(index, way, **choice.parameters())
        except KeyboardInterrupt:  # which ends any command with exit code 130
            complain(
                "interrupted: what was built stays, `pincite migrate` goes on; --status says how it stands"
            )
            raise


def _called(space: Space) -> str:
    return f"{space.model}, {space.chunker}"


def _report(index: Index, as_json: bool) -> None:
    status = status_of(index)
    if as_json:
        print_json(_as_json(status))
    else:
        _say_all(status)


def _as_json(status: MigrationStatus) -> dict[str, object]:
    migration, (live, *kept), progress = status.migration, status.spaces, status.progress
    return {
        "from": asdict(migration.source.space if migration else live.space),
        "to": asdict(migration.target.space if migration else live.space),
        "state": migration.state if migration else "none",
        "standing": status.standing or "none",
        "stage": migration.stage if migration and migration.state == "building" else None,
        "progress": None
        if progress is None
        else asdict(progress) | {"share": progress.share, "remaining_s": progress.remaining_s},
        "blockers": [
            {"document": one.path, "reason": one.reason, "waived": one.waived} for one in status.blockers
        ],
        "gate": dict(migration.gate) if migration and migration.gate else None,
        "changed_since_gate": status.changed,
        "live": asdict(live.space),
        "kept": [asdict(one.space) for one in kept],
        "at_work": status.at_work or None,
    }


def _say_all(status: MigrationStatus) -> None:
    migration, (live, *kept) = status.migration, status.spaces
    say(f"searched  {live.space}")
    for one in kept:
        say(f"kept      {one.space}")
    if migration is None or status.progress is None:
        say("no migration was ever begun")
        return
    building = migration.state == "building"
    say(
        f"migration {status.standing}: {_called(migration.source.space)} to {_called(migration.target.space)}"
    )
    if migration.state != "aborted" and kept:
        say(words_of(status.progress))
    if building:
        say(f"at work: {status.at_work}" if status.at_work else _AT_REST.get(migration.stage, _AT_REST[""]))
    for blocker in status.blockers[:_MOST_NAMED]:
        what = "left out" if blocker.waived else "blocks"
        say(f"{what}    {one_line(blocker.path)}: {one_line(blocker.reason)}")
    if any(not blocker.waived for blocker in status.blockers):
        say("the index is searched as before. Mend the documents, or leave them out with --accept DOCUMENT")
    reasons = (migration.gate or {}).get("reasons")
    for reason in reasons if isinstance(reasons, list) else ():
        say(f"quality check: {one_line(str(reason))}")
    if building and status.changed:
        changed = counted(status.changed, "document")
        say(f"quality check: {changed} changed since this verdict: both model versions are evaluated again")
    for line in advice(load_settings(), live):
        complain(line)


_AT_REST = {
    "": "nobody is at work: `pincite migrate` goes on with it",
    "held": "ready: `pincite migrate` switches to it",
    "blocked": "documents are in the way: nobody is at work",
    "refused": 'the quality check says no: `pincite migrate --force "why"` switches all the same, --abort ends it',
}
"""By the stage in which it was left."""
