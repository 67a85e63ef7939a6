"""Windows: chunks grown by whole sentences of their neighbours."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.retrieval.filters import Filters
from pincite.retrieval.loaded_version import Corpus
from pincite.retrieval.searcher import open_index
from pincite.retrieval.windows import MOST, Window, Windows, apart
from pincite.schemas.records import Hit
from pincite.schemas.settings import Settings
from pincite.schemas.tables import document_of
from pincite.storage.snapshots.index import Index
from tests.retrieval.conftest import SmallIndex

SENTENCES = [f"Sentence number{n} says that valve v{n} is closed for {n} hours." for n in range(40)]
CHUNKS = [" ".join(SENTENCES[n : n + 4]) for n in range(0, 40, 4)]


def window_of(small_index: SmallIndex, content: str) -> tuple[str, Window]:
    """(the stored text, the window of the chunk with this content)."""
    with Index.open(small_index.path) as index, index.snapshot() as snapshot:
        corpus = Corpus(snapshot)
        rows = np.flatnonzero(corpus.live).tolist()
        row = next(row for row in rows if corpus.contents([row]) == [content])
        (text,) = (
            one
            for part in snapshot.of_kind("texts")
            for one in snapshot.rows(part, ["text"])["text"].to_pylist()
        )
        return text, Windows(corpus).of(row)


def test_a_window_has_its_chunk_and_whole_sentences_around_it(small_index: SmallIndex) -> None:
    small_index.write({"a.txt": CHUNKS}, apart=False)
    text, window = window_of(small_index, CHUNKS[4])
    shown = text[window.start : window.end]
    assert CHUNKS[4] in shown and MOST - 70 < len(shown) <= MOST
    assert shown.startswith("Sentence number") and shown.endswith(" hours.")
    first, last = shown.index(CHUNKS[4]), shown.index(CHUNKS[4]) + len(CHUNKS[4])
    assert abs(first - (len(shown) - last)) < 70  # as much before as behind
    assert window.terms["v14"] == 1 and "v16" not in window.terms  # of what it has beyond its chunk


def test_a_window_ends_where_something_was_left_out_and_where_its_document_does(
    small_index: SmallIndex,
) -> None:
    small_index.write({"a.txt": CHUNKS[:2], "b.txt": CHUNKS[2:4]})
    with open_index(small_index.path) as searcher:
        hits = searcher.search("valve v1 v9").hits
    assert sorted(hit.content for hit in hits) == sorted(CHUNKS[:4])


def test_a_chunk_that_is_as_long_as_a_window_stays_as_it_is(small_index: SmallIndex) -> None:
    long = " ".join(SENTENCES[:20])
    small_index.write({"a.txt": ["One.", long, "Two."]}, apart=False)
    text, window = window_of(small_index, long)
    assert text[window.start : window.end] == long and not window.terms


def test_rows_of_a_table_are_taken_whole(small_index: SmallIndex) -> None:
    rows = [f"| P{n}. Pump | No. {n} is of steel. It is blue. |" for n in range(40)]
    small_index.write(
        {"a.txt": ["\n".join(rows[:20]), "What stands between.", "\n".join(rows[20:])]}, apart=False
    )
    text, window = window_of(small_index, "What stands between.")
    lines = text[window.start : window.end].strip().splitlines()
    assert len(lines) > 10 and all(line in rows for line in lines if line.startswith("|"))
    assert all(line.startswith("|") for line in lines if line and line != "What stands between.")


def check_hits(hits: tuple[Hit, ...], texts: dict[str, str]) -> None:
    for hit in hits:
        text = texts[document_of(hit.chunk_id)]
        assert text[hit.start : hit.end] == hit.content == hit.content.strip()
        assert hit.chunk is not None
        assert text[hit.chunk.start : hit.chunk.end] == hit.chunk.content
        assert hit.locator == f"#char={hit.start},{hit.end}" or hit.content == hit.chunk.content
        for other in hits:
            if other is not hit and other.document == hit.document:
                assert other.end <= hit.start or hit.end <= other.start


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=5).map(" ".join), min_size=1, max_size=12
    ),
    st.sampled_from(["valve closed", "number3 v7", "hours says v12 v13", "sentence"]),
)
def test_no_two_hits_overlap_and_each_is_a_slice_of_its_text(
    tmp_path_factory: pytest.TempPathFactory, small_index_in, passages: list[str], query: str
) -> None:
    small_index = small_index_in(tmp_path_factory.mktemp("windows"))
    small_index.write({"a.txt": passages, "b.txt": passages[::2]}, apart=False)
    vector = np.ones(small_index.space.dimension, dtype=np.float32) / small_index.space.dimension**0.5
    with open_index(small_index.path) as searcher:
        longest = searcher.search(query, vector=vector, k=60).hits
        ids = sorted({document_of(hit.chunk_id) for hit in longest})
        check_hits(longest, {one: stored.text for one, stored in searcher.texts(ids).items()})
        assert [hit.score for hit in longest] == sorted((hit.score for hit in longest), reverse=True)
        for k in (1, 2, 5):
            assert searcher.search(query, vector=vector, k=k).hits == longest[:k]


def test_a_question_over_two_chunks_is_answered_by_the_window_of_both(small_index: SmallIndex) -> None:
    halves = ["The seal leaks when it is hot.", "Then order the kit SK-7 and replace it."]
    others = {f"{n}.txt": [CHUNKS[n]] for n in range(8)}
    small_index.write({"a.txt": halves, **others}, apart=False)
    with (
        open_index(small_index.path) as searcher,
        open_index(small_index.path, Settings(windows=False)) as plain,
    ):
        hit = searcher.search("which kit when the seal leaks hot").hits[0]
        assert hit.content == "\n\n".join(halves) and hit.chunk is not None and hit.chunk.content in halves
        assert hit.bm25 is not None
        chunks = plain.search("which kit when the seal leaks hot").hits
    assert {one.content for one in chunks[:2]} == set(halves)
    assert max(one.bm25 or 0.0 for one in chunks) < hit.bm25
    assert all(one.chunk and one.chunk.content == one.content for one in chunks)


def test_the_shares_of_a_window_sum_to_its_score(small_index: SmallIndex) -> None:
    small_index.write({"a.txt": CHUNKS}, apart=False)
    with open_index(small_index.path) as searcher:
        results = searcher.search("valve v14 v17 hours", explain=True)
    for hit, shares in zip(results.hits, results.shares, strict=True):
        assert sum(one.share for one in shares) == pytest.approx(hit.bm25)


def test_no_chunk_that_a_filter_leaves_out_lends_its_text(small_index: SmallIndex) -> None:
    small_index.write({"a.txt": ["scan of v1 is closed.", *CHUNKS[:3]]}, apart=False)
    with open_index(small_index.path) as searcher:
        every = searcher.search("v1 closed", filters=Filters(min_ocr_confidence=80)).hits
        none = searcher.search("v1 closed", filters=Filters(min_ocr_confidence=82)).hits
    assert every and (every[0].start, every[0].end) != (0, 21)
    assert not none or all(hit.start > 21 for hit in none)


@pytest.mark.parametrize(
    ("shown", "left"),
    [
        ((), (0, 300)),
        (((0, 100),), (100, 300)),
        (((0, 120),), (120, 300)),  # a part of the chunk
        (((100, 200),), None),  # all of it
        (((100, 185),), None),  # nearly all
        (((140, 160),), (0, 140)),  # its middle: the longer part is left
        (((0, 50), (250, 300)), (50, 250)),
    ],
)
def test_a_window_has_what_no_better_one_shows(
    shown: tuple[tuple[int, int], ...], left: tuple[int, int] | None
) -> None:
    found = apart(Window(0, 300, 100, 200, (1, 3), {}, 0), shown)
    assert (found and (found.start, found.end)) == left
