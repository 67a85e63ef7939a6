"""What a retry says of the documents it was asked for: each in one count, by the ledger."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pincite.retry_output import RequestedDocuments, Retried
from pincite.storage.queries.index_report import document_reports
from pincite.storage.runs.runs import begin_run
from pincite.storage.snapshots.index import Index
from pincite.tasks.discover import discover
from tests.storage.building import PERMANENT, POLICY, fill, reindex, work


@dataclass(frozen=True, slots=True)
class Failing:
    """An index of documents that are failed, and its source."""

    index: Path
    source: Path
    ids: Mapping[str, str]  # by path

    def asked(self, *paths: str) -> RequestedDocuments:
        chosen = frozenset(self.ids[path] for path in paths)
        return RequestedDocuments(frozenset(self.ids.values()), chosen, time.time())

    def run(self, asked: RequestedDocuments, left: str) -> None:
        """A run of the source that tries what was chosen, and ends before it comes to the document `left`."""
        policy = replace(POLICY, retry=tuple(sorted(asked.chosen)))
        with Index.open(self.index) as opened, begin_run(opened, "reindex", str(self.source)) as run:
            pending = discover(run, policy).pending
            work(run, [one for one in pending if one != self.ids[left]], policy)

    def retried(self, asked: RequestedDocuments, *stopped: str) -> Retried:
        with Index.open(self.index) as opened:
            return asked.retried(opened, stopped)


NAMES = ("again", "back", "besides", "gone", "mended", "others", "out", "waits", "anew")


@pytest.fixture
def failing(tmp_path: Path) -> Failing:
    source, index = tmp_path / "source", tmp_path / "index"
    reindex(index, fill(source, {"back": "as it was"}))
    reindex(index, fill(source, {name: f"{PERMANENT}: {name}" for name in NAMES}))
    with Index.open(index) as opened:
        ids = {one.path: one.document_id for one in document_reports(opened, None, "failed")}
    assert set(ids) == set(NAMES)
    return Failing(index, source, ids)


def test_each_chosen_document_is_in_one_count_with_the_reason_it_was_not_tried_for(
    failing: Failing, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = failing.asked("again", "back", "gone", "mended", "out", "waits", "anew")
    for name, text in (("back", "as it was"), ("mended", "well"), ("besides", "well"), ("waits", "well")):
        (failing.source / name).write_text(text)
    for name in ("gone", "out"):
        (failing.source / name).unlink()
    (failing.source / "out").symlink_to(failing.source / "nothing")
    failing.run(asked, left="waits")
    (failing.source / "anew").write_text("other words")  # of one that was tried, and is to be tried once more
    with Index.open(failing.index) as opened, begin_run(opened, "reindex", str(failing.source)) as run:
        discover(run, POLICY)
    retried = failing.retried(asked)
    assert retried.as_json() == {
        "retried": 4,
        "not_retried": 4,
        "chosen": {
            "indexed": 1,
            "failed": 1,
            "waiting": 2,
            "not_tried": {
                "its file is not in the collection any more": 1,
                "the file is again as it was indexed": 1,
                "the source does not give the file": 1,
            },
        },
    }
    assert retried.others == {failing.ids["others"]}
    retried.say()
    assert capsys.readouterr().out.splitlines() == [
        "2 failed documents were tried again: 1 indexed, 1 failed again",
        "1 other one was tried too: 1 indexed, 0 failed again",
        "2 chosen documents still wait for the next run",
        "1 chosen document was not tried: its file is not in the collection any more",
        "1 chosen document was not tried: the file is again as it was indexed",
        "1 chosen document was not tried: the source does not give the file",
        "1 failed document was not tried, being not of this choice: `pincite documents --state failed`",
    ]


def test_documents_of_a_source_whose_run_stopped_are_told_so(failing: Failing) -> None:
    asked = failing.asked("again", "gone")
    told = failing.retried(asked, str(failing.source)).as_json()["chosen"]
    assert told == {
        "indexed": 0,
        "failed": 0,
        "waiting": 0,
        "not_tried": {"the run of its source stopped": 2},
    }
