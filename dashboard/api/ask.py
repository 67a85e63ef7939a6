"""POST /ask, as one JSON object or as server-sent events."""

from collections.abc import AsyncIterator, Callable, Generator, Iterator
from dataclasses import asdict
from json import dumps
from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.responses import Response, StreamingResponse

from pincite.dashboard.api.addresses import passage_address
from pincite.dashboard.api.models import AskBody, AskResult, ServedCitation
from pincite.dashboard.http.problems import WRITES, described, http_problem, problem_of, response_of
from pincite.dashboard.state.serving import Asking, Served, Serving
from pincite.retrieval.answers.ask import AskOutcome, why_refused
from pincite.retrieval.answers.ask import ask as ask_index
from pincite.retrieval.answers.llm_client import Endpoint, stream_answer
from pincite.retrieval.answers.resolve import resolve
from pincite.schemas.errors import AnswerFailed

EVENTS = "text/event-stream"
router = APIRouter(tags=["ask"])


@router.post(
    "/ask",
    response_model=AskResult,
    responses={
        200: {
            "content": {EVENTS: {"schema": {"type": "string"}}},
            "description": "The result; as events: `found` (the result without its answer), `piece` (words of the "
            "answer), then `done` (the whole result) or `error` (a problem).",
        },
        **described(400, 409, 502, *WRITES),
    },
)
async def ask(
    body: AskBody, served: Served, asking: Asking, accept: Annotated[str, Header()] = "application/json"
) -> AskResult | Response:
    """At most four passages under the threshold as prompt and citations, with the answer where a model is set.

    A refusal is no error: `refused` is true, `message` the NO ANSWER line, and no model is called. With
    `Accept: text/event-stream` the answer is streamed. Where the model gives no whole answer, the problem holds the
    `result` without it.
    """
    asked = await served.work.run(lambda: _ask(served, body))
    endpoint = None if asked.refused else served.endpoint
    if EVENTS in accept.lower():
        work = served.answers if endpoint else served.work  # without one, no answer is waited for
        events = work.stream(lambda: _events(asked, endpoint))
        return StreamingResponse(_while(asking.lasts, events), media_type=EVENTS)
    if endpoint is None:
        return _result(asked, None)
    try:
        answer = await served.answers.run(
            lambda: "".join(stream_answer(endpoint, asked.prompt or "")),
            endpoint.settings.deadline_s + endpoint.settings.timeout_s,  # it ends by its own deadline first
        )
    except AnswerFailed as error:
        return response_of(problem_of(error), result=_result(asked, None).model_dump())
    return _result(asked, answer)


def _ask(served: Serving, body: AskBody) -> AskOutcome:
    return ask_index(
        served.searcher,
        body.question,
        body.threshold,
        body.mode,
        body.k,
        filters=body.filters.filters(),
        rerank=body.rerank,
    )


def _result(asked: AskOutcome, answer: str | None) -> AskResult:
    resolved = resolve(answer, asked.citations) if answer is not None else None
    return AskResult(
        question=asked.question,
        refused=asked.refused,
        message=why_refused(asked) if asked.refused else None,
        refusal=asked.refusal or None,
        evidence=asked.evidence,
        absent=list(asked.absent),
        answer=answer,
        prompt=asked.prompt,
        citations=list(_citations(asked)),
        cited=list(resolved.cited) if resolved else [],
        unresolved=[*asked.unproved, *(resolved.unresolved if resolved else ())],
        threshold=asked.threshold,
        threshold_doubt=asked.doubt or None,
        version=asked.version,
        searched=asked.searched,
    )


def _citations(asked: AskOutcome) -> Iterator[ServedCitation]:
    for one in asked.citations:
        stored = asked.texts.get(one.index)
        document_id = stored.document.document_id if stored else ""
        address = passage_address(document_id, one.start, one.end) if stored else ""
        yield ServedCitation(**asdict(one), document_id=document_id, passage=address)


async def _while(lasts: Callable[[], bool], events: AsyncIterator[str]) -> AsyncIterator[str]:
    """The events until the session of who asked is over."""
    async for event in events:
        if not lasts():
            yield _event("error", http_problem(401, "the session has ended").model_dump_json())
            return
        yield event


def _events(asked: AskOutcome, endpoint: Endpoint | None) -> Generator[str, None, None]:
    """Server-sent events; each datum is one line of JSON."""
    if endpoint is not None:
        yield _event("found", _result(asked, None).model_dump_json())
    pieces: list[str] = []
    try:
        for piece in stream_answer(endpoint, asked.prompt or "") if endpoint else ():
            pieces.append(piece)
            yield _event("piece", dumps({"text": piece}))
    except AnswerFailed as error:
        yield _event("error", problem_of(error).model_dump_json())
        return
    yield _event("done", _result(asked, "".join(pieces) if endpoint else None).model_dump_json())


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"
