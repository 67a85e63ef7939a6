"""Whatever happens to the names and texts of a folder, the index has what the folder has."""

import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.schemas.records import SourceFile
from pincite.storage.checks.verify import verify
from pincite.storage.runs.reconcile import Row, match
from pincite.storage.snapshots.index import Index
from tests.storage.building import PERMANENT, POLICY, fill, found, reindex

NAMES = st.sampled_from(["a.txt", "b.txt", "c.txt", "d.txt", "a.md", "deep/a.txt"])
TEXTS = st.sampled_from(
    ["# One\n\nfirst", "# Two\n\nsecond", "# Three\n\nthird\n\nmore", "without a title", PERMANENT]
)
FOLDERS = st.dictionaries(NAMES, TEXTS, max_size=5)


@settings(max_examples=8)
@given(st.lists(FOLDERS, min_size=2, max_size=5))
def test_after_any_history_the_index_has_what_the_folder_has(history: list[dict[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        index, source = Path(folder) / "index", Path(folder) / "source"
        known: set[str] = set()
        before: dict[str, str] = {}
        for files in history:
            emptied = replace(POLICY, confirmed_deletions=None if files else len(before))
            counts = reindex(index, fill(source, files), emptied)
            before = files
            assert counts.discovered >= len(files)
            assert counts.indexed + counts.unchanged + counts.failed == len(files)
            assert counts.failed == sum(text == PERMANENT for text in files.values())
            good = {path: text for path, text in files.items() if text != PERMANENT}
            shown = found(index)
            assert {path: "\n\n".join(shown[path]) for path in good} == {
                path: text.split("\n\n", 1)[-1] for path, text in good.items()
            }
            assert set(shown) - set(good) <= set(files) & known, "only a failed document keeps an older text"
            known = set(shown)
        with Index.open(index) as opened:
            assert [check for check in verify(opened) if not check.ok] == []


def row(path: str, sha256: str, live: bool, named: bool) -> Row:
    return {
        "path": path,
        "sha256": sha256,
        "state": "indexed" if live else "failed",
        "live_sha256": sha256 if live else None,
        "live_recipe": POLICY.recipe,
        "title_from_name": named if live else None,
    }


PATHS = st.sampled_from([f"{letter}.{suffix}" for letter in "abcdef" for suffix in ("txt", "md")])
HASHES = st.sampled_from(["1", "2", "3", "4"])


@given(
    st.dictionaries(PATHS, st.tuples(HASHES, st.booleans(), st.booleans())),
    st.dictionaries(PATHS, st.sampled_from(["", "1", "2", "3", "4"])),
)
def test_each_document_and_each_file_is_matched_exactly_once(
    documents: dict[str, tuple[str, bool, bool]], folder: dict[str, str]
) -> None:
    rows = {path: row(path, *values) for path, values in documents.items()}
    files = [
        SourceFile(path, "", 0, 0, 0, sha256, "" if sha256 else "lost") for path, sha256 in folder.items()
    ]
    matches = match(rows, files)
    of_rows = [one["path"] for one, _ in (*matches.kept, *matches.renamed)] + [
        one["path"] for one in matches.gone
    ]
    of_files = [file.path for _, file in (*matches.kept, *matches.renamed)] + [
        one.path for one in matches.fresh
    ]
    assert sorted(of_rows) == sorted(rows)
    assert sorted(of_files) == sorted(folder)
    assert all(one["path"] == file.path for one, file in matches.kept)
    for one, file in matches.renamed:
        assert one["sha256"] == file.sha256 and one["path"] != file.path
        assert folder.get(one["path"]) not in ("", file.sha256), "it is no longer where it was"
    for path, sha256 in folder.items():
        if path in rows and rows[path]["sha256"] == sha256:
            assert path in {file.path for _, file in matches.kept}, "what did not change stays what it is"
