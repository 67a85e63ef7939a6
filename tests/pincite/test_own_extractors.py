"""An extractor of the user's own: a change of its file reads again what it made and what it failed."""

import json
import os
import re
from pathlib import Path

import pytest

from pincite.schemas.errors import ExtractorUnavailable, InvariantBroken
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.registry import extract
from tests.commands import ROOT, Pincite

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
    pincite: Pincite, tmp_path: Path
) -> None:
    docs, module = tmp_path / "docs", tmp_path / "code" / "logs.py"
    docs.mkdir()
    module.parent.mkdir()
    module.write_text(FIRST)
    (docs / "a.log").write_text("The pump hums.")
    (docs / "b.log").write_text("The valve sticks.")
    (docs / "c.txt").write_text("The product reads this.")
    (docs / "empty.txt").write_text("")
    own = {
        "PYTHONPATH": os.pathsep.join([str(module.parent), str(ROOT)]),
        "PINCITE_EXTRACTORS": json.dumps({".log": "logs:extract"}),
    }

    def index() -> tuple[int, int, int]:
        told = json.loads(pincite("index", docs, "--json", cwd=tmp_path, **own).stdout)
        return told["indexed"], told["unchanged"], told["failed"]

    assert index() == (2, 0, 2)
    assert index() == (0, 2, 2)
    module.write_text(FIRST.replace('"pump" not in text', "not text"))
    (stale,) = json.loads(pincite("documents", "--state", "stale", "--json", cwd=tmp_path, **own).stdout)
    assert stale["document"] == "a.log" and "made with the extractor logs:extract" in str(stale)
    assert index() == (2, 1, 1)
    assert index() == (0, 3, 1)
    documents = json.loads(pincite("documents", "--attempts", "--json", cwd=tmp_path, **own).stdout)
    made = {one["document"]: len(one["history"]) for one in documents}
    assert made == {"a.log": 2, "b.log": 2, "c.txt": 1, "empty.txt": 1}, "another's failure waits"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (
            "nowhere:extract",
            "the extractor nowhere:extract of the settings can't be loaded: No module named 'nowhere'",
        ),
        ("schemas:nothing", "has no attribute 'nothing'"),
        ("builtins:print", "returned a NoneType, and not a pincite.schemas.records.Extraction"),
    ],
)
def test_an_extractor_that_is_not_there_or_none_is_said_to_be(
    tmp_path: Path, address: str, words: str
) -> None:
    (tmp_path / "a.log").write_text("The pump hums.")
    settings = Settings(extractors={".log": address})
    with pytest.raises((ExtractorUnavailable, InvariantBroken), match=re.escape(words)):
        extract(tmp_path / "a.log", settings, lambda _page: None)


def test_an_extractor_without_a_function_is_refused_with_the_settings(
    pincite_here: Pincite, tmp_path: Path
) -> None:
    wrong = pincite_here("search", "pump", cwd=tmp_path, PINCITE_EXTRACTORS='{".log": "logs"}')
    assert wrong.returncode == 2 and '".suffix" = "module:function"' in wrong.stderr
