"""Many ask at once while the index is written."""

import asyncio
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path

import pytest

from pincite.dashboard.state.progress_feed import Feed, Live
from pincite.dashboard.state.thread_pool import Work
from pincite.schemas.errors import IndexBusy
from tests.dashboard.conftest import Server, reindex, serving

SEARCHERS = 20
VERSIONS = 4


def write(docs: Path, version: int) -> None:
    for number in range(5):
        (docs / f"{number}.txt").write_text(f"The pump {number} is of the version v{version}.\n")


@pytest.fixture
def growing(tmp_path: Path) -> tuple[Path, Path]:
    docs, index = tmp_path / "docs", tmp_path / "index"
    docs.mkdir()
    write(docs, 0)
    reindex(index, docs)
    return docs, index


def test_searchers_see_whole_versions_while_a_writer_commits(growing: tuple[Path, Path]) -> None:
    docs, index = growing
    ended = threading.Event()

    def ask(server: Server) -> tuple[int, int, set[int]]:
        """(answers, the last version, status codes) of one searcher."""
        answers, version, statuses = 0, 0, set()
        with server.client() as client:
            while not ended.is_set():
                found = client.post("/search", json={"query": "pump version", "mode": "bm25", "k": 100})
                statuses.add(found.status_code)
                result = found.json()
                assert result["version"] >= version and len(result["hits"]) == 5
                version = result["version"]
                opened = client.get(result["hits"][0]["passage"])
                assert opened.status_code == 200
                answers += 1
        return answers, version, statuses

    with serving(index) as server, ThreadPoolExecutor(SEARCHERS) as pool:
        asking = [pool.submit(ask, server) for _ in range(SEARCHERS)]
        try:
            for version in range(1, VERSIONS):
                write(docs, version)
                reindex(index, docs)
        finally:
            ended.set()
        done = [one.result() for one in asking]
        assert all(statuses == {200} and answers for answers, _, statuses in done)
        with server.client() as client:
            found = client.post("/search", json={"query": f"v{VERSIONS - 1}", "mode": "bm25"}).json()
        assert len(found["hits"]) == 5 and all(f"v{VERSIONS - 1}" in hit["content"] for hit in found["hits"])
        code, said = server.end()
        assert (code, said) == (0, "")


def test_a_new_version_is_seen_by_the_next_request(growing: tuple[Path, Path]) -> None:
    docs, index = growing
    with serving(index) as server, server.client() as client:
        body = {"query": "impeller", "mode": "bm25"}
        assert client.post("/search", json=body).json()["hits"] == []
        (docs / "new.txt").write_text("The impeller is new.\n")
        (docs / "0.txt").unlink()
        reindex(index, docs)
        (hit,) = client.post("/search", json=body).json()["hits"]
        assert hit["document"] == "new.txt"
        names = {row["document"] for row in client.get("/documents").json()["documents"]}
        assert names == {"1.txt", "2.txt", "3.txt", "4.txt", "new.txt"}


def test_work_beyond_the_room_and_the_time_is_refused_and_the_rest_goes_on() -> None:
    async def crowd() -> list[object]:
        work, released = Work(threads=1, waiting=2, timeout_s=0.5), threading.Event()
        try:
            slow = work.run(released.wait)
            asked = [slow, *(work.run(lambda: "done") for _ in range(3))]
            results: list[object] = await asyncio.gather(*asked, return_exceptions=True)
            released.set()
            until = time.monotonic() + 60
            while True:
                try:
                    return [*results, await work.run(lambda: "free again")]
                except IndexBusy:  # what was given up leaves its place a moment later
                    assert time.monotonic() < until
                    await asyncio.sleep(0.05)
        finally:
            work.close()

    results = asyncio.run(crowd())
    assert [type(one) for one in results[:4]] == [IndexBusy] * 4 and results[4] == "free again"
    assert "3 requests are at work" in str(results[3]) and "not done after 0.5 s" in str(results[0])


def test_a_stream_takes_a_place_of_the_pool_until_it_ends() -> None:
    released = threading.Event()

    def pieces() -> Generator[str, None, None]:
        yield "first"
        assert released.wait(20)
        yield "last"

    async def crowd() -> list[str]:
        work = Work(threads=1, waiting=0)
        try:
            first = work.stream(pieces)
            with pytest.raises(IndexBusy, match="1 requests are at work"):
                work.stream(pieces)
            read = [await anext(first)]
            released.set()
            read += [piece async for piece in first]
            return [*read, await work.run(lambda: "free again")]
        finally:
            work.close()

    assert asyncio.run(crowd()) == ["first", "last", "free again"]


def test_a_stream_ends_when_its_reader_goes_and_says_what_went_wrong() -> None:
    closed = threading.Event()

    def endless() -> Generator[int, None, None]:
        try:
            while True:
                yield 1
                time.sleep(0.01)
        finally:
            closed.set()

    def broken() -> Generator[int, None, None]:
        yield 1
        raise IndexBusy("the fault")

    async def leave() -> None:
        work = Work(threads=1, waiting=0)
        try:
            async with aclosing(work.stream(endless)) as opened:  # type: ignore[type-var]
                assert await anext(opened) == 1
            assert await asyncio.to_thread(closed.wait, 20)
            await asyncio.sleep(0.05)
            with pytest.raises(IndexBusy, match="the fault"):
                _ = [piece async for piece in work.stream(broken)]
        finally:
            work.close()

    asyncio.run(leave())


def test_however_many_are_told_the_ledger_is_looked_at_once_a_beat() -> None:
    looks: list[float] = []

    def look() -> Live:
        looks.append(time.monotonic())
        return Live(None, ())

    async def told() -> None:
        feed = Feed(look, beat_s=0.2)

        async def listen() -> None:
            for _ in range(20):
                await feed.told()
                await asyncio.sleep(0.05)

        await asyncio.gather(*(listen() for _ in range(50)))

    asyncio.run(told())
    apart = [later - earlier for earlier, later in pairwise(looks)]
    assert 2 <= len(looks) <= 8 and min(apart) >= 0.17
