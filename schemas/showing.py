"""Text of documents and names where people see it: none of it can forge a line, move a cursor or become HTML."""

import html
import unicodedata

_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def one_line(text: str) -> str:
    """Names and reasons with their control characters shown, so that none can forge a line."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def shown(text: str) -> str:
    """Text of several lines with its control characters as escapes: none moves the cursor or turns the line."""
    return "".join(
        character.encode("unicode_escape").decode()
        if character in _BIDI
        or (character not in "\n\t" and unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp"))
        else character
        for character in text
    )


def escaped(text: str) -> str:
    """Text as HTML, in elements and in quoted attributes; controls as escapes."""
    return html.escape(shown(text))
