"""What a look at the state of things found."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "wrong"]
"""note: worth knowing, nothing is lost or refused by it. wrong: something does not work or will not."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `remedy` is what to do; "" where nothing is to be done."""

    area: str  # ledger, documents, segments, cache, disk, readers, models, ocr
    level: Level
    what: str
    remedy: str = ""
