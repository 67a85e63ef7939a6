"""Near-duplicate passages of one document are one hit, which lists the others."""

from typing import get_args

import pytest

from pincite.retrieval.near_duplicates import say_the_same, words_of
from pincite.retrieval.ranking import Mode
from pincite.retrieval.searcher import open_index

MODES: tuple[Mode, ...] = get_args(Mode)
WARNING = (
    "Before any work on the pump, switch off the motor, lock the switch, hang the sign on it, wait until the "
    "shaft stands still, close both valves, and let the pressure out through the vent of the casing"
)


def same(one: str, other: str) -> bool:
    forth, back = say_the_same(words_of(one), words_of(other)), say_the_same(words_of(other), words_of(one))
    assert forth == back
    return forth


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Close the valve.", "CLOSE — the   valve!"),
        ("Die Straße", "die strasse"),
        ("举头望明月", "举头 望明月。"),
        (WARNING, WARNING.replace("sign", "plate")),
        (WARNING, WARNING + " slowly"),
    ],
)
def test_the_same_words_or_nearly_all_of_them_say_the_same(one: str, other: str) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Close the valve.", "Open the valve."),
        (WARNING + " for 30 minutes", WARNING + " for 40 minutes"),
        (WARNING + " on MG1-33", WARNING + " on MG1-34"),
        ("the valve the valve the valve", "the valve"),
        ("床前明月光疑是地上霜", "举头望明月低头思故乡"),
        ("***", "***"),
        ("", ""),
    ],
)
def test_other_words_or_numbers_are_another_passage(one: str, other: str) -> None:
    assert not same(one, other)


@pytest.mark.parametrize("mode", MODES)
def test_a_repeated_passage_is_one_hit_that_lists_the_others(small_index, mode: Mode) -> None:
    small_index.write(
        {"a.txt": [WARNING, "The pump is blue.", WARNING.upper(), WARNING + "!"], "b.txt": [WARNING]}
    )
    with open_index(small_index.path) as searcher:
        folded = searcher.search("pump", mode=mode).hits
        every = searcher.search("pump", mode=mode, fold_duplicates=False).hits
    assert len(every) == 5 and all(hit.folded == () for hit in every)
    # All that say the same stand once, wherever they are; the place of each of them is told.
    shown = [f"{hit.document}{hit.locator}" for hit in folded]
    listed = [f"{hit.document}{place}" for hit in folded for place in hit.folded]
    listed += [place for hit in folded for place in hit.copies]
    assert sorted(shown + listed) == sorted(f"{hit.document}{hit.locator}" for hit in every)
    assert [hit.rank for hit in folded] == list(range(1, len(folded) + 1))
    assert len({hit.content for hit in folded}) == len(folded)


@pytest.mark.parametrize("mode", MODES)
def test_copies_of_a_file_are_one_hit_that_lists_the_other_places(small_index, mode: Mode) -> None:
    files = {f"copy{n}.txt": [WARNING] for n in range(6)}
    small_index.write(files | {"other.txt": ["The pump is blue."]})
    with open_index(small_index.path) as searcher:
        hits = {hit.document: hit for hit in searcher.search("pump", mode=mode).hits}
    (first,) = hits.keys() & files.keys()
    assert len(hits) == 2 and not hits["other.txt"].copies
    assert [place.split("#")[0] for place in hits[first].copies] == sorted(files.keys() - {first})


@pytest.mark.parametrize("mode", MODES)
def test_top_k_stays_a_prefix_with_all_that_its_hits_list(small_index, mode: Mode) -> None:
    many = [f"{WARNING}{' !' * number}" for number in range(230)]  # more than one window
    small_index.write(
        {"a.txt": [*many, "The pump is blue.", "The pump is red."], "b.txt": [*many[:3], "A pump."]}
    )
    with open_index(small_index.path) as searcher:
        longest = searcher.search("pump pressure", mode=mode, k=300).hits
        for k in (1, 2, 3, 4, 5, 100, 250):
            assert searcher.search("pump pressure", mode=mode, k=k).hits == longest[:k]
    keys = [(-hit.score, hit.chunk_id) for hit in longest]
    assert keys == sorted(keys)
    assert len(longest) + sum(len(hit.folded) for hit in longest) == 236
    assert len(longest) <= 7


def test_folding_fills_its_places_with_what_stands_behind(small_index) -> None:
    small_index.write({"a.txt": ["zebra lion"] * 260, "b.txt": [f"zebra {number}" for number in range(9)]})
    with open_index(small_index.path) as searcher:
        hits = searcher.search("zebra lion", mode="bm25", k=5).hits
    assert len(hits) == 5
    assert [len(hit.folded) for hit in hits] == [200, 58, 0, 0, 0]


def test_a_threshold_cuts_before_folding_so_that_a_better_duplicate_is_not_lost(
    small_index, minilm, distant
) -> None:
    query = minilm.embed_query("pump")
    vectors = {"The pump pump.": distant(query, 0.9), "the PUMP pump": distant(query, 0.5)}
    small_index.write({"a.txt": ["The pump pump.", "the PUMP pump", "nothing"]}, vectors)
    with open_index(small_index.path) as searcher:
        (hit,) = searcher.search("pump", threshold=0.675).hits
    assert hit.content == "the PUMP pump"


def test_a_threshold_still_finds_four_behind_many_duplicates(small_index, minilm, distant) -> None:
    query = minilm.embed_query("pump")
    vectors = {"pump one": distant(query, 0.1)} | {
        f"pump {n}": distant(query, 0.2 + n / 100) for n in range(6)
    }
    small_index.write({"a.txt": ["pump one"] * 450 + [f"pump {n}" for n in range(6)]}, vectors)
    with open_index(small_index.path) as searcher:
        hits = searcher.search("pump", mode="dense", threshold=0.675).hits
    assert [len(hit.folded) for hit in hits] == [200, 200, 47, 0]
