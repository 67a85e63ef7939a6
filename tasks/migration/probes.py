"""Probes: fixed texts whose vectors are kept with a space, to see that its model still makes the same ones.

The fingerprint sees other files; the probes see all else that decides a vector: another release of a library, a
setting of the machine, a prompt.
"""

from collections.abc import Callable, Sequence

import numpy as np

from pincite.schemas.errors import SpaceMismatch
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import PROBE_TOLERANCE, Kept, probes, store_probes

PROBES = (
    "The pump loses pressure when the seal of the impeller is worn.",
    "Part 34-0933 replaces 34-0912 from serial number 2201.",
    "Тиск у насосі падає, коли зношене ущільнення.",
    "泵的密封件磨损时，压力会下降。",
)

Embed = Callable[[Sequence[str]], np.ndarray]


def check_probes(index: Index, kept: Kept, embed: Embed) -> None:
    """Compares the model with what it was when the space was made, or keeps its vectors the first time.

    Raises `SpaceMismatch` naming the probe that moved farthest when one is beyond `PROBE_TOLERANCE`.
    """
    known = probes(index, kept.space_id)
    texts = tuple(known) or PROBES
    now = embed(texts).astype(np.float32, copy=False)
    if not known:
        store_probes(index, kept.space_id, texts, now)
        return
    distances = {text: _distance(known[text], vector) for text, vector in zip(texts, now, strict=True)}
    text, farthest = max(distances.items(), key=lambda one: one[1])
    if not farthest < PROBE_TOLERANCE:  # also for NaN
        raise SpaceMismatch(
            f"{kept.space.model} no longer makes the vectors that it made for the index at {index.path}: "
            f"{text!r} moved by a cosine distance of {farthest:.2g}, at most {PROBE_TOLERANCE:g} is rounding. Its "
            "files are the same, so a library or a setting changed: put that back, or index into a new folder"
        )


def _distance(before: np.ndarray, now: np.ndarray) -> float:
    if before.shape != now.shape:
        return 2.0
    return 1.0 - float(before @ now)
