"""Text of documents and names where people see it: none of it can forge a line, move a cursor or become HTML."""

import html
import re

# Categories Cc (but for tab and line feed), Cs, Zl and Zp, and what turns the direction of writing.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: str) -> str:
    """Names and reasons with their control characters shown, so that none can forge a line."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def shown(text: str) -> str:
    """Text of several lines with its control characters as escapes: none moves the cursor or turns the line."""
    if text.isprintable():  # nothing of the above is
        return text
    return _HIDDEN.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def escaped(text: str) -> str:
    """Text as HTML, in elements and in quoted attributes; controls as escapes."""
    return html.escape(shown(text))
