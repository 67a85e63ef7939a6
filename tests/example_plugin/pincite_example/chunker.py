"""A chunk for each block of the text."""

from collections.abc import Sequence

from pincite.schemas.chunkers import CountTokens
from pincite.schemas.records import Chunk, Extraction


class Lines:
    whole = True  # all text lies in some block, and no line of ours is longer than a window

    def chunk(
        self, extraction: Extraction, title: str, count_tokens: CountTokens, window: int
    ) -> Sequence[Chunk]:
        header = f"[{title}]\n" if title else ""
        return [
            Chunk(0, f"{header}{words}", words, title, "", block.start, block.end, 0)
            for block in extraction.blocks
            if (words := extraction.text[block.start : block.end]).strip()
        ]
