"""`pincite migrate`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from flows.settings import SETTINGS_FILE, load_settings
from pincite.console import (
    DEFAULT_INDEX,
    ExitCode,
    IndexOption,
    JsonOption,
    complain,
    errors,
    one_line,
    print_json,
    say,
)
from schemas.errors import UsageError
from schemas.records import Space
from schemas.settings import Settings, completed
from storage.index import Index
from storage.level import Progress as Level
from storage.level import progress_of
from storage.lock import MIGRATION_FILE, holder
from storage.migration import Blocker, Migration, abort, blockers, newest_migration, remove_old
from storage.spaces import Kept, spaces_of
from tasks.spaces import resolved

if TYPE_CHECKING:
    from flows import migrate as flow

_MOST_NAMED = 20


def migrate(
    model: Annotated[str | None, typer.Option(help="The embedding model to move to.")] = None,
    chunker: Annotated[str | None, typer.Option(help="The chunking strategy to move to.")] = None,
    index: IndexOption = DEFAULT_INDEX,
    throttle: Annotated[float, typer.Option(help="Share of the time in which it works, up to 1.")] = 1.0,
    waive: Annotated[
        list[str] | None, typer.Option(help="A document that blocks the migration and may be left out.")
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(help="Questions (JSON lines) on which both are compared before the switch.")
    ] = None,
    force: Annotated[str, typer.Option(help="Why to switch although the comparison says no.")] = "",
    keep_days: Annotated[
        float | None, typer.Option(help="Days after the switch until the next run removes the old space.")
    ] = None,
    status: Annotated[bool, typer.Option("--status", help="Say how far it is; nothing is changed.")] = False,
    rollback: Annotated[bool, typer.Option("--rollback", help="Switch back to the space before.")] = False,
    give_up: Annotated[bool, typer.Option("--abort", help="Drop the new space; the index stays.")] = False,
    remove: Annotated[bool, typer.Option("--remove-old", help="Remove the space before the switch.")] = False,
    json: JsonOption = False,
) -> None:
    """Move the index to another embedding model or chunker while it is searched; or go on, switch back, give up.

    Texts and chunks are taken from the index: no file is read again. Documents that come, change or go meanwhile
    go to both. The switch is one transaction, and so is the way back. Without --model and --chunker what was
    begun goes on, or the index is brought to what the settings name.
    """
    ways = {"status": status, "rollback": rollback, "abort": give_up, "remove-old": remove}
    chosen = [name for name, wanted in ways.items() if wanted]
    if len(chosen) > 1 or (chosen and (model or chunker)):
        raise UsageError(
            "choose one of --status, --rollback, --abort and --remove-old, or say where to go with --model or "
            "--chunker"
        )
    with _bar(index) as tell:
        choice = _Choice(throttle, tuple(waive or ()), questions, force, keep_days, tell)
        way = chosen[0] if chosen else "forward"
        went = _WAYS[way](index, load_settings(model=model, chunker=chunker), choice)
    _report(index, json)
    if not went:
        raise typer.Exit(ExitCode.FELL_SHORT)


@dataclass(frozen=True, slots=True)
class _Choice:
    throttle: float
    waive: tuple[str, ...]
    questions: Path | None
    force: str
    keep_days: float | None
    tell: Callable[[], None]


def _forward(path: Path, settings: Settings, choice: _Choice) -> bool:
    """Whether the index is now of the space asked for."""
    from flows import migrate as flow  # brings what evaluates

    with Index.open(path) as index:
        last = newest_migration(index)
    if last is not None and last.state == "building":
        settings = completed(settings, last.target.setting, last.target.space.chunker)
    done = flow.migrate(path, resolved(path, settings), _for_flow(choice))
    if done is None:
        complain("the index is of that model and chunker already: there is nothing to migrate")
    return done is None or done.state == "switched"


def _back(path: Path, settings: Settings, choice: _Choice) -> bool:
    from flows import migrate as flow

    return flow.rollback(path, resolved(path, settings), _for_flow(choice)).state == "rolled back"


def _for_flow(choice: _Choice) -> "flow.Choice":
    from flows import migrate as flow

    return flow.Choice(
        choice.throttle, choice.waive, choice.questions, choice.force, choice.keep_days, complain, choice.tell
    )


def _give_up(path: Path, _settings: Settings, _choice: _Choice) -> bool:
    from flows import migrate as flow

    flow.alone(path, abort)
    return True


def _remove(path: Path, _settings: Settings, _choice: _Choice) -> bool:
    from flows import migrate as flow

    flow.alone(path, remove_old)
    return True


def _look(path: Path, _settings: Settings, _choice: _Choice) -> bool:
    Index.open(path).close()
    return True


_WAYS: dict[str, Callable[[Path, Settings, _Choice], bool]] = {
    "forward": _forward,
    "rollback": _back,
    "abort": _give_up,
    "remove-old": _remove,
    "status": _look,
}


@contextmanager
def _bar(path: Path) -> Iterator[Callable[[], None]]:
    """A bar of what the ledger says; what comes back draws it anew."""
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
    with Progress(*columns, console=errors, transient=True) as bar:
        shown = bar.add_task("", total=1.0, visible=False)

        def tell() -> None:
            with Index.open(path) as index:
                migration = newest_migration(index)
                level = progress_of(index, migration) if migration else None
            if level:
                bar.update(shown, completed=level.share, description=_words(level), visible=True)

        yield tell


def _words(level: Level) -> str:
    words = (
        f"{level.documents_done} of {level.documents} documents, {level.chunks_done} of {level.chunks} chunks"
    )
    if level.remaining_s:
        minutes, seconds = divmod(round(level.remaining_s), 60)
        words += f", {minutes}:{seconds:02d} min left"
    return words


def _report(path: Path, as_json: bool) -> None:
    with Index.open(path) as index:
        migration = newest_migration(index)
        live = spaces_of(index)[0]
        level = progress_of(index, migration) if migration else None
        blocking = blockers(index, migration) if migration else ()
        kept = [one.space for one in spaces_of(index) if not one.live]
        at_work = holder(index.path, MIGRATION_FILE)
    if as_json:
        print_json(
            {
                "from": asdict(migration.source.space if migration else live.space),
                "to": asdict(migration.target.space if migration else live.space),
                "state": migration.state if migration else "none",
                "progress": _level_as_json(level),
                "blockers": [
                    {"document": one.path, "reason": one.reason, "waived": one.waived} for one in blocking
                ],
                "gate": dict(migration.gate) if migration and migration.gate else None,
                "live": asdict(live.space),
                "kept": [asdict(space) for space in kept],
                "at_work": at_work or None,
            }
        )
    else:
        _say_all(migration, live, level, blocking, kept, at_work)


def _level_as_json(level: Level | None) -> dict[str, object] | None:
    return None if level is None else asdict(level) | {"share": level.share, "remaining_s": level.remaining_s}


def _say_all(
    migration: Migration | None,
    live: Kept,
    level: Level | None,
    blocking: Sequence[Blocker],
    kept: Sequence[Space],
    at_work: str,
) -> None:
    say(f"searched  {live.space}")
    for space in kept:
        say(f"kept      {space}")
    if migration is None or level is None:
        say("no migration was ever begun")
        return
    say(f"migration {migration.state}: {migration.source.space.model} to {migration.target.space.model}")
    if migration.state != "aborted" and kept:
        say(_words(level))
    if migration.state == "building":
        say(f"at work: {at_work}" if at_work else "nobody is at work: `pincite migrate` goes on with it")
    for one in blocking[:_MOST_NAMED]:
        what = "left out" if one.waived else "blocks"
        say(f"{what}    {one_line(one.path)}: {one_line(one.reason)}")
    if any(not one.waived for one in blocking):
        say("the index is searched as before. Mend the documents, or leave them out with --waive DOCUMENT")
    gate = migration.gate or {}
    reasons = gate.get("reasons")
    for reason in reasons if isinstance(reasons, list) else ():
        say(f"gate      {one_line(str(reason))}")
    _advise(live)


def _advise(live: Kept) -> None:
    """What to write into the settings where they name another model or chunker than the index now has."""
    settings = load_settings()
    for name, named, own in (
        ("model", settings.model, live.setting),
        ("chunker", settings.chunker, live.space.chunker),
    ):
        if named and named != own:
            complain(
                f'the settings ({SETTINGS_FILE} or PINCITE_{name.upper()}) say {name} = "{named}": write '
                f'{name} = "{own}" there or leave it out; until then `pincite index` and searches are refused'
            )
