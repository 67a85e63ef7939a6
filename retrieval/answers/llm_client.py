"""The model that writes the answer: any endpoint with the chat completions of OpenAI, streamed as server-sent events.

https://html.spec.whatwg.org/multipage/server-sent-events.html; the prompt goes as one user message, exactly as
`pincite ask` prints it. Nothing is sent but that prompt, the model's name and the key.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from pincite.schemas.addresses import is_loopback
from pincite.schemas.errors import AnswerFailed, UsageError
from pincite.schemas.settings import Answer

KEY_VARIABLE = "PINCITE_ANSWER_KEY"
MOST_CHARACTERS = 200_000  # of an answer
_MOST_BYTES = 16 << 20  # of a response, with all that wraps the answer
_SAID = 300  # characters of an error's text that are passed on

_REMEDIES = {
    400: "check the model's name and that the prompt fits its context",
    401: f"set {KEY_VARIABLE} to a key that it accepts",
    403: f"the key in {KEY_VARIABLE} may not use this model",
    404: "check answer.base_url (it ends before /chat/completions) and answer.model",
    429: "too many requests or no credit left: wait, then ask again",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where answers come from."""

    settings: Answer
    key: str = ""

    def __repr__(self) -> str:  # a key must not reach a traceback
        return f"Endpoint({self.settings!r}, key={'…' if self.key else None!r})"


def endpoint_of(settings: Answer, key: str) -> Endpoint | None:
    """The endpoint that the settings name; None without a base URL.

    Raises `UsageError` for one that can't be used.
    """
    if not settings.base_url:
        return None
    parts = urlsplit(settings.base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"answer.base_url is {settings.base_url!r}: expected an address such as https://host/v1"
        )
    if not settings.model:
        raise UsageError("answer.base_url is set, but not answer.model: name the model that shall answer")
    if not (settings.timeout_s > 0 and settings.deadline_s > 0):
        raise UsageError("answer.timeout_s and answer.deadline_s must be above 0")
    if not key.isascii() or any(c.isspace() or not c.isprintable() for c in key):
        raise UsageError(f"{KEY_VARIABLE} holds a space or a sign that no key has: set it again")
    return Endpoint(settings, key)


def stream_answer(endpoint: Endpoint, prompt: str) -> Iterator[str]:
    """The pieces of the answer as they come.

    Raises `AnswerFailed` where the endpoint can't be reached, refuses, is silent for `timeout_s`, takes longer than
    `deadline_s`, or ends the stream before the answer's end: what came until then is not a whole answer.
    """
    settings = endpoint.settings
    url = f"{settings.base_url.rstrip('/')}/chat/completions"
    headers = {"Accept": "text/event-stream, application/json"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    body = {"model": settings.model, "messages": [{"role": "user", "content": prompt}], "stream": True}
    deadline = time.monotonic() + settings.deadline_s
    try:
        with (
            httpx.Client(
                timeout=settings.timeout_s,
                follow_redirects=False,
                trust_env=not is_loopback(
                    settings.base_url
                ),  # no proxy stands between this machine and itself
            ) as client,
            client.stream("POST", url, json=body, headers=headers) as response,
        ):
            if response.status_code != 200:
                raise _refused(endpoint, response, deadline)
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind.endswith(("html", "xml")):  # the page of a proxy, or of another server
                raise _failed(endpoint, f"answered {kind}, not a chat completion: is base_url right?")
            yield from _bounded(endpoint, _pieces(endpoint, response, deadline))
    except httpx.TimeoutException as error:
        raise _failed(endpoint, f"was silent for {settings.timeout_s:g} s: raise answer.timeout_s") from error
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        reason = str(error) or type(error).__name__
        if isinstance(error, httpx.ConnectError):
            raise _failed(endpoint, f"can't be reached ({reason}): is it running?") from error
        raise _failed(endpoint, f"broke off ({reason}): ask again") from error


def _bounded(endpoint: Endpoint, pieces: Iterator[str]) -> Iterator[str]:
    characters, blank = 0, True
    for piece in pieces:
        characters += len(piece)
        blank = blank and not piece.strip()
        if characters > MOST_CHARACTERS:
            raise _failed(endpoint, f"wrote more than {MOST_CHARACTERS:,} characters")
        yield piece
    if blank:
        raise _failed(endpoint, "gave an empty answer")


def _pieces(endpoint: Endpoint, response: httpx.Response, deadline: float) -> Iterator[str]:
    if "application/json" in response.headers.get("content-type", ""):  # it does not stream
        whole = b"".join(_within(endpoint, response, deadline))
        yield from _contents(endpoint, _parsed(endpoint, whole), "message")
        return
    finished = False
    for data in _events(_within(endpoint, response, deadline)):
        if data.strip() == b"[DONE]":
            return
        event = _parsed(endpoint, data)
        yield from _contents(endpoint, event, "delta")
        finished = finished or any(choice.get("finish_reason") for choice in _choices(event))
    if not finished:
        raise _failed(endpoint, "ended the stream before the answer's end: ask again")


def _within(endpoint: Endpoint, response: httpx.Response, deadline: float) -> Iterator[bytes]:
    """The bytes of the response, inside the deadline and the limit."""
    taken = 0
    for part in response.iter_bytes():
        taken += len(part)
        if time.monotonic() > deadline:
            raise _failed(
                endpoint, f"was not done after {endpoint.settings.deadline_s:g} s: raise answer.deadline_s"
            )
        if taken > _MOST_BYTES:
            raise _failed(endpoint, f"sent more than {_MOST_BYTES:,} bytes")
        yield part


def _events(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The data of each event. Lines end by LF, CR LF or CR and by nothing else: JSON may hold U+2028."""
    lines: list[bytes] = []
    for line in _lines(parts):
        if not line and lines:
            yield b"\n".join(lines)
            lines = []
        elif line.startswith(b"data:"):
            lines.append(line[5:].removeprefix(b" "))
    if lines:  # the standard drops an event that has no end; servers leave out the last empty line
        yield b"\n".join(lines)


def _lines(parts: Iterator[bytes]) -> Iterator[bytes]:
    rest: list[bytes] = []
    after_cr = False
    for part in parts:
        fresh = part[1:] if after_cr and part.startswith(b"\n") else part
        after_cr = part.endswith(b"\r")
        *whole, last = fresh.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in whole:
            yield b"".join([*rest, line])
            rest = []
        rest.append(last)
    if final := b"".join(rest):
        yield final


def _parsed(endpoint: Endpoint, data: bytes) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _failed(endpoint, f"sent what is no JSON ({_said(endpoint, data)}): ask again") from error
    if not isinstance(event, dict):
        raise _failed(endpoint, f"sent what is no completion ({_said(endpoint, data)})")
    if event.get("error"):
        raise _failed(endpoint, f"gave up: {_said(endpoint, json.dumps(event['error']).encode())}")
    return event


def _choices(event: dict[str, Any]) -> list[dict[str, Any]]:
    """The first choice, as a list; a server may send events without one, with its usage for example."""
    choices = event.get("choices")
    return [one for one in choices[:1] if isinstance(one, dict)] if isinstance(choices, list) else []


_ENDED = {
    "length": "stopped at its limit of tokens: the answer is cut off",
    "content_filter": "withheld the answer: its content filter",
}


def _contents(endpoint: Endpoint, event: dict[str, Any], name: str) -> Iterator[str]:
    for choice in _choices(event):
        message = choice.get(name)
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str) and content:
            yield content.encode("utf-8", "replace").decode()  # JSON may hold half of a surrogate pair
        if reason := _ENDED.get(str(choice.get("finish_reason"))):
            raise _failed(endpoint, reason)


def _refused(endpoint: Endpoint, response: httpx.Response, deadline: float) -> AnswerFailed:
    status = response.status_code
    said = _error_text(endpoint, response, deadline)
    wait = response.headers.get("retry-after", "")
    remedy = _REMEDIES.get(status) or (
        "the fault is on its side: ask again later" if status >= 500 else "check answer.base_url"
    )
    if status == 429 and wait.isdigit():
        remedy = f"too many requests: wait {wait} s, then ask again"
    return _failed(endpoint, f"answered HTTP {status}{f' ({said})' if said else ''}: {remedy}")


def _error_text(endpoint: Endpoint, response: httpx.Response, deadline: float) -> str:
    """The first words of the error's body, of JSON its message."""
    taken = b""
    for part in _within(endpoint, response, deadline):
        taken += part
        if len(taken) > 20_000:
            break
    try:
        message = json.loads(taken)["error"]
        message = message["message"] if isinstance(message, dict) else message
    except (ValueError, KeyError, TypeError, RecursionError):
        return _said(endpoint, taken)
    return _said(endpoint, str(message).encode("utf-8", "replace"))


def _said(endpoint: Endpoint, data: bytes) -> str:
    """Words of the server on one line without the key, which some repeat."""
    text = data.decode("utf-8", "replace")
    if endpoint.key:
        text = text.replace(endpoint.key, "…")
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _SAID else line[: _SAID - 1] + "…"


def _failed(endpoint: Endpoint, what: str) -> AnswerFailed:
    parts = urlsplit(endpoint.settings.base_url)
    where = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
    return AnswerFailed(f"the endpoint {where} {what}")
