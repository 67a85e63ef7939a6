"""The one loop over collections, with real child processes and without a workflow engine."""

from pathlib import Path

import pytest

from pincite.schemas.errors import SourceError
from pincite.schemas.records import CollectionOutcome, Counts
from pincite.schemas.settings import CollectionSettings, Settings
from pincite.tasks.runner.threads import ThreadRunner
from pincite.tasks.sources.folder import Folder
from pincite.tasks.steps.plan import NOTHING_MORE, CollectionChoice
from pincite.tasks.update import opened_for, update
from tests.storage.building import fill


def settings_of(**sources: Path) -> Settings:
    return Settings(collections={name: CollectionSettings(str(source)) for name, source in sources.items()})


def bring(index: Path, settings: Settings) -> list[CollectionOutcome]:
    with opened_for(index, settings, CollectionChoice()) as (opened, chosen):
        run = ThreadRunner()
        return list(update(opened, chosen, settings, NOTHING_MORE, lambda one: one.run(run)[1]))


def test_each_source_is_listed_once_a_run_and_a_lost_one_keeps_no_other_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[str] = []
    list_files = Folder.list_files

    def counted(folder: Folder) -> object:
        listed.append(Path(folder.address).name)
        return list_files(folder)

    monkeypatch.setattr(Folder, "list_files", counted)
    settings = settings_of(
        first=fill(tmp_path / "first", {"a.txt": "The pump hums.", "b.txt": "The seal leaks."}),
        second=fill(tmp_path / "second", {"c.txt": "The valve sticks."}),
    )
    outcomes = bring(tmp_path / "index", settings)
    assert [(one.counts, one.idle) for one in outcomes] == [
        (Counts(2, indexed=2), False),
        (Counts(1, indexed=1), False),
    ]
    assert listed == ["first", "second"]
    (tmp_path / "first" / "a.txt").write_text("The pump is silent.")
    (tmp_path / "second").rename(tmp_path / "unmounted")
    first, second = bring(tmp_path / "index", settings)
    assert (first.counts, second.counts) == (Counts(2, indexed=1, unchanged=1), Counts())
    assert "no such folder" in second.error and listed[2:] == ["first"]
    assert [one.idle for one in bring(tmp_path / "index", settings)] == [True, True]
    assert listed[3:] == ["first"]


def test_no_folder_is_made_for_an_index_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such folder"):
        bring(tmp_path / "index", settings_of(first=tmp_path / "none", second=tmp_path / "nor this"))
    assert not (tmp_path / "index").exists()
    outcomes = bring(
        tmp_path / "index", settings_of(first=tmp_path / "none", second=fill(tmp_path / "empty", {}))
    )
    assert [bool(one.error) for one in outcomes] == [True, False]
