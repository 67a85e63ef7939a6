import math
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from pincite.encoders.embedding import Embedder
from pincite.encoders.terms import passage_terms, terms
from pincite.retrieval import bm25
from pincite.retrieval.filters import Filters
from pincite.retrieval.ranking import Mode
from pincite.retrieval.searcher import open_index
from pincite.schemas.errors import IndexBroken, ModelUnavailable, SpaceMismatch, UsageError
from pincite.schemas.records import Space
from pincite.schemas.settings import Settings
from pincite.storage.ledger import schema, transactions
from pincite.storage.segments.segment import write_segment
from pincite.storage.snapshots.index import Index

POEM = ["床前明月光", "疑是地上霜", "举头望明月", "低头思故乡"]
MODES: tuple[Mode, ...] = get_args(Mode)
HALF = 2.0**-11  # a vector is searched in float16, which moves a cosine by at most this much


def test_a_chinese_query_of_two_characters_finds_only_its_line(small_index) -> None:
    small_index.write({f"{number}.txt": [line] for number, line in enumerate(POEM)})
    with open_index(small_index.path) as searcher:
        hits = searcher.search("故乡", mode="bm25").hits
    assert [hit.content for hit in hits] == ["低头思故乡"]
    assert hits[0].score > 0


@pytest.mark.parametrize("query", ["A002", "rule a002", "RULE-A002"])
def test_a_rule_number_is_found_however_it_is_asked(small_index, query: str) -> None:
    small_index.write(
        {"rules.txt": ["See RULE-A002 for shelves.", "See RULE-B417 for doors.", "Other words."]}
    )
    with open_index(small_index.path) as searcher:
        assert searcher.search(query, mode="bm25").hits[0].content == "See RULE-A002 for shelves."


def test_a_hit_says_all_that_is_known_of_its_place(small_index, minilm: Embedder, distant) -> None:
    query = "blue ink"
    near = distant(minilm.embed_query(query), 0.25)
    small_index.write({"notes/scan.pdf": ["scan of blue ink", "red paper"]}, {"scan of blue ink": near})
    with open_index(small_index.path) as searcher:
        hit = searcher.search(query).hits[0]
    assert (hit.rank, hit.document, hit.title, hit.section) == (1, "notes/scan.pdf", "Notes/Scan.Pdf", "§0")
    assert (hit.content, hit.start, hit.end) == ("scan of blue ink", 0, 16)
    assert (hit.dense_rank, hit.bm25_rank, hit.stale) == (1, 1, False)
    assert hit.cosine_distance == pytest.approx(0.25, abs=HALF)
    assert hit.score > 0.05
    assert hit.bm25 is not None and hit.bm25 > 0
    assert hit.ocr_confidence == 81
    assert hit.locator.startswith("#")
    assert hit.chunk_id.endswith("-000001-000000")


def test_each_mode_has_its_own_score(small_index, minilm: Embedder, distant) -> None:
    vectors = {"zebra": distant(minilm.embed_query("zebra"), 0.4)}
    small_index.write({"a.txt": ["zebra", "lion", "tiger"]}, vectors)
    with open_index(small_index.path) as searcher:
        dense, lexical, ranks, hybrid = (
            searcher.search("zebra", mode=mode).hits[0] for mode in ("dense", "bm25", "rrf", "hybrid")
        )
    assert dense.score == pytest.approx(0.6, abs=HALF)
    assert (dense.bm25, dense.bm25_rank) == (None, None)
    # In one of three chunks of equal length: idf = ln(1 + 2.5 / 1.5), tf part 1.
    assert lexical.score == lexical.bm25 == pytest.approx(math.log(1 + 2.5 / 1.5))
    assert (lexical.cosine_distance, lexical.dense_rank) == (None, None)
    assert ranks.score == pytest.approx(2 / 61)
    # Its tf part is 1 of at most k1 + 1; the others are at some 1, so its cosine stands two thirds of the way up.
    assert hybrid.score == pytest.approx(1 / 2.2 + 0.05 * 2**0.5, abs=0.005)


def test_a_term_that_the_query_repeats_counts_each_time(small_index) -> None:
    small_index.write({"a.txt": ["zebra", "lion"]})
    with open_index(small_index.path) as searcher:
        once, twice = (searcher.search(query, mode="bm25").hits[0] for query in ("lion", "lion lion"))
    assert twice.score == pytest.approx(2 * once.score)


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_distance_05_passes_and_85_is_refused(small_index, minilm: Embedder, distant, mode: Mode) -> None:
    query = minilm.embed_query("question")
    vectors = {"near": distant(query, 0.05), "far question": distant(query, 0.85)}
    small_index.write({"a.txt": ["near", "far question"]}, vectors)
    with open_index(small_index.path) as searcher:
        passed = searcher.search("question", mode=mode, threshold=0.675)
        open_ended = searcher.search("question", mode=mode)
        refused = searcher.search("question", mode=mode, threshold=0.04)
    assert [(hit.rank, hit.content) for hit in passed.hits] == [(1, "near")]
    assert (passed.refused, open_ended.refused) == (False, False)
    assert {hit.content for hit in open_ended.hits} == {"near", "far question"}
    assert (refused.hits, refused.refused) == ((), True)


def test_at_most_four_passages_pass_a_threshold(small_index, minilm: Embedder, distant) -> None:
    query = minilm.embed_query("question")
    vectors = {f"p{number}": distant(query, 0.1 + number / 100) for number in range(6)}
    small_index.write({"a.txt": list(vectors)}, vectors)
    with open_index(small_index.path) as searcher:
        assert [hit.content for hit in searcher.search("question", threshold=0.675).hits] == [
            "p0",
            "p1",
            "p2",
            "p3",
        ]
        assert len(searcher.search("question", threshold=0.675, k=2).hits) == 2
        assert len(searcher.search("question", k=5).hits) == 5


def test_the_nearest_passage_answers_though_fusion_ranks_it_low(
    small_index, minilm: Embedder, distant
) -> None:
    # Refusal looks at the whole fused list, not at its first k.
    query = minilm.embed_query("alpha beta")
    lexical = [f"alpha beta {number}" for number in range(12)]
    vectors = {"silent": distant(query, 0.6)} | {passage: distant(query, 0.9) for passage in lexical}
    small_index.write({"a.txt": [*lexical, "silent"]}, vectors)
    with open_index(small_index.path) as searcher:
        assert [hit.content for hit in searcher.search("alpha beta", k=1, threshold=0.675).hits] == ["silent"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ["", "  \n", "?!…", "🙂", "—"])
def test_a_query_without_letters_or_digits_is_wrong_use(small_index, mode: Mode, query: str) -> None:
    small_index.write({"a.txt": ["zebra"]})
    with open_index(small_index.path) as searcher, pytest.raises(UsageError, match="letter or digit"):
        searcher.search(query, mode=mode)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"k": 0}, "at least one"),
        ({"mode": "sparse"}, "hybrid, dense, bm25"),
        ({"threshold": math.nan}, "between 0 and 2"),
        ({"threshold": -0.1}, "between 0 and 2"),
        ({"threshold": 0.675, "mode": "bm25"}, "does not measure"),
    ],
)
def test_wrong_arguments_are_named(small_index, arguments, said: str) -> None:
    small_index.write({"a.txt": ["zebra"]})
    with open_index(small_index.path) as searcher, pytest.raises(UsageError, match=said):
        searcher.search("zebra", **arguments)


def test_half_a_character_in_a_query_is_wrong_use(small_index) -> None:
    small_index.write({"a.txt": ["zebra"]})
    with open_index(small_index.path) as searcher, pytest.raises(UsageError, match="UTF-8"):
        searcher.search("zebra \udcff", mode="bm25")


@pytest.mark.parametrize("mode", MODES)
def test_an_index_without_chunks_gives_no_hits(small_index, mode: Mode) -> None:
    small_index.write({})
    with open_index(small_index.path) as searcher:
        results = searcher.search("zebra", mode=mode)
    assert (results.hits, results.refused, results.version) == ((), False, 0)


def test_an_index_without_chunks_refuses_under_a_threshold(small_index) -> None:
    small_index.write({})
    with open_index(small_index.path) as searcher:
        assert searcher.search("zebra", threshold=0.675).refused


@pytest.mark.parametrize("mode", MODES)
def test_chunks_without_terms_divide_nothing(small_index, mode: Mode) -> None:
    small_index.write({"a.txt": ["…", "—", "***"]})
    with open_index(small_index.path) as searcher:
        hits = searcher.search("zebra", mode=mode).hits
    assert len(hits) == (0 if mode == "bm25" else 3)


@pytest.mark.parametrize("mode", MODES)
def test_k_larger_than_the_corpus_gives_what_exists_once(small_index, mode: Mode) -> None:
    small_index.write({"a.txt": ["zebra one", "zebra two"], "b.txt": ["zebra three"]})
    with open_index(small_index.path) as searcher:
        hits = searcher.search("zebra", mode=mode, k=1_000).hits
    assert sorted(hit.content for hit in hits) == ["zebra one", "zebra three", "zebra two"]
    assert [hit.rank for hit in hits] == [1, 2, 3]


@pytest.mark.parametrize("mode", MODES)
def test_equal_passages_are_ordered_by_chunk_id_and_top_k_is_a_prefix(small_index, mode: Mode) -> None:
    documents = {f"{number}.txt": ["the same zebra", "another zebra"] for number in range(9)}
    small_index.write(documents)
    with open_index(small_index.path) as searcher:
        longest = searcher.search("zebra same", mode=mode, k=30).hits
        for k in range(1, 18):
            assert searcher.search("zebra same", mode=mode, k=k).hits == longest[:k]
    keys = [(-hit.score, hit.chunk_id) for hit in longest]
    assert keys == sorted(set(keys))


@pytest.mark.parametrize("changed", [{"fingerprint": "f" * 64}, {"model": "other-model"}, {"dimension": 512}])
@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_an_index_of_another_space_is_refused_with_both_names(
    small_index, live_space: Space, changed: dict[str, object], mode: Mode
) -> None:
    other = replace(live_space, **changed)
    replace(small_index, space=other).write({"a.txt": ["zebra"]})
    with open_index(small_index.path, Settings(model=live_space.model)) as searcher:
        with pytest.raises(SpaceMismatch) as raised:
            searcher.search("zebra", mode=mode)
        assert len(searcher.search("zebra", mode="bm25").hits) == 1
    for name in (
        str(other),
        live_space.model,
        live_space.fingerprint[:12],
        f"{live_space.dimension} dimensions",
    ):
        assert name in str(raised.value)


def test_an_index_of_another_tokenizer_is_not_asked_by_terms(small_index, live_space: Space) -> None:
    replace(small_index, space=replace(live_space, tokenizer="other/9")).write({"a.txt": ["zebra"]})
    with open_index(small_index.path) as searcher:
        assert len(searcher.search("zebra", mode="dense").hits) == 1
        for mode in ("bm25", "hybrid"):
            with pytest.raises(SpaceMismatch, match=r"other/9.*pincite migrate"):
                searcher.search("zebra", mode=mode)


def test_a_model_that_is_not_here_stops_dense_search_only(small_index, tmp_path: Path) -> None:
    small_index.write({"a.txt": ["zebra"]})
    with open_index(small_index.path, Settings(model=str(tmp_path / "nowhere"))) as searcher:
        assert len(searcher.search("zebra", mode="bm25").hits) == 1
        with pytest.raises(ModelUnavailable):
            searcher.search("zebra")


BM25_ALONE = """
import sys
from pathlib import Path
from pincite.retrieval.searcher import open_index
with open_index(Path(sys.argv[1])) as searcher:
    assert searcher.search("zebra", mode="bm25").hits[0].content == "zebra"
print([name for name in ("torch", "sentence_transformers", "transformers", "prefect") if name in sys.modules])
"""

MISMATCH_FIRST = """
import sys
from pathlib import Path
from pincite.retrieval.searcher import open_index
from pincite.schemas.errors import SpaceMismatch
with open_index(Path(sys.argv[1])) as searcher:
    try:
        searcher.search("zebra")
    except SpaceMismatch:
        print([name for name in ("torch", "sentence_transformers", "transformers") if name in sys.modules])
"""


def run_python(program: str, index: Path) -> str:
    command = [sys.executable, "-c", program, str(index)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def test_bm25_search_imports_no_model_library(small_index) -> None:
    small_index.write({"a.txt": ["zebra", "lion"]})
    assert run_python(BM25_ALONE, small_index.path) == "[]\n"


def test_another_space_is_refused_before_any_weights_are_loaded(small_index, live_space: Space) -> None:
    replace(small_index, space=replace(live_space, fingerprint="f" * 64)).write({"a.txt": ["zebra"]})
    assert run_python(MISMATCH_FIRST, small_index.path) == "[]\n"


def test_the_next_search_sees_a_new_version_without_reopening(small_index) -> None:
    small_index.write({"a.txt": ["zebra"], "b.txt": ["zebra lion"]})
    with open_index(small_index.path) as searcher:
        before = searcher.search("zebra", mode="bm25")
        small_index.write({"b.txt": ["zebra lion"], "c.txt": ["zebra tiger"]})
        after = searcher.search("zebra", mode="bm25")
    assert [hit.document for hit in before.hits] == ["a.txt", "b.txt"]
    assert {hit.document for hit in after.hits} == {"b.txt", "c.txt"}
    assert after.version > before.version


def test_a_document_that_was_renamed_is_found_by_its_new_name(small_index) -> None:
    small_index.write({"a.txt": ["zebra one"], "b.txt": ["zebra two"]})
    with open_index(small_index.path) as searcher:
        assert [hit.document for hit in searcher.search("zebra", mode="bm25").hits] == ["a.txt", "b.txt"]
        with Index.open(small_index.path) as index, transactions.writing(index.engine) as connection:
            connection.execute(schema.revisions.update().values(title_from_name=False))
        small_index.write({"moved.txt": ["zebra one"], "b.txt": ["zebra two"]})
        hits = searcher.search("zebra one", mode="bm25").hits
    assert [hit.document for hit in hits] == ["moved.txt", "b.txt"]


@pytest.mark.parametrize("mode", MODES)
def test_a_deleted_document_is_gone_from_every_leg(small_index, mode: Mode) -> None:
    small_index.write({"a.txt": ["zebra one"], "b.txt": ["zebra two"]})
    small_index.write({"b.txt": ["zebra two"]})
    with open_index(small_index.path) as searcher:
        assert [hit.document for hit in searcher.search("zebra", mode=mode).hits] == ["b.txt"]


def test_an_old_revision_that_still_serves_is_marked_stale(small_index) -> None:
    small_index.write({"a.txt": ["zebra old"], "b.txt": ["zebra other words"]})
    small_index.write({"a.txt": ["zebra new"], "b.txt": ["zebra other words"]}, failing=["a.txt"])
    with open_index(small_index.path) as searcher:
        hits = searcher.search("zebra", mode="bm25").hits
    assert [(hit.content, hit.stale) for hit in hits] == [("zebra old", True), ("zebra other words", False)]


def test_a_stale_mark_shows_though_the_version_is_the_same(small_index) -> None:
    small_index.write({"a.txt": ["zebra old"]})
    with open_index(small_index.path) as searcher:
        before = searcher.search("zebra", mode="bm25")
        small_index.write({"a.txt": ["zebra new"]}, failing=["a.txt"])
        after = searcher.search("zebra", mode="bm25")
    assert (before.version, before.hits[0].stale) == (after.version, False)
    assert after.hits[0].stale


@pytest.mark.parametrize("planted", [np.nan, 3.0])
def test_a_stored_vector_that_is_not_of_unit_length_breaks_the_index(small_index, planted: float) -> None:
    vector = np.full(small_index.space.dimension, planted, dtype=np.float32)
    small_index.write({"a.txt": ["zebra", "lion"]}, {"lion": vector})
    with open_index(small_index.path) as searcher:
        with pytest.raises(IndexBroken, match=r"1 stored vector is .*-000001-000001.*pincite verify"):
            searcher.search("zebra")
        assert len(searcher.search("zebra", mode="bm25").hits) == 1


def test_no_index_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="pincite index"):
        open_index(tmp_path / "nothing")


def test_threads_that_share_a_searcher_find_what_one_finds(small_index) -> None:
    small_index.write({f"{number}.txt": [f"zebra number{number}"] for number in range(12)})
    queries = [f"number{number}" for number in range(12)]
    with open_index(small_index.path) as searcher, ThreadPoolExecutor(4) as pool:
        together = list(pool.map(searcher.search, queries))
        assert together == [searcher.search(query) for query in queries]


def test_scores_from_stored_postings_equal_a_count_of_the_stored_texts(small_index) -> None:
    # Many documents of several chunks over interleaved segments: each posting must find its own row.
    draw = np.random.default_rng(0)
    words = ["err-4042", "disk", "page", "cache", "故乡", "query", "rank"]
    documents = {
        f"{number}.txt": [
            " ".join(draw.choice(words, draw.integers(1, 12))) for _ in range(draw.integers(1, 6))
        ]
        for number in range(40)
    }
    small_index.write(documents)
    passages = [passage for path in documents for passage in documents[path]]
    counts = [Counter(passage_terms(passage)) for passage in passages]
    average = sum(one.total() for one in counts) / len(counts)
    query = terms("err-4042 cache cache 故乡 missing")

    def score(one: Counter[str]) -> float:
        holding = {term: sum(term in other for other in counts) for term in query}
        shares = (
            bm25.bm25(float(one[term]), float(one.total()), average, bm25.idf(holding[term], len(counts)))
            for term in query
        )
        return sum(shares)

    with open_index(small_index.path) as searcher:
        hits = searcher.search(
            "err-4042 cache cache 故乡 missing", mode="bm25", k=1_000, fold_duplicates=False
        ).hits
    expected = sorted((score(one) for one in counts if score(one) > 0), reverse=True)
    assert [hit.score for hit in hits] == pytest.approx(expected, abs=1e-9)
    for hit in hits:
        assert hit.score == pytest.approx(score(Counter(passage_terms(hit.content))), abs=1e-9)


def test_a_posting_without_its_chunk_breaks_the_index(small_index) -> None:
    small_index.write({"a.txt": ["zebra", "lion"]})
    with Index.open(small_index.path) as index:
        with index.snapshot() as snapshot:
            rows = snapshot.postings(["zebra"])
        lost = rows.set_column(rows.schema.get_field_index("ordinal"), "ordinal", [[9]])
        planted = asdict(write_segment(index.places, "postings", lost))
        with transactions.writing(index.engine) as connection:
            values = {**planted, "space_id": snapshot.space_id, "began_version": snapshot.version}
            connection.execute(schema.segments.insert().values(**values))
    with open_index(small_index.path) as searcher:
        with pytest.raises(IndexBroken, match=r"ordinal 9, but no such chunk: run `pincite verify`"):
            searcher.search("zebra", mode="bm25")
        assert len(searcher.search("lion", mode="bm25").hits) == 1


@pytest.mark.parametrize("mode", MODES)
def test_the_shares_of_a_hit_sum_to_its_bm25_score(small_index, minilm: Embedder, mode: Mode) -> None:
    small_index.write({"a.txt": ["red red disk", "a red page"], "b.txt": ["blue disk", "green"]})
    vector = minilm.embed_query("disk")
    with open_index(small_index.path) as searcher:
        found = searcher.search("red disk red", mode=mode, vector=vector, explain=True)
        plain = searcher.search("red disk red", mode=mode, vector=vector)
    assert plain.hits == found.hits and plain.shares == ()
    assert len(found.shares) == (0 if mode == "dense" else len(found.hits))
    for hit, shares in zip(found.hits, found.shares, strict=False):
        assert sum(one.share for one in shares) == pytest.approx(hit.bm25, abs=1e-12)


@pytest.mark.parametrize("mode", ["hybrid", "bm25"])
def test_the_shares_are_of_the_hits_that_pass_the_filters(small_index, minilm: Embedder, mode: Mode) -> None:
    small_index.write({f"{n}.txt": [f"red disk {n}", "blue red red"] for n in range(6)})
    vector, filters = minilm.embed_query("disk"), Filters(documents=("[2-4].txt",))
    with open_index(small_index.path) as searcher:
        found = searcher.search(
            "red disk 3", mode=mode, vector=vector, filters=filters, explain=True, fold_duplicates=False
        )
    assert len(found.hits) == len(found.shares) == found.searched == 6
    for hit, shares in zip(found.hits, found.shares, strict=True):
        assert sum(one.share for one in shares) == pytest.approx(hit.bm25, abs=1e-12)
        assert [one.tf for one in shares] == [
            n for w in ("red", "disk", "3") if (n := hit.content.split().count(w))
        ]
        assert {one.chunks for one in shares if one.term == "red"} == {12}, "of the whole index"
