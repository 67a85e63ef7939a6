"""The blocks of a document under their headings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest

from pincite.schemas.records import Block, BlockKind, Extraction

LONGEST_TITLE = 200  # characters


@dataclass(frozen=True, slots=True)
class SectionPart:
    """A stretch of one kind inside one section. Segments are in text order and leave out only headings."""

    kind: BlockKind
    start: int
    end: int
    section: tuple[int, int]
    """(start of the heading it stands under, -1 before the first; the boilerplate before it): differs where two paths
    are equal."""
    path: tuple[str, ...]  # titles from the outermost heading
    repeat: str = ""  # header row of a table


def segments(extraction: Extraction) -> Iterator[SectionPart]:
    """All text but the headings, each stretch with its section path.

    Text that no block claims counts as a paragraph: nothing is lost to a gap. A heading under which nothing
    stands (no text and no deeper heading) is content of the section around it, since it would be found by
    nothing else: a table of contents or a document of headings only stays searchable. One of more than 200
    characters is content too, as no header could hold its words. Boilerplate is left out, and what stands on
    its two sides is never of one section.
    """
    everything = list(_gapless(extraction.text, extraction.blocks))
    blocks = [block for block in everything if block.kind != "boilerplate"]
    resumed = {
        block.start: index
        for index, (before, block) in enumerate(pairwise(everything), start=1)
        if before.kind == "boilerplate" and block.kind != "boilerplate"
    }
    part = 0
    above: list[Block] = []  # the headings that hold, outermost first
    for block, after in zip_longest(blocks, blocks[1:]):
        part = resumed.get(block.start, part)
        if block.kind == "heading":
            while above and above[-1].level >= block.level:
                above.pop()
            if after and (after.kind != "heading" or after.level > block.level):
                above.append(block)
                continue
        yield SectionPart(
            kind=block.kind,
            start=block.start,
            end=block.end,
            section=(above[-1].start if above else -1, part),
            path=tuple(heading_title(extraction.text, heading) for heading in above),
            repeat=block.repeat,
        )


def heading_title(text: str, heading: Block) -> str:
    """The words of a heading on one line."""
    return " ".join((heading.title or text[heading.start : heading.end]).split())


def _gapless(text: str, blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks that hold more than white space, and a paragraph for each stretch between them that does."""
    position = 0
    for block in blocks:
        if text[position : block.start].strip():
            yield Block("paragraph", position, block.start)
        if text[block.start : block.end].strip():
            misused = block.kind == "heading" and len(heading_title(text, block)) > LONGEST_TITLE
            yield replace(block, kind="paragraph") if misused else block
        position = max(position, block.end)
    if text[position:].strip():
        yield Block("paragraph", position, len(text))
