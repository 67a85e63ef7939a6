"""What settings mean: those that name nothing follow the index, and each extractor tells its version."""

from pathlib import Path

import pytest

from encoders.models import resolve_model
from schemas.errors import SpaceMismatch
from schemas.settings import DEFAULT_MODEL, Settings
from storage.index import Index
from storage.spaces import spaces_of
from tasks.extraction.formats import FORMATS, current_version, extract
from tasks.spaces import configuration, made_or_opened, resolved, setting_of

USE = "universal-sentence-encoder-multilingual-3"


def test_settings_that_name_nothing_follow_the_index_and_others_are_refused(tmp_path: Path) -> None:
    index = tmp_path / "index"
    assert resolved(index, Settings()).model == DEFAULT_MODEL
    made_or_opened(index, Settings(model="universal-sentence-encoder", chunker="E")).close()
    whole = resolved(index, Settings())
    assert (whole.model, whole.chunker) == (USE, "E")
    with made_or_opened(index, Settings()) as opened:
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
        assert resolve_model(resolved(opened.path, Settings()).model) == model


def test_an_extractor_tells_the_version_that_it_stamps(tmp_path: Path) -> None:
    texts = {"plain": ".txt", "markdown": ".md", "html": ".html", "delimited": ".csv", "json": ".json"}
    for name, suffix in texts.items():
        path = tmp_path / f"a{suffix}"
        path.write_text('{"a": "some words"}' if name == "json" else "some words, and more\nof them, here\n")
        extraction = extract(path, Settings(), lambda _page: None)
        assert (extraction.extractor, extraction.extractor_version) == (name, current_version(name))
    assert all(current_version(name) for name in FORMATS)
    assert current_version("one of the user's") is None
