"""Plug-ins: the example package is installed, and each of its entry points is used by every process of a run."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "tests" / "example_plugin"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def install(project: Path, site: Path) -> None:
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
    ]
    done = subprocess.run(
        [*pip, "--target", str(site), str(project)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    install(EXAMPLE, folder)
    return folder


@pytest.fixture
def run(site: Path, tmp_path: Path) -> Run:
    def pincite(*arguments: str, more: str = "") -> "subprocess.CompletedProcess[str]":
        path = os.pathsep.join(filter(None, [str(site), more, str(ROOT)]))
        return subprocess.run(
            [sys.executable, "-m", "pincite", *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return pincite


def loaded(done: "subprocess.CompletedProcess[str]") -> Any:
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def test_a_format_a_chunker_an_encoder_and_a_source_of_another_package(run: Run, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "meter.readings").write_text("%READINGS\npump 17 hums at 50 Hz\nvalve 3 sticks\n")
    (docs / "unnamed").write_text("%READINGS\nmotor 9 is hot\n")
    (docs / "note.loud").write_text("the seal leaks")
    (tmp_path / "pincite.toml").write_text(
        'model = "letters"\nchunker = "lines"\n[extractors]\n".loud" = "shouted"\n'
    )
    assert loaded(run("index", f"shelf://{docs}", "--json"))["indexed"] == 3
    hits = loaded(run("search", "pump 17", "--json", "-k", "1"))["hits"]
    assert [hit["chunk"]["content"] for hit in hits] == ["pump 17 hums at 50 Hz"]
    assert hits[0]["chunk"]["locator"] == "#entry=line%202"
    documents = {one["document"]: one for one in loaded(run("documents", "--json"))}
    stamps = {name: one["stamps"] for name, one in documents.items()}
    assert {name: (one["extractor"], one["extractor_version"]) for name, one in stamps.items()} == {
        "meter.readings": ("readings", "1"),
        "unnamed": ("readings", "1"),
        "note.loud": ("shouted", "1.0"),
    }
    assert {(one["model"], one["chunker"]) for one in stamps.values()} == {("letters", "lines")}
    assert {one["chunks"] for one in documents.values()} == {1, 2}
    assert run("verify").returncode == 0
    assert loaded(run("index", "--json"))["unchanged"] == 3


def test_a_plug_in_that_is_broken_or_comes_twice_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("The pump hums.")
    wrong = run("index", "docs", "--model", "letter")
    assert wrong.returncode == 2 and "unknown model 'letter'" in wrong.stderr and "letters" in wrong.stderr
    wrong = run("index", "docs", "--chunker", "line")
    assert wrong.returncode == 2 and "choose one of structural, A, B, C, D, E, F, lines" in wrong.stderr
    for folder, entry, words in (
        ("twice", "readings = pincite_example.formats:OTHER", "two packages register readings"),
        ("broken", "other = pincite_example.nothing:HERE", "pincite-broken 1.0 can't be loaded"),
        ("wrong", "other = pincite_example.formats:__name__", "and not a Format nor an extractor"),
        ("ours", "pdf = pincite_example.formats:READINGS", "which is one of Pincite's own"),
    ):
        info = tmp_path / folder / f"pincite_{folder}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pincite-{folder}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[pincite.extractors]\n{entry}\n")
        said = run("index", "docs", more=str(tmp_path / folder))
        assert said.returncode == 2 and words in said.stderr, said.stderr
