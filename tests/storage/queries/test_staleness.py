"""What is stale says which stage makes it so, in words and as a condition on the ledger alike."""

from dataclasses import replace
from pathlib import Path

import pytest

from pincite.schemas.records import Configuration, Space
from pincite.storage.queries.documents import Wanted, list_documents
from pincite.storage.queries.index_report import document_reports, index_report
from pincite.storage.snapshots.index import Index
from tests.storage.building import POLICY, SPACE, fill, reindex

NOW = Configuration(POLICY.recipe, SPACE, {"extractor-of-tests": "1", "another": "9"})
CASES = {
    "nothing": (NOW, ""),
    "recipe": (replace(NOW, recipe="other"), "made with other settings of the pipeline or of OCR"),
    "a recipe alone": ("other", "made with other settings of the pipeline or of OCR"),
    "extractor": (
        replace(NOW, extractors={"extractor-of-tests": "2"}),
        "made with the extractor extractor-of-tests 1, now 2",
    ),
}
OF_SPACE = {
    "model": (
        replace(SPACE, model="m", fingerprint="a" * 64, dimension=9),
        "made with the model model-of-tests, the settings ask for m: run `pincite migrate`",
    ),
    "weights": (
        replace(SPACE, fingerprint="a" * 64),
        "made with other weights of model-of-tests: run `pincite migrate`",
    ),
    "dimension": (replace(SPACE, dimension=9), "made with 8 dimensions, now 9: run `pincite migrate`"),
    "pipeline": (replace(SPACE, pipeline="2"), "made with pipeline 1, now 2: run `pincite migrate`"),
    "chunker": (
        replace(SPACE, chunker="E"),
        "made with the chunker structural, the settings ask for E: run `pincite migrate`",
    ),
    "tokenizer": (
        replace(SPACE, tokenizer="words-2"),
        "made with the tokenizer words-1, now words-2: run `pincite migrate`",
    ),
}


@pytest.fixture
def opened(index: Path, source: Path) -> Index:
    reindex(index, fill(source, {"a.txt": "# A\n\na", "b.txt": "# B\n\nb"}))
    return Index.open(index)


@pytest.mark.parametrize("current, reason", CASES.values(), ids=CASES)
def test_what_is_extracted_otherwise_now_is_stale(
    opened: Index, current: Configuration | str, reason: str
) -> None:
    assert_stale(opened, current, reason)


@pytest.mark.parametrize("space, reason", OF_SPACE.values(), ids=OF_SPACE)
def test_what_is_of_another_space_is_stale_and_asks_for_a_migration(
    opened: Index, space: Space, reason: str
) -> None:
    assert_stale(opened, replace(NOW, space=space), reason)


def assert_stale(opened: Index, current: Configuration | str, reason: str) -> None:
    with opened:
        wanted = {"a.txt": reason, "b.txt": reason} if reason else {}
        stale = document_reports(opened, current, "stale")
        assert {one.path: one.stale_reason for one in stale} == wanted
        page = list_documents(opened, current, Wanted("stale"))
        assert {one.path: one.stale_reason for one in page.documents} == wanted
        assert dict(index_report(opened, current).stale) == ({reason: 2} if reason else {})


def test_another_version_of_an_extractor_reads_its_documents_again(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "# A\n\na"})
    assert reindex(index, source).indexed == 1
    assert reindex(index, source, replace(POLICY, extractors={"extractor-of-tests": "1"})).unchanged == 1
    assert reindex(index, source, replace(POLICY, extractors={"another": "2"})).unchanged == 1
    assert reindex(index, source, replace(POLICY, extractors={"extractor-of-tests": "2"})).indexed == 1
