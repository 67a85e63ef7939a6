"""Extractors of the user's own, which the settings name as "module:function"."""

import hashlib
import importlib
import importlib.util
from functools import cache
from pathlib import Path
from typing import cast

from pincite.schemas.errors import ExtractorUnavailable
from pincite.tasks.extraction.base.interface import Extractor


@cache
def load(address: str) -> tuple[Extractor, str]:
    """An extractor and the version that it stamps: that of its file when this process first read it."""
    version = version_of(address)  # first: a file that changes meanwhile is seen by the next run
    module, function = address.split(":")
    try:
        return cast(Extractor, getattr(importlib.import_module(module), function)), version
    except (ImportError, AttributeError) as error:
        raise ExtractorUnavailable(
            f"the extractor {address} of the settings can't be loaded: {error}. Put the folder of its module on "
            "PYTHONPATH, for every program that indexes"
        ) from error


def version_of(address: str) -> str:
    """Digest of the file that defines an extractor, as it is now; "" where there is none to be read.

    What that file imports is not looked at.
    """
    try:
        spec = importlib.util.find_spec(address.split(":", maxsplit=1)[0])
        content = Path(spec.origin or "").read_bytes() if spec else b""
    except Exception:  # noqa: BLE001  a package of the user's is imported there; a run says what it raises
        return ""
    return hashlib.sha256(content).hexdigest()[:12] if content else ""
