"""Links in a model's text. The server writes none there, so each is the model's own."""

import re
from dataclasses import dataclass

_TITLE = r"(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?"
_TARGET = r"(?:<(?P<angled>[^<>\n]*)>|(?P<target>[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*))"
_PATTERNS = (
    # [text](target), ![text](target); CommonMark 0.31 section 6.3
    re.compile(rf"!?(?<!\\)\[(?:[^\[\]\n]|\[[^\[\]\n]{{0,80}}\]){{0,300}}\]\(\s*{_TARGET}{_TITLE}\s*\)"),
    # [name]: target; section 4.7
    re.compile(rf"^[ ]{{0,3}}\[[^\[\]\n]{{1,200}}\]:[ \t]*{_TARGET}{_TITLE}[ \t]*$", re.MULTILINE),
    # HTML that fetches or leads somewhere
    re.compile(
        r"<[a-z][^<>]{0,400}?\b(?:href|src|srcset|action|formaction|data|poster|background)\s*=\s*"
        r"[\"']?(?P<target>[^\s\"'<>]*)[^<>]*>",
        re.IGNORECASE,
    ),
    # an address as it is
    re.compile(
        r"(?<![\w/])(?P<target>(?:(?:https?|ftps?|wss?|file)://|(?:mailto|javascript|vbscript|tel):(?=\S)"
        r"|data:(?=\w+/)|www\.)[^\s<>\"'`\[\]{}|\\^]+)",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?<![\w/.@-])(?P<target>(?:[a-z0-9-]{1,63}\.){1,6}"
        r"(?:com|org|net|io|dev|app|info|biz|xyz|ru|cn|co|eu|de|uk|ua|se)(?:/[^\s<>\"'`\[\]]*)?)(?![\w-])",
        re.IGNORECASE,
    ),
)
_TRAILING = ".,;:!?)'\"*_»”’。\uff0c"


@dataclass(frozen=True, slots=True)
class Link:
    start: int
    end: int
    target: str


def links_of(text: str) -> list[Link]:
    """The links in order, none inside another: Markdown, HTML and bare addresses, also within code."""
    found: list[Link] = []
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            groups = match.groupdict()
            target = groups.get("angled") or groups.get("target") or ""
            end = match.end()
            if match.group(0) == target:
                target = _without_tail(target)
                end = match.start() + len(target)
            if all(end <= one.start or match.start() >= one.end for one in found):
                found.append(Link(match.start(), end, target))
    return sorted(found, key=lambda link: link.start)


def _without_tail(address: str) -> str:
    """A bare address without the punctuation of its sentence; a bracket that it opened itself stays."""
    while address and address[-1] in _TRAILING:
        if address[-1] == ")" and address.count("(") >= address.count(")"):
            break
        address = address[:-1]
    return address
