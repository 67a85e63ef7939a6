"""What keeps retrieved text inside its place of the prompt.

The frame of the prompt is its numbers `[n]` and its lines SOURCES and QUESTION. Text of a document or a name that
looks like one of them, or like the turn of a speaker (`Human:`, `### Instruction`), gets a backslash, so that only
the server's own delimiters are delimiters. Nothing can keep a model from obeying an instruction that it reads; this
keeps the instruction inside its source.
"""

import re
import unicodedata

OPENING, CLOSING = "[\uff3b【\u3014〖⟦", "]\uff3d】\u3015〗⟧"
_BRACKETS = re.compile(
    rf"[{re.escape(OPENING)}]([^{re.escape(OPENING + CLOSING)}]{{0,80}})[{re.escape(CLOSING)}]"
)
_NUMBERED = re.compile(r"[\W_]*(?:(?:sources?|refs?|citations?)[\W_]*)?\d", re.IGNORECASE)
_FRAME_LINES = frozenset({"sources", "question"})
_FRAME_BEGINS = re.compile(r"[\W_]*(?:SOURCES|QUESTION)(?![^\W_])")
_SPEAKERS = "question|answer|sources?|human|user|assistant|system|ai|instructions?|response|input|output"
_TURN = re.compile(
    rf"[^\w(]*(?:(?:{_SPEAKERS})[^\w:]*:|\(\s*\d{{1,3}}\s*\)\s)|\W*#+\W*(?:{_SPEAKERS})\b", re.IGNORECASE
)
"""A line that begins like somebody's turn, or with a number in the place of `[n]`."""

# What chat templates of common models read as the end of a turn, also in the middle of a message.
_TEMPLATE = re.compile(r"<(?=\||/?s>|start_of_turn|end_of_turn|<SYS>>|</SYS>>|\uff5c)|\[(?=/?INST\])")
_LABEL_CHARACTERS = 200


def framed(text: str) -> str:
    """`text` with a backslash before each delimiter of the frame; other text is returned as it is."""
    marked = _TEMPLATE.sub(r"\g<0>\\", _BRACKETS.sub(_escaped_number, text))
    return "".join(_escaped_line(line) for line in marked.splitlines(keepends=True))


def framed_line(text: str) -> str:
    """A name or label as part of one line of the frame: no line breaks, at most 200 characters."""
    line = " ".join("".join(map(_visible, text)).split())
    short = line if len(line) <= _LABEL_CHARACTERS else line[: _LABEL_CHARACTERS - 1] + "…"
    return framed(short)


def framed_question(text: str) -> str:
    """A question with its own numbers, but without lines that look like the frame's."""
    return "".join(_escaped_line(line) for line in text.splitlines(keepends=True))


def _escaped_number(match: re.Match[str]) -> str:
    whole, inside = match[0], _plain(match[1])
    return f"\\{whole[:-1]}\\{whole[-1]}" if _NUMBERED.match(inside) else whole


def _escaped_line(line: str) -> str:
    plain = _plain(line)
    bare = re.sub(r"^[\W_]+|[\W_]+$", "", plain).casefold()
    if bare not in _FRAME_LINES and not _FRAME_BEGINS.match(plain) and not _TURN.match(plain):
        return line
    begin = len(line) - len(line.lstrip())
    return f"{line[:begin]}\\{line[begin:]}"


def _plain(text: str) -> str:
    """Compatibility forms resolved and invisible characters dropped: what a reader takes the text for."""
    return "".join(
        c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) not in ("Cf", "Mn")
    )


def _visible(character: str) -> str:
    """Control characters as escapes, line breaks too: none can begin a line."""
    if unicodedata.category(character) not in ("Cc", "Zl", "Zp", "Cs"):
        return character
    return character.encode("unicode_escape").decode("ascii")
