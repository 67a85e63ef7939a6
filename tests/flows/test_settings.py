"""Settings are read as people write them, and what means nothing is named."""

from dataclasses import replace
from pathlib import Path

import pytest

from pincite.flows import environment_names
from pincite.flows.environment_names import known_variables, unknown_variables
from pincite.flows.settings import load_settings
from pincite.schemas.errors import UsageError
from pincite.schemas.settings import Settings
from pincite.tasks.sources.source import address_of


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_empty_variable_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in known_variables():
        monkeypatch.setenv(name, "")
    assert replace(load_settings(), folder="") == Settings()


@pytest.mark.parametrize("written", ["eng,deu", "eng, deu", "eng deu", "eng+deu", '["eng", "deu"]'])
def test_a_list_in_a_variable_is_written_with_commas_or_as_json(
    monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setenv("PINCITE_OCR__LANGUAGES", written)
    monkeypatch.setenv("PINCITE_ENVIRONMENT", written)
    settings = load_settings()
    assert settings.ocr.languages == settings.environment == ("eng", "deu")


def test_a_list_that_is_no_list_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_OCR__LANGUAGES", '["eng"')
    with pytest.raises(UsageError, match="settings"):
        load_settings()


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "pincite.toml").write_text(
        '\ufeffworkers = 2\n[ocr]\nlanguages = ["deu"]\n', encoding="utf-8"
    )
    assert (load_settings().workers, load_settings().ocr.languages) == (2, ("deu",))


def test_a_variable_that_is_no_setting_is_named_once_with_what_was_meant(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(environment_names, "_told", set())
    monkeypatch.setenv("PINCITE_WORKRES", "2")
    monkeypatch.setenv("PINCITE_FROM_OTHERS", "deu")
    monkeypatch.setenv("PINCITE_INDEX", "idx")
    load_settings()
    load_settings()
    assert [record.getMessage() for record in caplog.records] == [
        "the variable PINCITE_FROM_OTHERS is no setting and does nothing",
        "the variable PINCITE_WORKRES is no setting and does nothing; was PINCITE_WORKERS meant?",
    ]


def test_every_documented_variable_is_known() -> None:
    documented = (
        Path(__file__).resolve().parents[2].joinpath("docs", "settings.md").read_text(encoding="utf-8")
    )
    import re

    named = set(re.findall(r"PINCITE_[A-Z_]*[A-Z]", documented))
    assert not unknown_variables(dict.fromkeys(named, "x"))


def test_a_tilde_in_a_source_is_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert address_of("~/docs") == str(tmp_path / "home" / "docs")
    assert address_of("~nobody-of-this-name/docs") == str(tmp_path / "~nobody-of-this-name" / "docs")
