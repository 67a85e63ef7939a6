"""What is built is whole: wheel and sdist hold each file once, and the wheel works from another folder."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUILD = (
    "import sys; from hatchling import build; build.build_wheel(sys.argv[1]); build.build_sdist(sys.argv[1])"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    subprocess.run([sys.executable, "-c", BUILD, str(folder)], cwd=ROOT, check=True, capture_output=True)
    return folder


def tracked() -> set[str]:
    """The files of the package, as the repository has them behind the links of its rooms."""
    rooms = [link.name for link in (ROOT / "pincite").iterdir() if link.is_symlink()]
    listed = subprocess.run(
        ["git", "ls-files", "-z", "pincite", *rooms], cwd=ROOT, capture_output=True, check=True
    )
    files = {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
    return {name if name.startswith("pincite/") else f"pincite/{name}" for name in files}


def test_wheel_and_sdist_hold_each_file_of_the_package_once(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
    assert len(names) == len(set(names)) and set(names) == tracked()
    assert {"pincite/py.typed", "pincite/dashboard/templates/base.html.j2"} <= set(names)
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert all(member.isfile() for member in members), "links would lead nowhere where it is unpacked"
    inside = [member.name.partition("/")[2] for member in members]
    code = [name for name in inside if name.startswith("pincite/")]
    assert len(inside) == len(set(inside)) and set(code) == tracked()
    assert {"pyproject.toml", "README.md"} <= set(inside)


def test_the_installed_wheel_indexes_and_searches_from_another_folder(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    here = tmp_path / "here"
    (here / "docs").mkdir(parents=True)
    (here / "docs" / "pump.html").write_text("<p>The pump hums.</p>")
    (here / "docs" / "valve.md").write_text("# Valve\n\nThe valve sticks.\n")
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=here,
            env=variables | {"PYTHONPATH": str(site)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = "import pincite.tasks.sandbox.child as child; print(child.__file__)"
    assert Path(run("-c", where).strip()).is_relative_to(site)
    assert json.loads(run("-m", "pincite", "index", "docs", "--json"))["indexed"] == 2
    (hit, *_) = json.loads(run("-m", "pincite", "search", "pump", "--json"))["hits"]
    assert hit["document"] == "pump.html"
    run("-m", "pincite", "inspect", "docs/pump.html", "--out", "page.html")
    assert "The pump hums" in (here / "page.html").read_text()
