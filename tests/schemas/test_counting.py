"""Counts with their nouns, and that messages and pages use the one function for them."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from pincite.schemas.counting import counted
from tests.test_layout import ROOMS, ROOT

NOUNS = "document|chunk|file|page|segment|row|character|byte|question|warning|revision|vector|table|passage"
NOUNS = rf" (?:more )?(?:{NOUNS})s\b"
BY_HAND = re.compile(r"""(["'])s\1 if """)
NEVER_ONE = {
    "{len(found)} documents",  # told only of two or more of one name
    "{most_bytes:,} bytes",
    "{most:,} bytes",
    "{limit:,} bytes",
    "{length:,} bytes",
    "{size:,} bytes",
    "{self._limits.inflated_bytes:,} characters",
    "{self._settings.limits.inflated_bytes:,} bytes",
    "{limits.upload_bytes:,} bytes",
}
"""Limits, and what is counted from two on."""


def test_one_is_told_from_many() -> None:
    said = [counted(count, "document") for count in (0, 1, 2, 1234)]
    assert said == ["0 documents", "1 document", "2 documents", "1,234 documents"]
    assert [counted(n, "query was", "queries were") for n in (1, 2)] == ["1 query was", "2 queries were"]


def bare_counts(source: str) -> Iterator[str]:
    """Each value of an f-string that a noun in the plural follows, with the noun."""
    for node in ast.walk(ast.parse(source)):
        parts = node.values if isinstance(node, ast.JoinedStr) else []
        for value, after in pairwise(parts):
            if isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant):
                noun = re.match(NOUNS, str(after.value))
                constant = isinstance(value.value, ast.Name) and value.value.id.isupper()
                told = isinstance(value.value, ast.Call) and ast.unparse(value.value.func) == "counted"
                if noun and not constant and not told:
                    yield ast.unparse(ast.JoinedStr([value]))[2:-1] + noun.group()


def test_no_message_or_page_counts_nouns_by_itself() -> None:
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            source = path.read_text()
            found += [(path.name, one) for one in bare_counts(source) if one not in NEVER_ONE]
            found += [(path.name, one.group()) for one in BY_HAND.finditer(source)]
        for path in sorted((ROOT / room).rglob("*.j2")):
            source = path.read_text()
            found += [(path.name, one) for one in re.findall(r"\}\}" + NOUNS, source)]
            found += [(path.name, one.group()) for one in BY_HAND.finditer(source)]
    assert found == []
    assert list(bare_counts('f"{n} pages of {m} text"')) == ["{n} pages"], "or it would find nothing"
