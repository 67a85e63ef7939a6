"""What settings mean: those that name nothing follow the index, and each extractor tells its version."""

import sys
from pathlib import Path

import pytest

from pincite.encoders.models import resolve_model
from pincite.schemas.errors import SpaceMismatch
from pincite.schemas.settings import DEFAULT_MODEL, Settings
from pincite.storage.ledger import schema, transactions
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import spaces_of
from pincite.tasks.extraction.extract import extract
from pincite.tasks.extraction.registry import formats
from pincite.tasks.extraction.stamps import current_version
from pincite.tasks.steps.configuration import (
    configuration,
    current_versions,
    made_or_opened,
    resolved,
    setting_of,
)
from tests.storage import building

USE = "universal-sentence-encoder-multilingual-3"


def test_settings_that_name_nothing_follow_the_index_and_others_are_refused(tmp_path: Path) -> None:
    index = tmp_path / "index"
    made_or_opened(index, Settings(model="universal-sentence-encoder", chunker="E")).close()
    with made_or_opened(index, Settings()) as opened:
        whole = resolved(opened, Settings())
        assert (whole.model, whole.chunker) == (USE, "E")
        now = configuration(opened, Settings()).space
        assert now == spaces_of(opened)[0].space
        other = configuration(opened, Settings(chunker="A")).space
        assert other is not None and other.chunker == "A"
    with pytest.raises(SpaceMismatch, match=rf'set model = "{USE}", or leave it out .* `pincite migrate`'):
        made_or_opened(index, Settings(model=DEFAULT_MODEL))
    with pytest.raises(SpaceMismatch, match='set chunker = "E", or leave it out'):
        made_or_opened(index, Settings(chunker="structural"))


def test_a_model_in_a_folder_is_found_again_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = resolve_model(DEFAULT_MODEL).folder
    monkeypatch.chdir(weights.parent)
    model = resolve_model(weights.name)
    assert setting_of(weights.name, model) == str(weights)
    assert setting_of(DEFAULT_MODEL, resolve_model(DEFAULT_MODEL)) == DEFAULT_MODEL
    made_or_opened(tmp_path / "index", Settings(model=weights.name)).close()
    monkeypatch.chdir(tmp_path)
    with Index.open(tmp_path / "index") as opened:
        assert resolve_model(resolved(opened, Settings()).model) == model


def test_an_extractor_tells_the_version_that_it_stamps(tmp_path: Path) -> None:
    texts = {"plain": ".txt", "markdown": ".md", "html": ".html", "delimited": ".csv", "json": ".json"}
    for name, suffix in texts.items():
        path = tmp_path / f"a{suffix}"
        path.write_text('{"a": "some words"}' if name == "json" else "some words, and more\nof them, here\n")
        extraction = extract(path, Settings(), lambda _page: None)
        assert (extraction.extractor, extraction.extractor_version) == (name, current_version(name))
    assert all(current_version(name) for name in formats())


def test_no_module_is_looked_for_because_an_index_names_it_and_old_stamps_are_stale(
    tmp_path: Path,
) -> None:
    index, source = tmp_path / "index", tmp_path / "source"
    source.mkdir()

    def told(settings: Settings) -> dict[str, str]:
        with Index.open(index) as opened:
            return dict(current_versions(opened, settings))

    def stamp(name: str) -> None:
        with Index.open(index) as opened, transactions.writing(opened.engine) as connection:
            connection.execute(schema.revisions.update().values(extractor=name))

    building.reindex(index, building.fill(source, {"a.txt": "# A\n\na"}))
    own = Settings(extractors={".log": "tests.doubles.faults:extract_by_first_word"})
    stamp("this.module:function")
    assert told(own) == told(Settings()) == {} and "this" not in sys.modules
    stamp("log")  # as it was before own extractors were stamped with their address
    assert told(Settings()) == {} and told(own) == {"log": "named by its address"}
    stamp(own.extractors[".log"])
    assert told(Settings()) == {} and told(own).keys() == {own.extractors[".log"]}
