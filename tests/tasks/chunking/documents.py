"""Documents for the tests of chunking: drawn ones, and Markdown as its extractor reads it."""

from pathlib import Path

from hypothesis import strategies as st

from pincite.schemas.records import Block, Chunk, Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.text.markdown import extract_markdown

_FRAGMENTS = [
    *"aZ1.!?,;#-|`\t ",
    "\n",
    "\n\n",
    "\r\n",
    "\r\n\r\n",
    "\u2028",
    "\x85",
    "\x1c",
    "\ufeff",
    "\u200b",
    "\u00a0",
    "e\u0301",
    "👩‍👩‍👧",
    "中文。",
    "ไทย",
    "한국어 ",
    "عربي ",
    "word ",
    "Sentence one. ",
    "pi is 3.14 e.g. here ",
    "chunk chunk ",
    "a" * 90,
    "a" * 700,
    "中" * 300,
    "word " * 120,
    "½" * 50,
    "- item\n",
    "| a | b |\n",
    "-" * 60,
]
BODY = st.lists(st.sampled_from(_FRAGMENTS), max_size=30).map("".join)


def document(text: str, *blocks: Block) -> Extraction:
    return Extraction(text, "", "text/plain", "test", "1", blocks)


def markdown(tmp_path: Path, text: str) -> Extraction:
    path = tmp_path / "document.md"
    path.write_text(text, encoding="utf-8")
    return extract_markdown(path, Settings(), lambda page: None)


@st.composite
def documents(draw: st.DrawFn) -> Extraction:
    """Blocks of all kinds with gaps between them, some of the gaps with text that no block claims."""
    text = draw(st.sampled_from(["", "\n", "unclaimed text. "]))
    blocks = []
    for kind in draw(
        st.lists(st.sampled_from(["heading", "paragraph", "table", "code", "list"]), max_size=8)
    ):
        body = (
            draw(st.sampled_from(["# A", "B", "long title " * 60, "标题"]))
            if kind == "heading"
            else draw(BODY)
        )
        level = draw(st.integers(1, 4)) if kind == "heading" else 0
        repeat = draw(st.sampled_from(["", "| Name | Qty |", "| column " * 90])) if kind == "table" else ""
        blocks.append(Block(kind, len(text), len(text) + len(body), level, "", repeat))
        text += body + draw(st.sampled_from(["\n\n", "\n", "", " unclaimed ", "\r\n\r\n"]))
    return document(text, *blocks)


def uncovered(extraction: Extraction, chunks: tuple[Chunk, ...]) -> str:
    """The characters that lie in no chunk, though they are neither white space nor in a heading."""
    left = list(extraction.text)
    spans = [(chunk.start, chunk.end) for chunk in chunks]
    spans += [(block.start, block.end) for block in extraction.blocks if block.kind == "heading"]
    for start, end in spans:
        left[start:end] = " " * (end - start)
    return "".join(left).strip()
