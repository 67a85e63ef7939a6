"""Fingerprints: what finds a string again in a mass of bytes, and can't be read itself.

A string is known by its length, 24 bits of a polynomial hash of its first bytes, and a keyed BLAKE2b digest of all of
it. The hash rolls over the searched bytes (Karp and Rabin, 1987), all places at once; where its 24 bits are
those of a fingerprint, the digest decides. So one pass looks for any number of strings.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

SHORTEST = 8  # bytes; what is shorter stands in any file by chance
_LONG, _SHORT = 16, SHORTEST  # bytes that are hashed of a string at least so long
_BASE = 0x9E3779B1  # odd
_BITS = 24
_BLOCK = 1 << 20  # bytes that are hashed at a time


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Of a string of at least SHORTEST bytes."""

    size: int  # bytes of the string
    start: int  # _BITS bits of the hash of its first bytes
    digest: str

    @property
    def window(self) -> int:
        return _LONG if self.size >= _LONG else _SHORT


def fingerprint(string: bytes, key: str) -> Fingerprint:
    """The fingerprint under a key, which makes that of another document another one."""
    head = np.frombuffer(string[: _LONG if len(string) >= _LONG else _SHORT], dtype=np.uint8)
    return Fingerprint(len(string), int(_rolling(head, len(head))[0]), digest_of(string, key))


def digest_of(string: bytes, key: str) -> str:
    """128 bits in hexadecimal digits."""
    return hashlib.blake2b(string, key=key.encode(), digest_size=16).hexdigest()


class Seeker:
    """Looks for many strings at once, each under its key."""

    def __init__(self, sought: Iterable[tuple[str, Fingerprint]]) -> None:
        """`sought`: (key, fingerprint)."""
        self._by_start: dict[int, dict[int, list[tuple[str, Fingerprint]]]] = {}
        for key, one in sorted(set(sought), key=lambda pair: (pair[0], pair[1].digest)):
            starts = self._by_start.setdefault(one.window, defaultdict(list))
            starts[one.start].append((key, one))
        self._tables = {window: _table(starts) for window, starts in self._by_start.items()}

    def seek(self, data: memoryview) -> frozenset[tuple[str, Fingerprint]]:
        """Those of the sought strings that stand in these bytes."""
        found: set[tuple[str, Fingerprint]] = set()
        for first in range(0, len(data), _BLOCK):
            block = np.frombuffer(data[first : first + _BLOCK + _LONG - 1], dtype=np.uint8)
            for window, table in self._tables.items():
                places = np.flatnonzero(table[_rolling(block, window)]) if len(block) >= window else ()
                for place in places:
                    found.update(self._standing(data, first + int(place), window))
        return frozenset(found)

    def _standing(self, data: memoryview, at: int, window: int) -> Iterator[tuple[str, Fingerprint]]:
        start = int(_rolling(np.frombuffer(data[at : at + window], dtype=np.uint8), window)[0])
        for key, one in self._by_start[window].get(start, ()):
            if digest_of(bytes(data[at : at + one.size]), key) == one.digest:
                yield key, one


def _table(starts: Iterable[int]) -> np.ndarray:
    """bool[2 ** _BITS], which hashes are sought."""
    table = np.zeros(1 << _BITS, dtype=bool)
    table[np.fromiter(starts, dtype=np.int64)] = True
    return table


def _rolling(data: np.ndarray, window: int) -> np.ndarray:
    """uint32[len(data) - window + 1], the upper _BITS bits of the hash of the `window` bytes from each place on.

    The hash of 2n bytes is that of the first n, times a power, plus that of the next n.
    """
    hashes, power, width = data.astype(np.uint32) + np.uint32(1), _BASE, 1
    while width < window:
        hashes = hashes[:-width] * np.uint32(power) + hashes[width:]
        power, width = power * power & 0xFFFFFFFF, width * 2
    return hashes >> np.uint32(32 - _BITS)
