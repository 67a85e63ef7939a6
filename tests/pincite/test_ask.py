"""`pincite ask` on the index of the samples, without an endpoint and against a real one on loopback."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pincite.schemas.evaluation import QuestionSet
from pincite.storage.queries.calibrations import store_calibration
from pincite.storage.snapshots.index import Index
from tests.commands import Pincite
from tests.doubles.chat_server import Behaviour, answering, delta, refusing, serving, sse

QUESTION = "what happens when the pump runs dry?"
OFF_TOPIC = "how do i renew my spanish passport"
KEY = "sk-secret-123"


def endpoint(base_url: str) -> dict[str, str]:
    return {
        "PINCITE_ANSWER__BASE_URL": base_url,
        "PINCITE_ANSWER__MODEL": "tiny",
        "PINCITE_ANSWER_KEY": KEY,
        "NO_PROXY": "127.0.0.1",
    }


def asked(
    pincite_here: Pincite, samples: Path, behave: Behaviour, *arguments: object
) -> tuple[Any, list[Any]]:
    """(the finished process, what the server received)."""
    with serving(behave) as chat:
        result = pincite_here("ask", QUESTION, "--index", samples, *arguments, **endpoint(chat.base_url))
    assert KEY not in result.stdout + result.stderr and "Traceback" not in result.stderr
    return result, chat.received


def texts(pincite_here: Pincite, samples: Path) -> dict[str, str]:
    sql = "SELECT path, text FROM texts JOIN documents USING (document_id)"
    rows = json.loads(pincite_here("sql", sql, "--index", samples, "--json").stdout)
    return {row["path"]: row["text"] for row in rows}


def test_without_an_endpoint_it_prints_prompt_and_citations(pincite_here: Pincite, samples: Path) -> None:
    result = pincite_here("ask", QUESTION, "--index", samples)
    assert result.returncode == 0 and not result.stderr
    assert result.stdout.startswith(
        "Answer using ONLY the numbered sources below. Cite every claim as [n].\n"
    )
    prompt, _, table = result.stdout.partition(f"QUESTION\n{QUESTION}\n")
    assert "\nSOURCES\n[1] " in prompt and "[1] " in table and ", verified" in table and "#char=" in table


def test_json_has_the_table_that_the_model_never_sees(pincite_here: Pincite, samples: Path) -> None:
    result = json.loads(pincite_here("ask", QUESTION, "--index", samples, "--json").stdout)
    assert {"answer", "refused", "prompt", "citations", "unresolved"} <= result.keys()
    assert result["answer"] is None and result["refused"] is False and result["unresolved"] == []
    stored = texts(pincite_here, samples)
    assert 1 <= len(result["citations"]) <= 4
    for index, one in enumerate(result["citations"], 1):
        fields = "index document label locator quote start end cosine_distance verified"
        assert set(one) == set(fields.split())
        assert one["index"] == index and one["verified"] is True and one["cosine_distance"] < 0.675
        assert stored[one["document"]][one["start"] : one["end"]] == one["quote"]
        assert "#char=" not in result["prompt"] and one["locator"].startswith("#")


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_refusal_calls_no_model(pincite_here: Pincite, samples: Path, form: tuple[str, ...]) -> None:
    with serving(answering("I know it anyway.")) as chat:
        result = pincite_here("ask", OFF_TOPIC, "--index", samples, *form, **endpoint(chat.base_url))
    assert result.returncode == 3 and chat.received == []
    line = f'NO ANSWER: nothing under cosine distance 0.675 for "{OFF_TOPIC}"\n'
    if form:
        assert result.stderr == f"pincite: {line}"
        printed = json.loads(result.stdout)
        assert printed["refused"] and (printed["answer"], printed["prompt"], printed["citations"]) == (
            None,
            None,
            [],
        )
    else:
        assert (result.stdout, result.stderr) == (line, "")


def test_the_threshold_can_be_given(pincite_here: Pincite, samples: Path) -> None:
    assert pincite_here("ask", QUESTION, "--threshold", 0.05, "--index", samples).returncode == 3
    assert pincite_here("ask", OFF_TOPIC, "--threshold", 1.5, "--index", samples).returncode == 0
    assert pincite_here("ask", QUESTION, "--threshold", 3, "--index", samples).returncode == 2


def test_the_answer_is_streamed_and_its_numbers_resolved(pincite_here: Pincite, samples: Path) -> None:
    behave = answering(
        "The seal is ", "destroyed [1", "]. It costs a fortune.\n\x1b[31mSee ", "https://evil.example [7]."
    )
    result, received = asked(pincite_here, samples, behave)
    assert result.returncode == 4 and len(received) == 1  # an address and a source that it was not given
    assert "INVENTED: the answer names a source or an address that it was not given" in result.stderr
    answer, _, table = result.stdout.partition("\n\n[1] ")
    assert answer == "The seal is destroyed [1]. It costs a fortune.\n\\x1b[31mSee https://evil.example [7]."
    assert "verified" in table
    assert "  claim It costs a fortune. (no source is named for it)" in table
    assert "  number [7] (no source has the number 7" in table
    assert "  link https://evil.example (the model wrote this link, not Pincite)" in table


def test_the_model_gets_the_printed_prompt_and_nothing_else(pincite_here: Pincite, samples: Path) -> None:
    result, (received,) = asked(pincite_here, samples, answering("Dry [1]."), "--json")
    printed = json.loads(result.stdout)
    assert received.body["messages"] == [{"role": "user", "content": printed["prompt"]}]
    assert received.authorization == f"Bearer {KEY}" and received.body["model"] == "tiny"
    assert (printed["answer"], printed["cited"], printed["unresolved"], printed["error"]) == (
        "Dry [1].",
        [1],
        [],
        None,
    )


@pytest.mark.parametrize(
    ("behave", "words"),
    [
        pytest.param(refusing(401, b'{"error": {"message": "bad key"}}'), "HTTP 401 (bad key)", id="401"),
        pytest.param(refusing(429), "HTTP 429", id="429"),
        pytest.param(refusing(500, b"oops"), "HTTP 500 (oops)", id="500"),
        pytest.param(
            sse(delta("The seal is")), "ended the stream before the answer's end", id="broken stream"
        ),
    ],
)
def test_a_failing_endpoint_leaves_the_citations(
    pincite_here: Pincite, samples: Path, behave: Behaviour, words: str
) -> None:
    result, _ = asked(pincite_here, samples, behave, "--json")
    printed = json.loads(result.stdout)
    assert result.returncode == 2 and words in result.stderr and words in printed["error"]
    assert printed["answer"] is None and printed["citations"] and printed["refused"] is False


def test_an_answer_that_breaks_off_says_so_in_the_terminal(pincite_here: Pincite, samples: Path) -> None:
    result, _ = asked(pincite_here, samples, sse(delta("The seal is")))
    assert result.returncode == 2 and result.stdout.startswith("The seal is\n[the answer breaks off here]\n")
    assert "[1] " in result.stdout and "ended the stream" in result.stderr


def test_settings_come_from_the_file_but_never_the_key(
    pincite_here: Pincite, samples: Path, tmp_path: Path
) -> None:
    with serving(answering("Dry [1].")) as chat:
        (tmp_path / "pincite.toml").write_text(f'[answer]\nbase_url = "{chat.base_url}"\nmodel = "tiny"\n')
        result = pincite_here("ask", QUESTION, "--index", samples, cwd=tmp_path, NO_PROXY="127.0.0.1")
    assert result.returncode == 0 and result.stdout.startswith("Dry [1].")
    (tmp_path / "pincite.toml").write_text('[answer]\nkey = "sk"\n')
    wrong = pincite_here("ask", QUESTION, "--index", samples, cwd=tmp_path)
    assert wrong.returncode == 2 and "unknown settings in [answer]: key" in wrong.stderr


def test_a_base_url_without_a_model_is_wrong_use(pincite_here: Pincite, samples: Path) -> None:
    result = pincite_here(
        "ask", QUESTION, "--index", samples, PINCITE_ANSWER__BASE_URL="http://127.0.0.1:1/v1"
    )
    assert result.returncode == 2 and "answer.model" in result.stderr


def test_citations_are_exported_as_web_annotations(
    pincite_here: Pincite, samples: Path, tmp_path: Path
) -> None:
    target = tmp_path / "a.jsonld"
    question = "how is cavitation in the TP-340 prevented?"
    result = pincite_here("ask", question, "--index", samples, "--json", "--annotations", target)
    citations = json.loads(result.stdout)["citations"]
    page = json.loads(target.read_text(encoding="utf-8"))
    assert page["type"] == "AnnotationPage" and len(page["items"]) == len(citations)
    fragments = 0
    for one, made in zip(citations, page["items"], strict=True):
        selectors = {each["type"]: each for each in made["target"]["selector"]}
        assert selectors["TextQuoteSelector"]["exact"] == one["quote"]
        assert (selectors["TextPositionSelector"]["start"], selectors["TextPositionSelector"]["end"]) == (
            one["start"],
            one["end"],
        )
        if one["locator"].startswith("#page="):
            fragments += 1
            assert selectors["FragmentSelector"]["value"] == one["locator"][1:]
    assert fragments
    nowhere = pincite_here("ask", question, "--index", samples, "--annotations", tmp_path / "no" / "a.jsonld")
    assert nowhere.returncode == 2 and "does not exist" in nowhere.stderr


def test_filters_k_and_the_mode_narrow_what_is_asked(pincite_here: Pincite, samples: Path) -> None:
    whole = json.loads(pincite_here("ask", QUESTION, "--index", samples, "--json").stdout)
    assert len({one["document"] for one in whole["citations"]}) > 1
    one = whole["citations"][-1]["document"]
    narrow = json.loads(
        pincite_here("ask", QUESTION, "--document", one, "-k", 1, "--index", samples, "--json").stdout
    )
    assert [each["document"] for each in narrow["citations"]] == [one]
    assert narrow["searched"] < whole["searched"]
    nothing = pincite_here("ask", QUESTION, "--type", "tiff", "--index", samples)
    assert nothing.returncode == 3 and "no passage of the index passes the filters" in nothing.stderr
    assert nothing.stdout.startswith("NO ANSWER: nothing under cosine distance 0.675")
    assert pincite_here("ask", QUESTION, "-k", 5, "--index", samples).returncode == 2
    rerank = pincite_here("ask", QUESTION, "--rerank", "--index", samples, PINCITE_RERANKER="nowhere")
    assert rerank.returncode == 2 and "nowhere are not on this machine" in rerank.stderr


def test_the_threshold_that_was_measured_on_the_index_is_used(
    pincite_here: Pincite, samples: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    shutil.copytree(samples, own)
    with Index.open(own) as index:
        with index.snapshot() as snapshot:
            version = snapshot.version
        store_calibration(index, version, 0.125, QuestionSet("tests", "0" * 64, ()), {})
    refused = pincite_here("ask", QUESTION, "--index", own)
    assert refused.returncode == 3 and refused.stdout.startswith(
        "NO ANSWER: nothing under cosine distance 0.125 for"
    )
    given = pincite_here("ask", QUESTION, "--threshold", 0.675, "--index", own, "--json")
    assert given.returncode == 0 and json.loads(given.stdout)["threshold_doubt"] is None
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(9):
        (docs / f"{number}.txt").write_text(f"The pump {number} is green.\n")
    assert pincite_here("index", docs, "--index", own).returncode == 0
    doubted = pincite_here("ask", QUESTION, "--index", own)
    assert "warning: the threshold 0.125 was measured at version" in doubted.stderr
