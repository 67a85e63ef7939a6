"""What a chunker is, and what it promises. The product's own are in `pincite.tasks.chunking`, others are plug-ins."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from pincite.schemas.plugins import CHUNKERS, installed, load, not_of_kind
from pincite.schemas.records import Chunk, Extraction
from pincite.schemas.settings import DEFAULT_CHUNKER

CountTokens = Callable[[Sequence[str]], list[int]]
"""Word-pieces of each text, special tokens included (`WordPieces.count_many`)."""


@runtime_checkable
class Chunker(Protocol):
    """Cuts a document's text. The name of its entry point is stamped: another way to cut needs another name."""

    @property
    def whole(self) -> bool:
        """Whether it promises that all text lies in some chunk, and that no chunk is over the encoder's window.

        Of a chunker that promises it, a document for which it does not hold fails.
        """
        ...

    def chunk(
        self, extraction: Extraction, title: str, count_tokens: CountTokens, window: int
    ) -> Sequence[Chunk]:
        """Chunks in text order, of each `content == extraction.text[start:end]`; () for white space alone.

        `title` opens the headers. `ordinal`, `tokens` and `over_window` may be left at any value: they are counted.
        """
        ...


def chunker_of_plugin(name: str) -> Chunker:
    """Raises `UsageError` when no package registers it, or registers something else."""
    registered = load(CHUNKERS, name)
    made = registered() if isinstance(registered, type) else registered
    if not isinstance(made, Chunker):
        raise not_of_kind(CHUNKERS, name, registered, "a Chunker")
    return made


def is_whole(name: str) -> bool:
    """What a chunker promises of itself (`Chunker.whole`); False of one that is not installed any more."""
    if name in ("", DEFAULT_CHUNKER):
        return True
    return name in installed(CHUNKERS) and chunker_of_plugin(name).whole
