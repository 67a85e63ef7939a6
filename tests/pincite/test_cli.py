"""Every command on the index of the samples: what it prints, and its exit code."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pincite.command_list import COMMANDS, GROUPS
from tests.commands import ROOT, SAMPLES, Pincite

BROKEN = {
    "nothing.txt": "unreadable",
    "purchase-contract-encrypted.pdf": "encrypted",
    "service-bulletin-31-truncated.pdf": "unreadable",
}


def loads(text: str) -> Any:
    return json.loads(text)


def test_index_counts_what_it_stored(pincite_here: Pincite, sample_run: tuple[Path, Any]) -> None:
    index, printed = sample_run
    assert {name: printed[name] for name in ("discovered", "indexed", "failed", "unchanged", "deleted")} == {
        "discovered": 14,
        "indexed": 11,
        "failed": 3,
        "unchanged": 0,
        "deleted": 0,
    }
    (row,) = loads(pincite_here("sql", "SELECT count(*) AS n FROM chunks", "--index", index, "--json").stdout)
    assert row["n"] == printed["chunks"] > 40


def test_the_same_run_again_does_no_work_and_says_so(pincite_here: Pincite, samples: Path) -> None:
    again = pincite_here("index", SAMPLES, "--index", samples)
    assert again.returncode == 1
    assert "Nothing to do" in again.stdout and "11 unchanged, 3 failed" in again.stdout


def test_any_value_of_sql_is_json(pincite_here: Pincite, samples: Path) -> None:
    statement = (
        "SELECT sum(chunks) AS s, avg(1.5) AS a, DATE '2026-01-02' AS d, 'nan'::FLOAT AS n, [1.5] AS l"
    )
    result = pincite_here("sql", f"{statement} FROM documents", "--index", samples, "--json")
    assert result.returncode == 0, result.stderr
    (row,) = loads(result.stdout)
    assert isinstance(row.pop("s"), int)
    assert row == {"a": 1.5, "d": "2026-01-02", "n": None, "l": [1.5]}


def test_status_and_documents_name_every_failure(pincite_here: Pincite, samples: Path) -> None:
    status = loads(pincite_here("status", "--index", samples, "--json").stdout)
    assert status["documents"] == {"indexed": 11, "failed": 3, "pending": 0, "running": 0, "stale": 0}
    assert status["space"]["model"] == "all-MiniLM-L6-v2" and status["space"]["dimension"] == 384
    rows = loads(pincite_here("documents", "--index", samples, "--state", "failed", "--json").stdout)
    assert {row["document"]: row["kind"] for row in rows} == BROKEN
    assert all(row["reason"] and row["stage"] == "extract" for row in rows)
    (scan,) = (
        row
        for row in loads(pincite_here("documents", "--index", samples, "--json").stdout)
        if "rotated" in row["document"]
    )
    assert {"model", "fingerprint", "dimension", "pipeline", "chunker", "extractor"} <= scan["stamps"].keys()
    table = pincite_here("documents", "--index", samples).stdout.splitlines()
    assert len(table) == 15


def test_scans_are_read_with_their_confidence(pincite_here: Pincite, samples: Path) -> None:
    rows = loads(pincite_here("documents", "--index", samples, "--json").stdout)
    by_name = {row["document"]: row for row in rows}
    for name in ("inspection-report-scan.pdf", "delivery-note-rotated-scan.pdf"):
        assert by_name[name]["ocr_pages"] == 1 and by_name[name]["ocr_confidence"] > 80
    mixed = by_name["service-file-34-0933.pdf"]
    assert (mixed["pages"], mixed["ocr_pages"]) == (3, 1)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "bm25"])
def test_each_hit_is_the_slice_that_it_names(pincite_here: Pincite, samples: Path, mode: str) -> None:
    question = "what does the error code ERR-4042 mean"
    answer = loads(
        pincite_here("search", question, "--mode", mode, "-k", 5, "--index", samples, "--json").stdout
    )
    assert len(answer["hits"]) == 5 and not answer["refused"]
    stored = loads(
        pincite_here(
            *("sql", "SELECT path, text FROM texts JOIN documents USING (document_id)"),
            *("--index", samples, "--json"),
        ).stdout
    )
    texts = {row["path"]: row["text"] for row in stored}
    for rank, hit in enumerate(answer["hits"], 1):
        assert hit["rank"] == rank
        assert texts[hit["document"]][hit["start"] : hit["end"]] == hit["content"]
        assert hit["locator"].startswith(("#page=", f"#char={hit['start']},{hit['end']}"))
    assert "ERR-4042" in " ".join(hit["content"] for hit in answer["hits"])


@pytest.mark.parametrize(
    ("words", "document", "locator"),
    [
        ("сітчастий фільтр насоса", "regulations-uk.html", "#char="),
        ("SEAL-MG1-33", "spare-parts-catalogue.pdf", "#page="),
        ("inspection findings", "inspection-report-scan.pdf", "#page=1"),
        ("underhåll av pumpen", "underhall-sv.md", "#char="),
    ],
)
def test_words_of_any_script_find_their_document(
    pincite_here: Pincite, samples: Path, words: str, document: str, locator: str
) -> None:
    hits = loads(pincite_here("search", words, "--mode", "bm25", "--index", samples, "--json").stdout)["hits"]
    assert any(hit["document"] == document and hit["locator"].startswith(locator) for hit in hits[:4])


def test_a_passage_under_the_confidence_of_the_settings_is_flagged(
    pincite_here: Pincite, samples: Path
) -> None:
    command = ("search", "inspection findings", "--mode", "bm25", "-k", 3, "--index", samples)
    flag = "read by OCR with low confidence"
    assert flag not in pincite_here(*command).stdout
    assert flag in pincite_here(*command, PINCITE_OCR__LOW_CONFIDENCE="100").stdout


def test_nothing_under_the_threshold_is_a_refusal(pincite_here: Pincite, samples: Path) -> None:
    question = "how do i renew my spanish passport"
    refused = pincite_here("search", question, "--threshold", 0.3, "--index", samples)
    assert refused.returncode == 3 and not refused.stderr
    assert refused.stdout == f'NO ANSWER: nothing under cosine distance 0.3 for "{question}"\n'


@pytest.mark.parametrize(
    ("options", "documents"),
    [
        (("--document", "error-*"), {"error-codes.html"}),
        (
            ("--type", "md", "--type", "text/plain"),
            {"underhall-sv.md", "operator-handbook.md", "shift-log.txt"},
        ),
        (("--folder", "none"), set()),
        (("--language", "sv", "--language", "ZH"), {"underhall-sv.md", "storage-rules-zh.txt"}),
        (("--language", "fi"), set()),
        (("--modified-since", "2199-01-01"), set()),
        (("--type", "pdf", "--min-ocr-confidence", "99.5"), {"service-bulletin-31.pdf"}),
    ],
)
def test_filters_leave_what_they_name(
    pincite_here: Pincite, samples: Path, options: tuple[str, ...], documents: set[str]
) -> None:
    question = ("search", "pump", *options, "--mode", "dense", "-k", 100, "--index", samples)
    answer = loads(pincite_here(*question, "--json").stdout)
    found = {hit["document"] for hit in answer["hits"]}
    assert found >= documents and bool(found) == bool(documents)
    assert not found & {"regulations-uk.html", "inspection-report-scan.pdf"}
    if not documents:
        shown = pincite_here(*question)
        assert shown.returncode == 3
        assert "no passage of the index passes the filters" in shown.stderr
        assert ("--language unknown" in shown.stderr) == ("--language" in options)
    assert bool(answer["searched"]) == bool(documents)


def test_reranking_without_weights_says_how_to_provide_them(
    pincite_here: Pincite, samples: Path, tmp_path: Path
) -> None:
    result = pincite_here("search", "pump", "--rerank", "--index", samples, HF_HUB_CACHE=str(tmp_path))
    assert result.returncode == 2 and not result.stdout
    assert (
        "ms-marco-MiniLM-L-6-v2 are not on this machine" in result.stderr and "hf download" in result.stderr
    )
    folder = pincite_here("search", "pump", "--rerank", "--index", samples, PINCITE_RERANKER="README.md")
    assert folder.returncode == 2 and "README.md are not on this machine" in folder.stderr


def test_a_document_that_the_model_can_not_read_is_told_and_found(
    pincite_here: Pincite, samples: Path
) -> None:
    rows = loads(pincite_here("documents", "--index", samples, "--json").stdout)
    told = {row["document"] for row in rows if any(one["code"] == "embedding-fit" for one in row["warnings"])}
    assert told == {"regulations-uk.html", "storage-rules-zh.txt"}
    question = ("search", "сітчастий фільтр насоса", "--index", samples)
    first = loads(pincite_here(*question, "--json").stdout)["hits"][0]
    assert (first["document"], first["encoder_fit"], first["dense_rank"]) == (
        "regulations-uk.html",
        False,
        None,
    )
    assert "the embedding model can't read this document" in pincite_here(*question).stdout
    assert "can't read 2 documents" in pincite_here("index", SAMPLES, "--index", samples).stdout


def test_verify_holds_and_finds_a_changed_byte(pincite_here: Pincite, samples: Path, tmp_path: Path) -> None:
    sound = pincite_here("verify", "--index", samples, "--json")
    assert sound.returncode == 0 and all(check["ok"] for check in loads(sound.stdout)["checks"])
    damaged = tmp_path / "damaged"
    shutil.copytree(samples, damaged)
    segment = sorted((damaged / "segments" / "chunks").iterdir())[0]
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)
    found = pincite_here("verify", "--index", damaged)
    assert found.returncode == 1 and segment.name in found.stdout


def test_retry_tries_a_failed_document_that_was_mended(pincite_here: Pincite, tmp_path: Path) -> None:
    docs, index = tmp_path / "docs", tmp_path / "index"
    docs.mkdir()
    (docs / "plain.txt").write_text("A wearing ring is replaced every two years.\n")
    (docs / "log.unknown").write_text("The motor hums.\n")
    assert pincite_here("index", docs, "--index", index).returncode == 1
    (tmp_path / "pincite.toml").write_text(
        '[extractors]\n".unknown" = "pincite.tasks.extraction.text.plain:extract_plain"\n', encoding="utf-8"
    )
    retried = pincite_here("retry", "log.unknown", "--index", index, "--json", cwd=tmp_path)
    assert retried.returncode == 0, retried.stderr
    assert loads(retried.stdout)["failed"] == 0
    wrong = pincite_here("retry", "plain.txt", "--index", index)
    assert wrong.returncode == 2 and "no failed document is named plain.txt" in wrong.stderr


def test_retry_covers_every_source_and_says_what_it_did(pincite_here: Pincite, tmp_path: Path) -> None:
    index = tmp_path / "index"
    for source in ("one", "two"):
        (tmp_path / source).mkdir()
        (tmp_path / source / "log.unknown").write_text("The motor hums.\n")
        failed = pincite_here("index", tmp_path / source, "--index", index)
        assert failed.returncode == 1 and "Nothing to do" not in failed.stdout
    (tmp_path / "pincite.toml").write_text(
        '[extractors]\n".unknown" = "pincite.tasks.extraction.text.plain:extract_plain"\n', encoding="utf-8"
    )
    retried = pincite_here("retry", "--index", index, "--json", cwd=tmp_path)
    assert (retried.returncode, loads(retried.stdout)["indexed"]) == (0, 2), retried.stderr
    nothing = pincite_here("retry", "--index", index, "--json", cwd=tmp_path)
    assert (nothing.returncode, loads(nothing.stdout)["discovered"]) == (0, 0)


def test_chunk_prints_the_chunks_of_one_file(pincite_here: Pincite, tmp_path: Path) -> None:
    file = tmp_path / "Guide.md"
    file.write_text("# Guide\n\nlost before the first section\n\n## Start\n\nTurn the valve. Wait.\n")
    (only,) = loads(pincite_here("chunk", file, "--strategy", "E", "--json").stdout)
    assert (only["text"], only["section"]) == ("[Guide > Start]\nTurn the valve. Wait.", "Start")
    assert file.read_text()[only["start"] : only["end"]] == only["content"]
    assert "lost before the first section" in pincite_here("chunk", file).stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("index", "no-such-folder", "--index", "{new}"), "no such folder"),
        (("index", "README.md", "--index", "{new}"), "is a file"),
        (("search", "x", "--index", "nowhere"), "no index at nowhere"),
        (("search", "???", "--index", "{index}"), "letter"),
        (("chunk", "README.md", "--strategy", "Z"), "unknown chunking strategy"),
        (("index", "docs", "--model", "no-such-model"), "unknown model"),
        (("index", "docs", "--chunker", "Z"), "unknown chunking strategy"),
        (("index", "docs", "--index", "{index}", "--chunker", "E"), "chunker structural"),
        (("sql", "SELECT * FROM nothing", "--index", "{index}"), "can't be run"),
        (("sql", "COPY chunks TO 'stolen.csv'", "--index", "{index}"), "can't be run"),
    ],
)
def test_wrong_use_says_what_and_exits_with_2(
    pincite_here: Pincite, samples: Path, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    result = pincite_here(*(one.format(index=samples, new=tmp_path / "new") for one in arguments))
    assert result.returncode == 2, result.stdout
    assert words in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"limits = 5\n", "limits"),
        (b"\xff", "can't be read"),
        (b"workers = -1\n", "workers"),
        (b"[limits]\ndeadline_s = 0\n", "limits.deadline_s"),
        (b"[ocr]\ndpi = -200\n", "ocr.dpi"),
    ],
)
def test_a_wrong_setting_is_named(
    pincite_here: Pincite, samples: Path, tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "pincite.toml").write_bytes(content)
    result = pincite_here("status", "--index", samples, cwd=tmp_path)
    assert result.returncode == 2 and words in result.stderr and "Traceback" not in result.stderr


def test_a_typo_in_the_settings_file_is_named(pincite_here: Pincite, samples: Path, tmp_path: Path) -> None:
    (tmp_path / "pincite.toml").write_text("[limits]\ndeadline = 3\n")
    result = pincite_here("status", "--index", samples, cwd=tmp_path)
    assert result.returncode == 2 and "unknown settings in [limits]: deadline" in result.stderr


def test_a_ledger_of_garbage_is_a_clear_error(pincite_here: Pincite, samples: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(samples, broken)
    (broken / "ledger.sqlite").write_bytes(b"garbage" * 1000)
    for name in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
        (broken / name).unlink(missing_ok=True)
    result = pincite_here("status", "--index", broken)
    assert result.returncode == 2 and "ledger" in result.stderr and "Traceback" not in result.stderr


def test_names_with_newlines_do_not_forge_lines(pincite_here: Pincite, tmp_path: Path) -> None:
    docs, index = tmp_path / "docs", tmp_path / "index"
    docs.mkdir()
    name = "a\nfailed: forged\x1b[31m.txt"
    (docs / name).write_text("The pump has a name.\n")
    assert pincite_here("index", docs, "--index", index).returncode == 0
    shown = pincite_here("documents", "--index", index).stdout
    assert len(shown.splitlines()) == 2 and "\\n" in shown and "\x1b" not in shown
    (hit,) = loads(pincite_here("search", "pump", "--index", index, "--json").stdout)["hits"]
    assert hit["document"] == name


def test_the_readme_names_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    grouped = [f"{group} {name}" for group, (_, commands) in GROUPS.items() for name in commands]
    for command in [*COMMANDS, *grouped]:
        assert f"pincite {command}" in readme


SHOWING = (
    ("documents",),
    ("status",),
    ("search", "dry running", "--mode", "bm25"),
    ("search", "dry running", "--mode", "bm25", "--json"),
    ("sql", "select path from documents"),
    ("cite", "regulations-uk.html#char=0,40"),
    ("verify",),
    ("--help",),
)


@pytest.mark.parametrize("arguments", SHOWING, ids=" ".join)
def test_a_full_device_is_said_in_a_line(samples: Path, arguments: tuple[str, ...]) -> None:
    where = () if arguments == ("--help",) else ("--index", str(samples))
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pincite", *arguments, *where],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        2,
        "pincite: the output can't be written: No space left on device\n",
    )


@pytest.mark.parametrize(
    "arguments", [one for one in SHOWING if one[0] in ("documents", "cite", "search")], ids=" ".join
)
def test_what_the_locale_does_not_have_is_escaped(samples: Path, arguments: tuple[str, ...]) -> None:
    latin = os.environ | {"LC_ALL": "C", "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "pincite", *arguments, "--index", str(samples)],
        env=latin,
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1) and b"Traceback" not in done.stderr
    if arguments[0] == "cite":
        assert b"\\u04" in done.stdout
