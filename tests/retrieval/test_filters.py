"""Filters keep what they say, before anything is scored, and change no score."""

import math
from datetime import UTC, datetime
from typing import get_args

import pytest

from pincite.retrieval.filters import Filters
from pincite.retrieval.ranking import LEG_DEPTH, Mode
from pincite.retrieval.searcher import Results, open_index
from pincite.schemas.errors import UsageError
from pincite.schemas.settings import Settings
from pincite.storage.runs.collections import read_collections
from pincite.storage.snapshots.index import Index

MODES: tuple[Mode, ...] = get_args(Mode)
TEXTS = ("documents", "folders", "types", "languages")
DOCUMENTS = {
    "notes.md": ["zebra notes"],
    "guides/notes.md": ["zebra guide"],
    "guides/deep/Plan.PDF": ["scan zebra plan"],
    "guides-old/plan.pdf": ["zebra old plan"],
    "[draft] é.txt": ["zebra draft"],
}
MODIFIED = {path: datetime(2026, 1, day, 12, tzinfo=UTC) for day, path in enumerate(DOCUMENTS, start=1)}


def found(small_index, filters: Filters, mode: Mode = "hybrid", query: str = "zebra", k: int = 10) -> Results:
    # Chunks as they are: that of a window is another score, which only the first 50 have.
    with open_index(small_index.path, Settings(windows=False)) as searcher:
        return searcher.search(query, mode=mode, filters=filters, k=k)


@pytest.mark.parametrize(
    ("filters", "paths"),
    [
        (Filters(documents=("notes.md",)), {"notes.md", "guides/notes.md"}),
        (Filters(documents=("guides/notes.md",)), {"guides/notes.md"}),
        (Filters(documents=("guides/*",)), {"guides/notes.md", "guides/deep/Plan.PDF"}),
        (Filters(documents=("[draft] é.txt",)), {"[draft] é.txt"}),
        (Filters(documents=("[[]draft*", "*.md")), {"[draft] é.txt", "notes.md", "guides/notes.md"}),
        (Filters(folders=("guides",)), {"guides/notes.md", "guides/deep/Plan.PDF"}),
        (Filters(folders=("./guides/deep/",)), {"guides/deep/Plan.PDF"}),
        (Filters(folders=("",)), set(DOCUMENTS)),
        (Filters(types=("pdf",)), {"guides/deep/Plan.PDF", "guides-old/plan.pdf"}),
        (Filters(types=(".MD", "txt")), {"notes.md", "guides/notes.md", "[draft] é.txt"}),
        (Filters(types=("text/*",)), set(DOCUMENTS)),
        (Filters(types=("application/pdf",)), set()),
        (Filters(folders=("guides",), types=("md",)), {"guides/notes.md"}),
        (Filters(modified_since=MODIFIED["guides/notes.md"], modified_before=MODIFIED["guides-old/plan.pdf"]),
         {"guides/notes.md", "guides/deep/Plan.PDF"}),
        (Filters(modified_before=MODIFIED["notes.md"]), set()),
        (Filters(min_ocr_confidence=81.0), set(DOCUMENTS)),
        (Filters(min_ocr_confidence=82.0), set(DOCUMENTS) - {"guides/deep/Plan.PDF"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", MODES)
def test_a_filter_keeps_what_it_says(small_index, mode: Mode, filters: Filters, paths: set[str]) -> None:
    small_index.write(DOCUMENTS, modified=MODIFIED)
    results = found(small_index, filters, mode)
    assert {hit.document for hit in results.hits} == paths
    assert results.searched == len(paths)


IN_LANGUAGES = {
    "uk.txt": ["zebra: перед пуском насоса необхідно очистити фільтр і перевірити тиск."],
    "ru.txt": ["zebra: перед пуском насоса необходимо очистить фильтр и проверить давление."],
    "sv.txt": ["zebra: smörj lagren var tredje månad och byt oljan varje år."],
    "zh.txt": ["zebra 启动水泵之前,请清洁过滤器并检查管道中的压力。"],
    "codes.txt": ["zebra ERR-4042 17.5"],
}


@pytest.mark.parametrize(
    ("languages", "paths"),
    [
        (("uk",), {"uk.txt"}),
        (("uk", "sv"), {"uk.txt", "sv.txt"}),
        ((" UK ",), {"uk.txt"}),
        (("unknown",), {"codes.txt"}),
        (("",), {"codes.txt"}),
        (("zh", "Unknown"), {"zh.txt", "codes.txt"}),
        (("fi",), set()),
        ((), set(IN_LANGUAGES)),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_a_filter_on_language_keeps_what_was_told_at_indexing(
    small_index, mode: Mode, languages: tuple[str, ...], paths: set[str]
) -> None:
    small_index.write(IN_LANGUAGES)
    results = found(small_index, Filters(languages=languages), mode)
    assert {hit.document for hit in results.hits} == paths
    assert results.searched == len(paths)


def test_a_document_that_changes_its_language_goes_with_it(small_index) -> None:
    small_index.write({"note.txt": IN_LANGUAGES["uk.txt"]})
    with open_index(small_index.path, version=None) as searcher:
        assert searcher.search("zebra", mode="bm25", filters=Filters(languages=("uk",))).hits
        small_index.write({"note.txt": IN_LANGUAGES["sv.txt"]})
        assert not searcher.search("zebra", mode="bm25", filters=Filters(languages=("uk",))).hits
        assert searcher.search("zebra", mode="bm25", filters=Filters(languages=("sv",))).hits


def test_a_name_in_two_characters_is_the_name_in_one(small_index) -> None:
    small_index.write({"Caf\u0065\u0301.txt": ["zebra"], "b.txt": ["zebra"]})
    assert len(found(small_index, Filters(documents=("caf\u00e9.txt", "Caf\u00e9.*"))).hits) == 1


@pytest.mark.parametrize("mode", MODES)
def test_what_is_filtered_out_takes_no_place_and_scores_stay(small_index, mode: Mode) -> None:
    # More chunks that score higher than any leg is deep: a filter after the search would find nothing.
    crowd = [f"zebra zebra n{number}" for number in range(LEG_DEPTH + 60)]
    small_index.write({"crowd.txt": crowd, "few.txt": ["a zebra and many other words beside it", "lion"]})
    results = found(small_index, Filters(documents=("few.txt",)), mode)
    assert results.hits[0].document == "few.txt" and results.searched == 2
    everything = {hit.chunk_id: hit for hit in found(small_index, Filters(), mode, k=1_000).hits}
    for hit in results.hits:
        whole = everything[hit.chunk_id]
        assert hit.bm25 == whole.bm25 and hit.cosine_distance == whole.cosine_distance
    if mode != "bm25":
        assert [hit.dense_rank for hit in sorted(results.hits, key=lambda hit: hit.cosine_distance)] == [1, 2]


@pytest.mark.parametrize("mode", MODES)
def test_top_k_under_a_filter_is_a_prefix(small_index, mode: Mode) -> None:
    texts = {number: [f"zebra n{number}", f"zebra m{number}"] for number in range(40)}
    small_index.write({f"{number % 4}/{number}.txt": text for number, text in texts.items()})
    filters = Filters(folders=("1", "3"))
    longest = found(small_index, filters, mode, k=100).hits
    assert len(longest) == 40
    for k in (1, 7, 39):
        assert found(small_index, filters, mode, k=k).hits == longest[:k]


def test_a_filter_that_leaves_nothing_refuses_under_a_threshold(small_index) -> None:
    small_index.write(DOCUMENTS)
    with open_index(small_index.path) as searcher:
        results = searcher.search("zebra", threshold=2.0, filters=Filters(documents=("nothing",)))
    assert (results.hits, results.refused, results.searched) == ((), True, 0)


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        (Filters(min_ocr_confidence=math.nan), "between 0 and 100"),
        (Filters(min_ocr_confidence=101), "between 0 and 100"),
        (Filters(documents=("",)), "matches nothing"),
        (Filters(languages=("uk", "ukr")), "'ukr' is not the code of a language .*ISO 639-1"),
        (Filters(languages=("xx",)), "'xx' is not the code"),
        (Filters(languages=("Swedish",)), "'Swedish' is not the code"),
        (
            Filters(modified_since=datetime(2026, 2, 1), modified_before=datetime(2026, 1, 1)),
            "no file can be",
        ),
        *((Filters(**{field: "notes"}), f"{field} is the text 'notes'") for field in TEXTS),
    ],
)
def test_a_filter_that_can_not_hold_is_wrong_use(small_index, filters: Filters, said: str) -> None:
    small_index.write(DOCUMENTS)
    with pytest.raises(UsageError, match=said):
        found(small_index, filters)


def test_only_documents_of_a_collection_are_searched_and_an_unknown_one_is_refused(small_index) -> None:
    small_index.write({"a.txt": ["zebra"]})
    with Index.open(small_index.path) as index:
        (own,) = [one.name for one in read_collections(index)]
    assert [hit.document for hit in found(small_index, Filters(collections=(own,))).hits] == ["a.txt"]
    with pytest.raises(UsageError, match=f"no collection is named other. Known are: {own}"):
        found(small_index, Filters(collections=("other",)))
