"""The answering endpoint, against a real server on loopback."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler

import pytest

from pincite.retrieval.answers import llm_client as module
from pincite.retrieval.answers.llm_client import Endpoint, endpoint_of, stream_answer
from pincite.schemas.errors import AnswerFailed, UsageError
from pincite.schemas.settings import Answer
from tests.doubles.chat_server import Behaviour, answering, delta, refusing, serving, sse

KEY = "sk-secret-123"


def ask(behave: Behaviour, **settings: float) -> str:
    with serving(behave) as chat:
        answer = Answer(chat.base_url, "m", **settings)
        return "".join(stream_answer(Endpoint(answer, KEY), "the prompt"))


def failure(behave: Behaviour, **settings: float) -> str:
    with pytest.raises(AnswerFailed) as caught:
        ask(behave, **settings)
    assert KEY not in str(caught.value)
    return str(caught.value)


def test_the_prompt_goes_as_one_user_message_with_the_key_as_bearer() -> None:
    with serving(answering("ok")) as chat:
        pieces = list(stream_answer(Endpoint(Answer(chat.base_url + "/", "tiny"), KEY), "the\nprompt"))
    assert pieces == ["ok"]
    (received,) = chat.received
    assert received.path == "/v1/chat/completions" and received.authorization == f"Bearer {KEY}"
    assert received.body == {
        "model": "tiny",
        "messages": [{"role": "user", "content": "the\nprompt"}],
        "stream": True,
    }


def test_without_a_key_no_authorization_is_sent() -> None:
    with serving(answering("ok")) as chat:
        list(stream_answer(Endpoint(Answer(chat.base_url, "m")), "p"))
    assert chat.received[0].authorization is None


def test_pieces_arrive_before_the_stream_ends() -> None:
    arrived = threading.Event()

    def behave(handler: BaseHTTPRequestHandler) -> None:
        sse(delta("one"))(handler)
        assert arrived.wait(60)
        handler.wfile.write(delta("two", "stop"))

    with serving(behave) as chat:
        stream = stream_answer(Endpoint(Answer(chat.base_url, "m")), "p")
        assert next(stream) == "one"
        arrived.set()
        assert list(stream) == ["two"]


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((delta("Насос "), delta("🛠"), b"data: [DONE]\n\n"), id="plain"),
        pytest.param((delta("Насос 🛠", "stop"),), id="without DONE"),
        pytest.param(
            (b": keep-alive\n\n", b"event: x\nid: 3\nretry: 5\n", delta("Насос 🛠", "stop")), id="comments"
        ),
        pytest.param((delta("Насос 🛠", "stop").replace(b"\n", b"\r\n"),), id="CR LF"),
        pytest.param((delta("Насос 🛠", "stop").replace(b"\n", b"\r"),), id="CR"),
        pytest.param((delta("Насос 🛠", "stop").rstrip(),), id="no last empty line"),
        pytest.param(
            tuple(bytes([b]) for b in delta("Насос 🛠", "stop").replace(b"\n", b"\r\n")), id="by bytes"
        ),
        pytest.param(
            (delta("Насос 🛠"), b'data: {"choices": [], "usage": {}}\n\n', b"data: [DONE]\n\n"), id="usage"
        ),
        pytest.param(
            (
                b'data: {"choices":\ndata: [{"delta": {"content": "\xd0\x9d\xd0\xb0\xd1\x81\xd0\xbe\xd1\x81 '
                b'\xf0\x9f\x9b\xa0"}, "finish_reason": "stop"}]}\n\n',
            ),
            id="two data lines",
        ),
    ],
)
def test_a_stream_is_read_however_it_is_cut(parts: tuple[bytes, ...]) -> None:
    assert ask(sse(*parts)) == "Насос 🛠"


def test_line_separators_inside_of_json_end_no_line() -> None:
    raw = json.dumps(
        {"choices": [{"delta": {"content": "a\u2028b\x85c"}, "finish_reason": "stop"}]}, ensure_ascii=False
    )
    assert ask(sse(b"data: " + raw.encode() + b"\n\n")) == "a\u2028b\x85c"


def test_a_server_that_does_not_stream_is_understood() -> None:
    body = json.dumps({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}).encode()
    assert ask(refusing(200, body, Content_Type="application/json")) == "whole"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "fits its context"),
        (401, "PINCITE_ANSWER_KEY"),
        (403, "may not use this model"),
        (404, "answer.base_url"),
        (429, "wait 7 s"),
        (500, "ask again later"),
        (503, "ask again later"),
        (302, "answer.base_url"),
    ],
)
def test_a_refusal_says_its_status_reason_and_remedy(status: int, words: str) -> None:
    body = json.dumps({"error": {"message": f"no\x1b[31m use with {KEY}"}}).encode()
    told = failure(refusing(status, body, Retry_After="7", Location="http://127.0.0.1:1/steal"))
    assert f"HTTP {status}" in told and words in told and "use with …" in told and "\x1b" not in told


def test_an_error_page_of_any_size_is_shortened() -> None:
    told = failure(refusing(502, b"<html>" + b"x" * 500_000))
    assert "HTTP 502" in told and len(told) < 600


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        pytest.param((delta("half an ans"),), "before the answer's end", id="ends early"),
        pytest.param((), "before the answer's end", id="nothing"),
        pytest.param((delta("x"), b"data: {broken\n\n"), "no JSON", id="broken JSON"),
        pytest.param((b"data: [1]\n\n",), "no completion", id="other JSON"),
        pytest.param(
            (delta("x"), b'data: {"error": {"message": "overloaded"}}\n\n'), "overloaded", id="error event"
        ),
        pytest.param((delta("x", "length"),), "cut off", id="token limit"),
        pytest.param((delta(None, "content_filter"),), "filter", id="filter"),
        pytest.param((delta(None, "stop"),), "empty answer", id="empty"),
        pytest.param((delta(" \n", "stop"),), "empty answer", id="blank"),
        pytest.param((b"data: " + b"[" * 100_000 + b"\n\n",), "no JSON", id="deep JSON"),
    ],
)
def test_a_stream_without_a_whole_answer_is_a_failure(parts: tuple[bytes, ...], words: str) -> None:
    assert words in failure(sse(*parts))


def test_a_connection_that_breaks_off_is_a_failure() -> None:
    def behave(handler: object) -> None:
        handler.send_response(200)  # type: ignore[attr-defined]
        handler.send_header("Content-Type", "text/event-stream")  # type: ignore[attr-defined]
        handler.send_header("Content-Length", "100000")  # type: ignore[attr-defined]
        handler.end_headers()  # type: ignore[attr-defined]
        handler.wfile.write(delta("half"))  # type: ignore[attr-defined]

    assert "broke off" in failure(behave)


def test_silence_ends_at_the_timeout() -> None:
    assert "was silent for 0.3 s" in failure(sse(delta("one"), delta("two"), pause_s=1.5), timeout_s=0.3)


def test_a_stream_that_only_keeps_alive_ends_at_the_deadline() -> None:
    told = failure(sse(*[b": alive\n\n"] * 20, pause_s=0.1), deadline_s=0.4)
    assert "not done after 0.4 s" in told


def test_an_endless_answer_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CHARACTERS", 1000)
    assert "more than 1,000 characters" in failure(sse(*[delta("x" * 300)] * 5))


def test_an_endless_line_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_BYTES", 10_000)
    assert "more than 10,000 bytes" in failure(sse(b"data: ", *[b"x" * 3000] * 5))


def test_nobody_at_the_address_is_a_failure() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}/v1"
        with pytest.raises(AnswerFailed, match="can't be reached"):
            list(stream_answer(Endpoint(Answer(url, "m")), "p"))


@pytest.mark.parametrize(
    ("settings", "key", "words"),
    [
        (Answer("localhost:8080/v1", "m"), "", "expected an address"),
        (Answer("file:///etc/passwd", "m"), "", "expected an address"),
        (Answer("http://host/v1"), "", "answer.model"),
        (Answer("http://host/v1", "m", timeout_s=0), "", "above 0"),
        (Answer("http://host/v1", "m"), "two words", "PINCITE_ANSWER_KEY"),
        (Answer("http://host/v1", "m"), "a\nb", "PINCITE_ANSWER_KEY"),
        (Answer("http://host/v1", "m"), "ключ", "PINCITE_ANSWER_KEY"),
    ],
)
def test_settings_that_can_not_work_are_named(settings: Answer, key: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        endpoint_of(settings, key)
    assert not key or key not in str(caught.value)


def test_without_a_base_url_there_is_no_endpoint_and_a_key_is_never_printed() -> None:
    assert endpoint_of(Answer(), KEY) is None
    assert KEY not in repr(endpoint_of(Answer("https://host/v1", "m"), KEY))


def test_credentials_in_the_address_are_not_repeated() -> None:
    with pytest.raises(AnswerFailed) as caught:
        list(stream_answer(Endpoint(Answer("http://user:pass@127.0.0.1:1/v1", "m")), "p"))
    assert "pass" not in str(caught.value)


@pytest.mark.parametrize("kind", ["text/html", "text/html; charset=utf-8", "application/xhtml+xml"])
def test_a_page_in_place_of_an_answer_is_named(kind: str) -> None:
    def sign_in(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        handler.end_headers()
        handler.wfile.write(b"<html>sign in</html>")

    assert "not a chat completion: is base_url right?" in failure(sign_in)
