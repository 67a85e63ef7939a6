"""The cross-encoder reorders the top, is never silently off, and refuses what is none."""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pincite.retrieval.ranking import Ranked
from pincite.retrieval.rerank import RERANK_DEPTH, reordered, resolve_reranker, score
from pincite.retrieval.searcher import open_index
from pincite.schemas.errors import ModelUnavailable
from pincite.schemas.settings import DEFAULT_MODEL, DEFAULT_RERANKER, Settings
from tests.retrieval.small_cross_encoder import draw, train_cross_encoder

PLANTED = [
    "the pump stops why does it stop",
    "when the pump stops read this",
    "a worn bearing is the trouble",
    "the pump is painted blue",
]


@pytest.fixture(scope="session")
def settings(cross_encoder: Path) -> Settings:
    return Settings(reranker=str(cross_encoder))


def test_the_small_cross_encoder_learned_to_tell_answers_from_echoes(cross_encoder: Path) -> None:
    chance = random.Random(1)
    reranker = resolve_reranker(str(cross_encoder))
    drawn = [draw(chance) for _ in range(60)]
    right = [
        (score(question, [passage], reranker)[0] > 0) == (answer > 0.5) for question, passage, answer in drawn
    ]
    assert sum(right) >= 57


@pytest.mark.parametrize("mode", ["hybrid", "dense", "bm25"])
def test_the_passage_that_answers_comes_before_those_that_repeat_the_question(
    small_index, settings: Settings, mode: str
) -> None:
    small_index.write({"a.txt": PLANTED} | {"b.txt": ["the pump is the trouble"]})
    with open_index(small_index.path, settings) as searcher:
        question = "why does the pump stop with trouble"
        plain = searcher.search(question, mode=mode).hits
        again = searcher.search(question, mode=mode, rerank=True).hits
    answer = "a worn bearing is the trouble"
    assert plain[0].content != answer and again[0].content == answer
    assert {hit.chunk_id: hit.rank for hit in plain} == {hit.chunk_id: hit.rank_before for hit in again}
    assert {hit.chunk_id: hit.score for hit in plain} == {hit.chunk_id: hit.score for hit in again}
    keys = [(-hit.rerank_score, hit.chunk_id) for hit in again]
    assert keys == sorted(keys)
    assert [hit.rank for hit in again] == list(range(1, len(again) + 1))
    assert all(hit.rerank_score is None and hit.rank_before is None for hit in plain)


def test_the_first_25_are_read_and_top_k_is_a_prefix(small_index, settings: Settings) -> None:
    passages = [f"{PLANTED[number % 4]} {number}" for number in range(40)]
    small_index.write({"a.txt": passages})
    with open_index(small_index.path, settings) as searcher:
        longest = searcher.search("why does the pump stop", k=40, rerank=True).hits
        for k in (1, 2, 24, 25, 26, 39):
            assert searcher.search("why does the pump stop", k=k, rerank=True).hits == longest[:k]
    assert [hit.rerank_score is not None for hit in longest] == [True] * RERANK_DEPTH + [False] * 15
    assert sorted(hit.rank_before for hit in longest[:RERANK_DEPTH]) == list(range(1, RERANK_DEPTH + 1))
    assert [hit.rank_before for hit in longest[RERANK_DEPTH:]] == list(range(RERANK_DEPTH + 1, 41))


def test_equal_passages_get_equal_scores_and_stand_by_chunk_id(small_index, settings: Settings) -> None:
    small_index.write({f"{number}.txt": PLANTED for number in range(7)})
    with open_index(small_index.path, settings) as searcher:
        hits = searcher.search("why does the pump stop", k=25, rerank=True).hits
    by_content: dict[str, set[float]] = {}
    for hit in hits:
        by_content.setdefault(hit.content, set()).add(hit.rerank_score)
    assert all(len(scores) == 1 for scores in by_content.values())
    keys = [(-hit.rerank_score, hit.chunk_id) for hit in hits]
    assert keys == sorted(keys)


def test_reranking_refuses_nothing_and_saves_nothing_from_refusal(
    small_index, settings: Settings, minilm, distant
) -> None:
    question = "why does the pump stop"
    query = minilm.embed_query(question)
    distances = dict(zip(PLANTED, (0.2, 0.3, 0.4, 0.9), strict=True))
    vectors = {passage: distant(query, distance) for passage, distance in distances.items()}
    small_index.write({"a.txt": PLANTED}, vectors)
    with open_index(small_index.path, settings) as searcher:
        passed = searcher.search(question, threshold=0.675, rerank=True)
        refused = searcher.search(question, threshold=0.1, rerank=True)
    assert passed.hits[0].content == PLANTED[2]
    assert {hit.content for hit in passed.hits} == set(PLANTED[:3])
    assert refused.refused and not refused.hits


def test_weights_that_are_not_here_are_an_error_that_says_how_to_provide_them(
    small_index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "empty"))
    small_index.write({"a.txt": ["zebra"]})
    with open_index(small_index.path) as searcher:
        assert searcher.search("zebra", mode="bm25").hits
        with pytest.raises(ModelUnavailable) as raised:
            searcher.search("zebra", mode="bm25", rerank=True)
    for words in (
        DEFAULT_RERANKER,
        "not on this machine",
        "hf download",
        "PINCITE_RERANKER",
        "never skipped",
    ):
        assert words in str(raised.value)


def test_an_empty_index_does_not_hide_that_there_are_no_weights(small_index, tmp_path: Path) -> None:
    small_index.write({})
    with (
        open_index(small_index.path, Settings(reranker=str(tmp_path / "nowhere"))) as searcher,
        pytest.raises(ModelUnavailable),
    ):
        searcher.search("zebra", rerank=True)


def test_a_name_is_found_in_the_cache_of_this_machine(
    cross_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "0" * 40
    repository = tmp_path / "hub" / "models--cross-encoder--ms-marco-MiniLM-L-6-v2"
    shutil.copytree(cross_encoder, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    program = (
        "from pincite.retrieval.rerank import resolve_reranker, score;"
        f"found = resolve_reranker({DEFAULT_RERANKER!r});"
        "print(found.folder, score('why does the pump stop', ['a worn bearing is the trouble'], found)[0] > 0)"
    )
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    )
    assert result.stdout == f"{(repository / 'snapshots' / commit).resolve()} True\n"


def test_an_embedding_model_is_no_reranker() -> None:
    from pincite.encoders.models import resolve_model

    with pytest.raises(ModelUnavailable, match=r"with one score: its architecture is .*BertModel"):
        resolve_reranker(str(resolve_model(DEFAULT_MODEL).folder))


def test_a_classifier_of_two_labels_is_no_reranker(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="one score"):
        resolve_reranker(str(train_cross_encoder(tmp_path, steps=0, labels=2)))


@pytest.mark.parametrize("lacking", ["config.json", "model.safetensors"])
def test_a_folder_that_lacks_a_file_is_named(cross_encoder: Path, tmp_path: Path, lacking: str) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(cross_encoder, folder)
    (folder / lacking).unlink()
    with pytest.raises(ModelUnavailable, match="missing"):
        resolve_reranker(str(folder))


def test_damaged_weights_are_an_error(cross_encoder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(cross_encoder, folder)
    (folder / "model.safetensors").write_bytes(b"garbage" * 100)
    with pytest.raises(ModelUnavailable, match="can't be loaded"):
        score("question", ["passage"], resolve_reranker(str(folder)))


def test_weights_that_give_no_number_are_an_error(cross_encoder: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = tmp_path / "copy"
    shutil.copytree(cross_encoder, folder)
    weights = load_file(folder / "model.safetensors")
    save_file(
        weights | {"classifier.bias": np.array([np.nan], np.float32)},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    with pytest.raises(ModelUnavailable, match="gave no score for each passage"):
        score("question", ["passage"], resolve_reranker(str(folder)))


def test_scores_are_logits_and_order_is_total() -> None:
    ranked = [Ranked(row, 1.0 / rank) for rank, row in enumerate((5, 3, 9, 1), start=1)]
    found = reordered(ranked, np.array([7.0, 9.0, 7.0]))
    assert [(one.row, one.rerank_score, one.rank_before) for one in found] == [
        (3, 9.0, 2),
        (5, 7.0, 1),
        (9, 7.0, 3),
        (1, None, 4),
    ]
    assert reordered([], np.empty(0)) == []


def test_ties_go_by_chunk_id_where_rows_are_not_numbered_so() -> None:
    ranked = [Ranked(row, 1.0 / rank) for rank, row in enumerate((2, 7, 4), start=1)]
    found = reordered(ranked, np.array([1.0, 1.0, 1.0]), order=lambda rows: np.argsort(np.argsort(-rows)))
    assert [one.row for one in found] == [7, 4, 2]


def test_a_passage_longer_than_the_window_is_scored(cross_encoder: Path) -> None:
    config = json.loads((cross_encoder / "config.json").read_text())
    assert config["max_position_embeddings"] == 128
    (only,) = score(
        "why does the pump stop",
        ["a worn bearing is the trouble " * 100],
        resolve_reranker(str(cross_encoder)),
    )
    assert np.isfinite(only)
