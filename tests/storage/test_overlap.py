"""Packs that overlap in part: a run makes packs of what comes, readers of what there is, and both join them."""

import io
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pincite.storage.runs.commit import publish
from pincite.storage.search_cache import cache
from pincite.storage.search_cache.build import pack_units
from pincite.storage.search_cache.cache import open_cover
from pincite.storage.search_cache.packs import Pack, join_packs, parse_pack
from pincite.storage.search_cache.prefetch import PacksAhead
from pincite.storage.segments.segment import Segment
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import CommitGroup
from tests.storage import building
from tests.storage.building import POLICY, SPACE, fill, reindex, run_apart
from tests.storage.search_cache.test_cache import check, held, packs, refresh, stored, texts
from tests.storage.search_cache.test_prefetch import nothing_is_packed, somebody_reads


class Met(PacksAhead):
    """Somebody does something between a pack and the commit that it is for."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self._meanwhile = meanwhile

    def make(self, index: Index, written: Sequence[Segment], space_id: int, join: bool = True) -> None:
        super().make(index, written, space_id, join)
        self._meanwhile()


def reindexed(index: Path, source: Path, files: dict[str, str], ahead: PacksAhead | None = None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "publish", partial(publish, ahead=ahead))
        reindex(index, fill(source, files), replace(POLICY, confirmed_deletions=10))


def joined(parts: Sequence[tuple[Pack, frozenset[str]]]) -> Pack:
    file = io.BytesIO()
    join_packs(parts, SPACE.dimension, file)
    return parse_pack(np.frombuffer(file.getbuffer(), dtype=np.uint8))


def same(one: Pack, other: Pack) -> bool:
    return joined([(one, frozenset(one.units))]).shown == other.shown and all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in (
            "documents",
            "revisions",
            "unit_of",
            "first",
            "ordinals",
            "lengths",
            "codes",
            "rows",
            "tf",
        )
    )


def test_of_each_pack_only_the_units_that_it_serves_are_joined(index: Path, source: Path) -> None:
    for last in (1, 2, 3):
        reindex(index, fill(source, texts(*range(last))))
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        first, second, third = snapshot.units
        one = pack_units(snapshot.places, [first, third], SPACE)
        other = pack_units(snapshot.places, [first, second], SPACE)
        whole = joined(
            [(pack_units(snapshot.places, snapshot.units, SPACE), frozenset(u.key for u in snapshot.units))]
        )
    made = joined([(one, frozenset(one.units)), (other, frozenset({second.key}))])
    assert made.units == whole.units and same(made, whole)
    assert same(joined([(one, frozenset({third.key})), (other, frozenset(other.units))]), whole)
    with pytest.raises(ValueError, match="two packs"):
        joined([(one, frozenset(one.units)), (other, frozenset(other.units))])


def test_a_posting_without_its_chunk_goes_with_its_unit(index: Path, source: Path) -> None:
    for last in (1, 2):
        reindex(index, fill(source, texts(*range(last))))
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        first, second = snapshot.units
        pack = pack_units(snapshot.places, [second, CommitGroup(first.key, (), first.postings)], SPACE)
    assert {(one.unit, one.term) for one in pack.lost} >= {(first.key, "word0"), (first.key, "more")}
    assert joined([(pack, frozenset({first.key, second.key}))]).lost == pack.lost
    assert joined([(pack, frozenset({second.key}))]).lost == ()


READER = """
import sys
from pathlib import Path
from tests.storage.search_cache.test_cache import check
print(len(check(Path(sys.argv[1])).packs))
"""


def test_a_process_that_reads_between_a_pack_and_its_commit_doubles_nothing(
    index: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reindexed(index, source, texts(0))
    check(index)
    reindexed(index, source, texts(0, 1))  # which nobody read, and so is packed by nobody
    said: list[str] = []
    with somebody_reads(index):
        run = Met(lambda: said.append(run_apart(READER, index)))
        reindexed(index, source, texts(0, 1, 2), run)
        monkeypatch.setattr(run, "_meanwhile", lambda: None)
        assert said == ["1\n"] and len(packs(index)) == 2, "each joined the first document with another one"
        reindexed(index, source, texts(0, 1, 2, 3), run)
        monkeypatch.setattr(cache, "pack_units", nothing_is_packed)
        (pack,) = check(index).packs
        assert len(pack) == 8
    refresh(index)
    check(index)


class Reader:
    """One that stays open and knows the packs that it had."""

    def __init__(self, index: Path) -> None:
        self._index = index
        self._known: tuple[Pack, ...] = ()

    def look(self) -> None:
        with Index.open(self._index) as opened, opened.snapshot() as snapshot:
            cover = open_cover(snapshot, self._known)
            self._known = cover.packs
            assert held(cover, snapshot) == stored(snapshot)


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_in_any_order_of_runs_and_readers_the_cache_has_what_one_made_from_nothing_has(
    index: Path, source: Path, seed: int
) -> None:
    chance = random.Random(seed)
    reindexed(index, source, texts(9))
    staying = Reader(index)
    acts = [lambda: None, staying.look, partial(check, index), partial(refresh, index)]

    def act(*weights: int) -> None:
        chance.choices(acts, weights)[0]()

    run = Met(partial(act, 2, 4, 4, 1))
    numbers = [9]
    with somebody_reads(index):
        for turn in range(8):
            numbers = sorted({*chance.sample(numbers, min(len(numbers), 4)), chance.randrange(9)})
            files = texts(*numbers) | texts(chance.choice(numbers), turn=turn)
            reindexed(index, source, files, chance.choice([run, None]))
            act(4, 1, 1, 0)
        staying.look()
        with Index.open(index) as opened:
            newest = opened.newest_version()
        for version in range(1, newest + 1):
            check(index, version)
        shutil.rmtree(index / "cache")
        with Index.open(index) as opened, opened.snapshot() as snapshot:
            assert held(open_cover(snapshot, staying._known), snapshot) == held(
                open_cover(snapshot), snapshot
            )
