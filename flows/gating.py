"""Gating: may the new space be switched to? Both are evaluated on the same questions, and the verdict is kept.

A verdict is of two versions of the index. It stands as long as no document of either space has changed since; then
both are evaluated again, on the questions that it was given for.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from pincite.evaluation.evaluate import AS_IT_IS, evaluate, evaluate_snapshot
from pincite.evaluation.gate.compare import gate
from pincite.evaluation.gate.regression import matched
from pincite.evaluation.gate.table import measured
from pincite.evaluation.questions import read_questions
from pincite.evaluation.results import result_of
from pincite.schemas.errors import UsageError
from pincite.schemas.evaluation import QuestionSet
from pincite.schemas.settings import Settings
from pincite.storage.migration.cut_over import snapshot_of
from pincite.storage.migration.state import Migration, changed_since_gate, record_gate, record_stage
from pincite.storage.queries.calibrations import adopt_threshold, latest_calibration
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import Kept, spaces_of
from pincite.tasks.migration.plan import MigrationOptions, Say

Gate = Mapping[str, object]


def passes(index: Index, migration: Migration, settings: Settings, choice: MigrationOptions) -> bool:
    """Whether the gate lets the new space in; its verdict is kept. Without questions there is no gate.

    Raises `UsageError` when the verdict is of other versions and its questions can't be read any more.
    """
    known = migration.gate
    if choice.questions is None and known is None and not migration.questions:
        if choice.force:
            raise UsageError(
                "--force switches against the verdict of the quality check: give its --questions too"
            )
        return True
    verdict = known if known is not None and _stands(index, migration, choice) else None
    if verdict is None:
        verdict = _judged(index, migration, settings, choice)
    else:
        choice.say("no document has changed since the verdict of the quality check: it stands")
        if not choice.force:
            return bool(verdict["ok"]) or bool(verdict.get("forced"))
    forced = choice.force if not verdict["ok"] else ""
    with index.lock.patient():
        record_gate(index, migration, {**verdict, "forced": forced})
    return bool(verdict["ok"]) or bool(forced)


def _stands(index: Index, migration: Migration, choice: MigrationOptions) -> bool:
    """Whether the verdict that is kept is of what the spaces hold now, and of the questions that were named."""
    known = migration.gate or {}
    if choice.questions is not None and known.get("questions_sha256") != _digest(choice.questions):
        return False
    return not changed_since_gate(index, migration)


def _digest(questions: Path) -> str:
    return hashlib.sha256(questions.read_bytes()).hexdigest() if questions.is_file() else ""


def _judged(index: Index, migration: Migration, settings: Settings, choice: MigrationOptions) -> Gate:
    known = migration.gate or {}
    file = choice.questions or Path(migration.questions)
    try:
        questions = read_questions(file)
    except UsageError as error:
        if choice.questions is not None:
            raise
        if choice.force and known:
            return known
        if not known:
            raise
        raise UsageError(
            f"{error}. The verdict of the quality check is of {_versions(known)}, and documents have changed since: "
            "give --questions again, or switch against the quality check with --force"
        ) from error
    record_stage(index, "evaluating")
    choice.say("evaluating both model versions")
    return _compared(index, migration.target, settings, file, questions, choice.say)


def _versions(known: Gate) -> str:
    versions = known.get("versions")
    if not isinstance(versions, Mapping):
        return "versions that it does not name"
    return f"version {versions['old']} of the old model version and version {versions['new']} of the new one"


def _compared(
    index: Index, target: Kept, settings: Settings, file: Path, questions: QuestionSet, say: Say
) -> Gate:
    """Bluffs are compared where both answer as many questions: distances of two models can't be compared."""
    live = spaces_of(index)[0]
    old = result_of(evaluate(index, replace(settings, model=live.setting), questions, say=say), questions)
    same_model = live.space.fingerprint == target.space.fingerprint
    plan = replace(AS_IT_IS, threshold=old.threshold) if same_model else matched(AS_IT_IS, old)
    with index.held_snapshot():  # a vacuum then leaves what any later version has, too
        new = result_of(
            evaluate_snapshot(snapshot_of(index, target.space_id), settings, questions, plan, say), questions
        )
    if not same_model or latest_calibration(index) is not None:
        adopt_threshold(index, target.space_id, new.version, new.threshold, questions)
        say(
            f"after the switch the new model version refuses from a distance of {new.threshold:g} on, at which it "
            "was compared: `pincite calibrate` measures one of its own"
        )
    verdict = gate(new, old)
    rows = [asdict(one) for one in measured(verdict, new, old)]
    kept: Gate = json.loads(json.dumps({**asdict(verdict), "measured": rows}))
    return {
        **kept,
        "threshold": new.threshold,
        "questions": str(file.resolve()),
        "questions_sha256": questions.sha256,
        "versions": {"old": old.version, "new": new.version},
    }
