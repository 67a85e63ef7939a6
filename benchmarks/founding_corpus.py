"""An open corpus of technical prose: the READMEs of thirteen packages that `deploy/setup` installs.

python -m benchmarks.founding_corpus FOLDER [--fetch]

Each README is the description in the package's metadata, word for word, so it belongs to one release. Releases and
sha256 are written down here: another text is an error, never other numbers without a word. With `--fetch` pip
downloads the wheels of the releases that are not installed; nothing is installed.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from pincite.schemas.errors import PinciteError


@dataclass(frozen=True, slots=True)
class Readme:
    package: str
    version: str
    sha256: str  # of the description in UTF-8
    licence: str


READMES = (
    Readme("bm25s", "0.3.16", "9166cd1c822856652c92526802670a1d73976bcc4141e3eb0940af611389a319", "MIT"),
    Readme("cfn-lint", "1.58.0", "d5667b926e06433f6bf4a2b1b24de39d2b4d4d438248c4c18971193795403cb2", "MIT-0"),
    Readme("fastapi", "0.150.0", "9b44160901909b924c7520227f5cdb44f7785560957b73987ff12379b3f82faa", "MIT"),
    Readme(
        "jsonschema_rs", "0.60.3", "85b52ee0d3a2b106b94f41f74bc6bb46beacf2f598ba8e8ac7a44607c210c027", "MIT"
    ),
    Readme(
        "orjson",
        "3.13.0",
        "17582dd725f574b33a0b01c109dc087d2be3d9d3bb9cda732c1ec3a1ea31ba36",
        "MPL-2.0 and (Apache-2.0 or MIT)",
    ),
    Readme(
        "pdfplumber", "0.11.10", "14dfb8d559bc533be876402984e04ec3f5ac7f0a05e150103f2becdc967e6a2e", "MIT"
    ),
    Readme(
        "pypdfium2",
        "5.15.2",
        "5ee00628f07e70f6bcdb5f8fd00b8b439e153ebc572c9734927a39515efc21e2",
        "BSD-3-Clause or Apache-2.0",
    ),
    Readme(
        "pyrate-limiter", "4.5.1", "75a12e09b48007b9ffe936f057cf849299e73a9a91472e19bd1be35dba22161f", "MIT"
    ),
    Readme("rich", "15.0.0", "d723d269624f25f6f2b2d1f5e619ca681d663d4e867d3c3fd95f6205e6c09db7", "MIT"),
    Readme("ruff", "0.17.6", "e09dd7f3ef075b9b106b40509e0b5442e4d17849a5d119f33850c115e3a9d1f6", "MIT"),
    Readme(
        "sentence-transformers",
        "6.2.0",
        "bdc79bef246a7c7a290b297abea3ac6bf5958481b923b177287a47c0b471ea5e",
        "Apache-2.0",
    ),
    Readme(
        "sse-starlette",
        "3.7.0",
        "5ac604f54d07dba7c4df2ba1870ce6e686524b5fd7de5c73de6d0c91fce0a7a7",
        "BSD-3-Clause",
    ),
    Readme("xmltodict", "1.0.4", "e9be4d284e2c87794a5c7880418b7876d9f4e551bf8749939ff88d00adf788cf", "MIT"),
)


class CorpusChanged(PinciteError):
    """A package is not of the release that the corpus was made from."""


def make_corpus(folder: Path, fetch: bool = False, readmes: Sequence[Readme] = READMES) -> None:
    """Writes `package.md` for each README. Raises `CorpusChanged` that names every package with another text."""
    folder.mkdir(parents=True, exist_ok=True)
    faults = []
    for readme in readmes:
        text = _installed(readme)
        if text is None and fetch:
            text = _fetched(readme)
        if text is None:
            faults.append(f"{readme.package} {readme.version} is not installed")
        elif digest(text) != readme.sha256:
            faults.append(f"{readme.package} {readme.version} has another description")
        else:
            (folder / f"{readme.package}.md").write_text(text, encoding="utf-8", newline="")
    if faults:
        raise CorpusChanged(f"the corpus can't be made: {'; '.join(faults)}. Run again with --fetch")


def description(metadata: str) -> str:
    """The part of a METADATA file behind its headers (PyPA core metadata), line ends as LF."""
    return metadata.replace("\r\n", "\n").partition("\n\n")[2].lstrip("\n")


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _installed(readme: Readme) -> str | None:
    try:
        found = distribution(readme.package)
    except PackageNotFoundError:
        return None
    metadata = found.read_text("METADATA")
    return description(metadata) if found.version == readme.version and metadata else None


def _fetched(readme: Readme) -> str:
    with tempfile.TemporaryDirectory() as folder:
        wanted = f"{readme.package}=={readme.version}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        done = subprocess.run(
            [*command, "--dest", folder, wanted], check=False, capture_output=True, text=True
        )
        if done.returncode:
            raise CorpusChanged(f"pip can't download {wanted}: {done.stderr.strip()}")
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
            return description(archive.read(name).decode())


if __name__ == "__main__":
    try:
        make_corpus(Path(sys.argv[1]), fetch="--fetch" in sys.argv)
    except CorpusChanged as error:
        sys.exit(f"founding_corpus: {error}")
