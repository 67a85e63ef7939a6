"""How formulas are written on one line, whatever format draws them.

    1/2, (a+b)/c · v^2, e^(x+1) · x_i · √(x), √[3](x) · ∑_(i=1)^n x_i · lim_(x→0) · [a, b; c, d]

Parts that would run into one another are held apart: "3 1/2", "sin x", "v^2 t".
"""

from collections.abc import Iterable, Sequence

import regex

_ONE = regex.compile(r"[\p{L}\p{N}\p{M}.,'′∞]+")  # holds together without brackets
_NOT_SHOWN = regex.compile("[\u2061-\u2064]+")  # function application, invisible times, separator, plus
_COMPOSED = regex.compile(r"[\^_/√]")
_LETTERS = regex.compile(r"\p{L}")


def held(part: str, sign: bool = False) -> str:
    """`part`, in brackets unless it holds together; a `sign` before a number may stay: "-6"."""
    bare = part[1:] if sign and part[:1] in "+-−" else part
    closed = part[:1] == "(" and part[-1:] == ")" and _matching(part)
    return part if not part or closed or _ONE.fullmatch(bare) else f"({part})"


def row(parts: Iterable[str]) -> str:
    """Parts one after the other."""
    text = ""
    for part in (_NOT_SHOWN.sub("", part) for part in parts):
        touching = text[-1:].isalnum() and part[:1].isalnum()
        named = touching and len(part) > 1 and _LETTERS.match(part) is not None
        after_name = touching and len(text) > 1 and text[-2:].isalpha() and part[:1].isalnum()
        if touching and (named or after_name or _COMPOSED.search(_last(text)) or _COMPOSED.search(part)):
            text += " "
        text += part
    return text


def fraction(above: str, below: str, line: bool = True) -> str:
    """Without a `line` it is a binomial, or a stack."""
    return f"{held(above)}/{held(below)}" if line else f"({above}; {below})"


def scripts(base: str, below: str = "", above: str = "") -> str:
    """A base with an index and a power, or an operator with its limits."""
    text = base if len(base) < 2 else held(base)
    if below:
        text += f"_{held(below)}"
    if above:
        text += above if set(above) <= set("′'″‴*") else f"^{held(above, sign=True)}"
    return text


def root(radicand: str, degree: str = "") -> str:
    return f"√[{degree}]({radicand})" if degree and degree != "2" else f"√({radicand})"


def operator(sign: str, below: str, above: str, body: str) -> str:
    """A sum, product or integral over its body."""
    return row([scripts(sign, below, above) + (" " if body else ""), body])


def matrix(rows: Sequence[Sequence[str]]) -> str:
    return "[" + "; ".join(", ".join(cells) for cells in rows) + "]"


def _last(text: str) -> str:
    """What stands after the last space."""
    return text.rsplit(" ", 1)[-1]


def _matching(part: str) -> bool:
    """Whether the first bracket is closed by the last."""
    depth = 0
    for at, sign in enumerate(part):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return at == len(part) - 1
    return False
