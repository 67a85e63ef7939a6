"""Maintenance on the command line: what is printed, and the exit codes."""

import json
import shutil
from pathlib import Path

import pytest

from pincite.commands.maintain import seconds_of
from pincite.schemas.errors import UsageError
from pincite.schemas.retrying import remedy_of
from tests.commands import Pincite
from tests.storage.building import fill, reindex


@pytest.mark.parametrize(
    ("duration", "seconds"), [("7d", 604_800), ("12h", 43_200), ("30 m", 1_800), ("0", 0), ("1.5w", 907_200)]
)
def test_durations(duration: str, seconds: float) -> None:
    assert seconds_of(duration) == seconds


@pytest.mark.parametrize("duration", ["", "soon", "-1d", "7 years"])
def test_what_is_no_duration_is_refused(duration: str) -> None:
    with pytest.raises(UsageError, match="is no duration: write 7d"):
        seconds_of(duration)


@pytest.fixture
def grown(tmp_path: Path) -> Path:
    index, source = tmp_path / "index", tmp_path / "source"
    for turn in range(3):
        reindex(index, fill(source, {"a.txt": f"# A\n\nturn{turn} of the wheel", "b.txt": "# B\n\nothers"}))
    return index


def test_compact_then_vacuum(pincite_here: Pincite, grown: Path) -> None:
    compacted = pincite_here("compact", "--index", grown)
    assert compacted.returncode == 0 and "segments became 3" in compacted.stdout
    assert "Nothing to do" in pincite_here("compact", "--index", grown).stdout
    kept = json.loads(pincite_here("vacuum", "--index", grown, "--json").stdout)
    assert (kept["files"], kept["oldest"]) == (0, 0)
    vacuumed = pincite_here("vacuum", "--older-than", "0", "--index", grown)
    assert vacuumed.returncode == 0 and "9 files removed" in vacuumed.stdout
    assert pincite_here("sql", "SELECT 1", "--version", 1, "--index", grown).returncode == 2
    assert pincite_here("verify", "--index", grown).returncode == 0


def test_doctor_on_the_samples_names_each_failure_and_its_remedy(
    pincite_here: Pincite, samples: Path, tmp_path: Path
) -> None:
    done = pincite_here("doctor", "--index", samples, "--json")
    findings = json.loads(done.stdout)["findings"]
    assert done.returncode == 1, "three samples are broken on purpose"
    wrong = {finding["what"]: finding["remedy"] for finding in findings if finding["level"] == "wrong"}
    assert set(wrong) == {"1 failed: encrypted", "2 failed: unreadable"}
    for what, remedy in wrong.items():
        assert remedy.startswith(remedy_of(what.split(": ")[1])), "the words of the page"
    assert {finding["area"] for finding in findings} >= {"ocr", "models", "ledger", "segments", "disk"}
    moved = pincite_here("doctor", "--index", samples, PINCITE_CHUNKER="A")
    assert "the settings ask for A" in moved.stdout and "→ `pincite migrate`" in moved.stdout
    none = pincite_here("doctor", "--index", tmp_path / "none")
    assert none.returncode == 0 and "there is no index" in none.stdout
    (tmp_path / "pincite.toml").write_text('[ocr]\nlanguages = ["eng", "xyz"]')
    other = pincite_here("doctor", "--index", tmp_path / "none", cwd=tmp_path)
    assert other.returncode == 1 and "tesseract-ocr-xyz" in other.stdout


def test_forget_on_the_samples_leaves_nothing(pincite_here: Pincite, samples: Path, tmp_path: Path) -> None:
    index = shutil.copytree(samples, tmp_path / "index")
    done = pincite_here("forget", "error-codes.html", "--index", index)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing found" in done.stdout
    everything = b"".join(path.read_bytes() for path in index.rglob("*") if path.is_file())
    assert b"error-codes.html" not in everything and b"Dry running" not in everything
    again = pincite_here("forget", "error-codes.html", "--index", index)
    assert again.returncode == 2 and "forgotten already" in again.stderr
    verified = pincite_here("forget", "--verify", "--index", index)
    assert verified.returncode == 0 and "1 document was ever forgotten" in verified.stdout
    neither = pincite_here("forget", "--index", index)
    assert neither.returncode == 2 and "--verify" in neither.stderr
    assert pincite_here("verify", "--index", index).returncode == 0
    allowed = pincite_here("forget", "error-codes.html", "--allow-again", "--index", index)
    assert allowed.returncode == 0 and "1 may be indexed again" in allowed.stdout


def test_languages_of_ocr_come_from_the_environment_too(pincite_here: Pincite, tmp_path: Path) -> None:
    asked = pincite_here("doctor", "--index", tmp_path, PINCITE_OCR__LANGUAGES='["eng", "xyz"]', cwd=tmp_path)
    assert asked.returncode == 1 and "tesseract-ocr-xyz" in asked.stdout
    wrong = pincite_here("doctor", "--index", tmp_path, PINCITE_OCR__LANGUAGES="[eng", cwd=tmp_path)
    assert wrong.returncode == 2 and "wrong settings" in wrong.stderr
