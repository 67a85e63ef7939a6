"""`pincite calibrate` on the samples, and `pincite ask` after it."""

import json
import shutil
from pathlib import Path

import pytest

from tests.commands import ROOT, Pincite

QUESTIONS = ROOT / "samples" / "questions" / "samples-and-docs.jsonl"


@pytest.fixture
def own_index(samples: Path, tmp_path: Path) -> Path:
    """A copy of the index of the samples, since a kept threshold changes it."""
    return Path(shutil.copytree(samples, tmp_path / "index"))


def test_the_threshold_is_measured_kept_and_used_by_ask(pincite_here: Pincite, own_index: Path) -> None:
    before = json.loads(pincite_here("ask", "what is ERR-4042?", "--index", own_index, "--json").stdout)
    result = pincite_here("calibrate", QUESTIONS, "--index", own_index, "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    after = json.loads(pincite_here("ask", "what is ERR-4042?", "--index", own_index, "--json").stdout)
    assert before["threshold"] == 0.675
    assert after["threshold"] == report["threshold"] != 0.675

    held, default = report["held_out"], report["default"]
    assert set(held["bluffs"]) == {"evidence removed", "near-miss", "off-topic"}
    assert held["answered"]["count"] + held["refused"]["count"] == held["answered"]["of"] >= 30
    assert held["refused"]["low"] < held["refused"]["value"] < held["refused"]["high"]
    assert default["threshold"] == 0.675
    assert min(one["cost"] for one in report["swept"]) == next(
        one["cost"] for one in report["swept"] if one["threshold"] == report["threshold"]
    )
    assert {fault["code"] for fault in report["left_out"]} == {"no-document"}  # docs/ is not indexed here


def test_without_keeping_the_index_stays_as_it_is_and_costs_move_the_threshold(
    pincite_here: Pincite, own_index: Path
) -> None:
    arguments = ("calibrate", QUESTIONS, "--index", own_index, "--no-keep", "--json")
    strict = json.loads(pincite_here(*arguments, "--bluff-cost", 10).stdout)
    lax = json.loads(pincite_here(*arguments, "--refusal-cost", 10).stdout)
    assert strict["threshold"] < lax["threshold"]
    asked = json.loads(pincite_here("ask", "what is ERR-4042?", "--index", own_index, "--json").stdout)
    assert asked["threshold"] == 0.675


def test_a_person_reads_the_sweep_the_held_out_half_and_what_was_left_out(
    pincite_here: Pincite, own_index: Path
) -> None:
    result = pincite_here("calibrate", QUESTIONS, "--index", own_index)
    assert "wrong answers: near-miss" in result.stdout and "95 % Wilson intervals" in result.stdout
    assert "the least cost, with a wrong answer at 1 and a wrong refusal at 1" in result.stdout
    assert "left out" in result.stderr


def test_a_set_without_negatives_is_refused(pincite_here: Pincite, own_index: Path, tmp_path: Path) -> None:
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    only = tmp_path / "only.jsonl"
    only.write_text("\n".join(line for line in lines if "needle" in line), encoding="utf-8")
    result = pincite_here("calibrate", only, "--index", own_index)
    assert result.returncode == 2
    assert "0 different questions must be refused" in result.stderr
