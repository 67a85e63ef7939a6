"""POST /search and /ask."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from pincite.dashboard.state.serving import MOST_ANSWERS
from tests.dashboard.conftest import HOSTILE_NAME, HOSTILE_READ, Ids, Server, serving
from tests.doubles.chat_server import answering, delta, refusing, sse
from tests.doubles.chat_server import serving as chatting

QUESTION = "what happens when the pump runs dry?"


def test_a_hit_is_a_slice_of_its_document_that_its_address_opens(client: httpx.Client) -> None:
    found = client.post("/search", json={"query": "ERR-4042 mechanical seal", "mode": "bm25", "k": 2})
    assert found.status_code == 200
    result = found.json()
    assert len(result["hits"]) == 2 and result["refused"] is False and result["message"] is None
    for hit in result["hits"]:
        opened = client.get(f"{hit['passage']}&context=0").json()
        assert (opened["quote"], opened["start"], opened["end"]) == (hit["content"], hit["start"], hit["end"])
        assert opened["document_id"] == hit["document_id"] and opened["document"] == hit["document"]


def test_filters_leave_what_they_name_and_k_bounds(client: httpx.Client) -> None:
    body = {"query": "pump", "mode": "dense", "k": 100}
    assert len({hit["document"] for hit in client.post("/search", json=body).json()["hits"]}) == 3
    for filters, documents in (
        ({"types": ["pdf"]}, {"bulletin.pdf"}),
        ({"documents": ["hand*"]}, {"handbook.md"}),
        ({"modified_since": "2199-01-01T00:00:00Z"}, set()),
        ({"types": ["pdf"], "modified_since": "0985-03-26T00:00:00Z"}, {"bulletin.pdf"}),
        ({"types": ["pdf"], "modified_before": "9999-12-31T00:00:00Z"}, {"bulletin.pdf"}),
        ({"folders": ["none"]}, set()),
    ):
        result = client.post("/search", json=body | {"filters": filters}).json()
        assert {hit["document"] for hit in result["hits"]} == documents
        assert bool(result["searched"]) == bool(documents)
        assert documents or result["message"] == "no passage of the index passes the filters"
    assert len(client.post("/search", json=body | {"k": 1}).json()["hits"]) == 1


def test_a_hit_says_why_it_has_its_rank_when_it_is_asked(client: httpx.Client) -> None:
    body = {"query": "mechanical seal", "k": 3, "explain": True}
    hits = client.post("/search", json=body).json()["hits"]
    assert len(hits) == 3
    for hit in hits:
        shares = [hit["why"][f"{ranking}_share"] for ranking in ("dense", "bm25")]
        assert sum(filter(None, shares)) == pytest.approx(hit["score"])
        assert sum(one["share"] for one in hit["why"]["terms"]) == pytest.approx(hit["bm25"])
        assert (shares[1] or 0) == pytest.approx(
            hit["bm25"] / hits[0]["bm25"] * (hits[0]["why"]["bm25_share"] or 0)
        )
    assert {"mechanical", "seal"} & {one["term"] for hit in hits for one in hit["why"]["terms"]}
    plain = client.post("/search", json=body | {"explain": False}).json()["hits"]
    assert [one["why"] for one in plain] == [None] * 3
    for hit in client.post("/search", json=body | {"mode": "rrf"}).json()["hits"]:
        shares, rrf_k = [hit["why"][f"{ranking}_share"] for ranking in ("dense", "bm25")], hit["why"]["rrf_k"]
        assert shares == [
            1 / (rrf_k + rank) if rank else None for rank in (hit["dense_rank"], hit["bm25_rank"])
        ]
        assert sum(filter(None, shares)) == pytest.approx(hit["score"])
    (one,) = client.post("/search", json=body | {"mode": "bm25", "k": 1}).json()["hits"]
    assert one["why"]["dense_share"] is None and one["why"]["bm25_share"] is None, "nothing was fused"


def test_the_threshold_of_an_ask_is_told(client: httpx.Client) -> None:
    told = client.get("/threshold").json()
    assert told["distance"] == client.post("/ask", json={"question": QUESTION}).json()["threshold"]
    assert (told["questions"], told["doubt"]) == (None, None), "the founding one, measured with this model"


def test_a_refusal_is_an_answer_and_not_an_error(client: httpx.Client) -> None:
    asked = client.post("/ask", json={"question": QUESTION})
    assert asked.status_code == 200
    result = asked.json()
    assert result["refused"] is True and result["answer"] is None and result["citations"] == []
    assert result["message"] == f'NO ANSWER: nothing under cosine distance 0.675 for "{QUESTION}"'
    searched = client.post("/search", json={"query": QUESTION, "threshold": 0.1, "mode": "dense"}).json()
    assert (
        searched["refused"] is True and "NO ANSWER: nothing under cosine distance 0.1" in searched["message"]
    )


def test_citations_are_verified_and_open(client: httpx.Client) -> None:
    result = client.post("/ask", json={"question": QUESTION, "threshold": 2, "k": 3}).json()
    assert [one["index"] for one in result["citations"]] == [1, 2, 3] and result["answer"] is None
    for one in result["citations"]:
        assert one["verified"] is True
        assert client.get(one["passage"]).json()["quote"] == one["quote"]
        assert "/documents/" not in result["prompt"]


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/search", {"query": "pump", "k": 0}, 422, "greater than or equal to 1"),
        ("/search", {"query": "pump", "k": 1_000_000}, 422, "less than or equal to 100"),
        ("/search", {"query": "p" * 2001}, 422, "at most 2000 characters"),
        ("/search", {"query": "???", "mode": "bm25"}, 422, "no letter or digit"),
        ("/search", {"query": "pump", "mode": "bm25", "threshold": 0.5}, 422, "does not measure"),
        ("/search", {"query": "pump", "threshold": 3}, 422, "less than or equal to 2"),
        ("/search", {"query": "pump", "filter": {}}, 422, "Extra inputs are not permitted"),
        ("/search", {"query": "pump", "filters": {"types": ["x"] * 101}}, 422, "at most 100 items"),
        ("/search", {}, 422, "Field required"),
        ("/search", {"query": "pump", "rerank": True}, 503, "not on this machine"),
        ("/ask", {"question": "pump", "k": 5}, 422, "less than or equal to 4"),
        ("/ask", {"question": "pump", "mode": "bm25"}, 422, "'hybrid' or 'dense'"),
        ("/nothing", {}, 404, "Not Found"),
        ("/status", {}, 405, "Method Not Allowed"),
    ],
)
def test_an_error_is_a_problem_with_cause_and_remedy(
    client: httpx.Client, path: str, body: object, status: int, words: str
) -> None:
    told = client.post(path, json=body)
    assert told.status_code == status
    assert told.headers["content-type"] == "application/problem+json"
    problem = told.json()
    assert problem["status"] == status and words in problem["detail"]
    assert problem["type"].startswith("urn:pincite:") and problem["title"] and problem["remedy"]


def test_half_a_character_in_a_question_is_a_problem(client: httpx.Client) -> None:
    for content in (b'{"query": "pump \\ud800"}', b'{"query": "pump \xff"}', b"{", b"[]", b"null"):
        told = client.post("/search", content=content, headers={"Content-Type": "application/json"})
        assert told.status_code in (400, 422) and told.json()["remedy"]


def test_another_space_is_a_conflict_that_names_both(index: Path) -> None:
    with serving(index, PINCITE_MODEL="universal-sentence-encoder") as server, server.client() as client:
        told = client.post("/search", json={"query": "pump"})
        assert told.status_code == 409 and told.json()["type"] == "urn:pincite:space-mismatch"
        assert "all-MiniLM-L6-v2" in told.json()["detail"] and "universal" in told.json()["detail"]
        assert client.post("/search", json={"query": "pump", "mode": "bm25"}).status_code == 200


def events_of(response: httpx.Response) -> list[tuple[str, Any]]:
    assert response.status_code == 200 and response.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\n") for block in response.text.split("\n\n") if block]
    assert all(len(block) == 2 for block in blocks)
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


@pytest.fixture(scope="module")
def asking(index: Path) -> Any:
    """What a server with an endpoint says to one question, by how the endpoint behaves; and what that received."""
    behaviour: list[Any] = [answering("It stops [1].")]

    def behave_now(handler: Any) -> None:
        behaviour[0](handler)

    with (
        chatting(behave_now) as chat,
        serving(
            index,
            PINCITE_ANSWER__BASE_URL=chat.base_url,
            PINCITE_ANSWER__MODEL="tiny",
            PINCITE_ANSWER_KEY="sk-secret-123",
            NO_PROXY="127.0.0.1",
        ) as server,
        server.client() as client,
    ):

        def ask(behave: Any, accept: str, **more: object) -> tuple[httpx.Response, list[Any]]:
            behaviour[0] = behave
            chat.received.clear()
            body = {"question": QUESTION, "threshold": 2.0} | more
            response = client.post("/ask", json=body, headers={"Accept": accept})
            assert "sk-secret" not in response.text
            return response, list(chat.received)

        yield ask


def test_an_answer_is_streamed_and_its_numbers_resolved(asking: Any) -> None:
    response, received = asking(answering("It stops [1", "]. U+2028 \u2028\nSee [9]."), "text/event-stream")
    events = events_of(response)
    assert [name for name, _ in events] == ["found", "piece", "piece", "done"]
    assert events[0][1]["answer"] is None and len(events[0][1]["citations"]) == 4
    assert "".join(data["text"] for name, data in events if name == "piece") == events[-1][1]["answer"]
    assert events[-1][1]["cited"] == [1]
    assert {one["kind"] for one in events[-1][1]["unresolved"]} >= {"number"}
    assert received[0].body["messages"][0]["content"] == events[0][1]["prompt"]
    whole, _ = asking(answering("It stops [1]."), "application/json")
    assert (whole.json()["answer"], whole.json()["cited"]) == ("It stops [1].", [1])


def test_a_refusal_calls_no_model(asking: Any) -> None:
    for accept in ("application/json", "text/event-stream"):
        response, received = asking(answering("I know it."), accept, threshold=0.01)
        assert received == [] and "NO ANSWER" in response.text
    assert [name for name, _ in events_of(response)] == ["done"]


def test_an_endpoint_that_fails_leaves_the_citations(asking: Any) -> None:
    response, _ = asking(refusing(500, b"oops"), "application/json")
    problem = response.json()
    assert response.status_code == 502 and problem["type"] == "urn:pincite:answer-failed"
    assert "HTTP 500 (oops)" in problem["detail"] and len(problem["result"]["citations"]) == 4
    events = events_of(asking(sse(delta("It st")), "text/event-stream")[0])
    assert [name for name, _ in events] == ["found", "piece", "error"]
    assert events[-1][1]["status"] == 502 and "ended the stream" in events[-1][1]["detail"]


def test_answers_that_are_waited_for_are_bounded_and_hold_up_no_search(asking: Any) -> None:
    released, arrived = threading.Event(), threading.Semaphore(0)

    def slow(handler: Any) -> None:
        arrived.release()
        released.wait(60)
        answering("It stops [1].")(handler)

    with ThreadPoolExecutor(MOST_ANSWERS) as pool:
        try:
            waiting = [pool.submit(asking, slow, "text/event-stream") for _ in range(MOST_ANSWERS)]
            assert all(arrived.acquire(timeout=60) for _ in waiting)
            for accept in ("text/event-stream", "application/json"):
                told, _ = asking(slow, accept)
                assert told.status_code == 503 and told.headers["retry-after"]
                refused, _ = asking(slow, accept, threshold=0.01)
                assert refused.status_code == 200 and "NO ANSWER" in refused.text
        finally:
            released.set()
        for one in waiting:
            assert events_of(one.result()[0])[-1][1]["answer"] == "It stops [1]."
    assert asking(answering("Free again."), "application/json")[0].json()["answer"] == "Free again."


def test_hostile_text_is_data_in_prompt_and_json(client: httpx.Client, ids: Ids) -> None:
    body = {"question": "impeller", "threshold": 2, "filters": {"types": ["txt"]}}
    result = client.post("/ask", json=body).json()
    prompt = result["prompt"]
    assert prompt.count("\nSOURCES\n") == 1 and prompt.count("\nQUESTION\n") == 1
    assert "\\[2\\] forged.pdf" in prompt and "<|im_end|>" not in prompt
    assert all(line != "[2] forged.pdf - page 1" for line in prompt.splitlines())
    (citation,) = result["citations"]
    assert citation["document"] == HOSTILE_NAME and "<script>" in citation["quote"]
    passage = client.get(f"/documents/{ids[HOSTILE_NAME]}/passage?start=0&end={len(HOSTILE_READ) - 1}")
    assert passage.headers["content-type"] == "application/json"
    assert passage.headers["x-content-type-options"] == "nosniff"
    assert "script" in passage.json()["quote"]


def test_the_openapi_document_describes_models_and_problems(server: Server) -> None:
    with server.client() as client:
        described = client.get("/openapi.json").json()
        assert client.get("/docs").status_code == 404  # it would load scripts from another host
    assert set(described["paths"]) >= {
        "/search",
        "/ask",
        "/documents",
        "/documents/{document_id}",
        "/documents/{document_id}/passage",
        "/status",
        "/healthz",
    }
    assert {"SearchBody", "SearchResult", "AskResult", "DocumentPage", "PassageBody", "Problem"} <= set(
        described["components"]["schemas"]
    )
    codes = described["paths"]["/search"]["post"]["responses"]
    assert "application/problem+json" in codes["409"]["content"]
