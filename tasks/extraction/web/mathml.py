"""MathML on one line. MathML Core, 3; `semantics` is its first child, `annotation` is not read."""

from collections.abc import Callable

from lxml import etree

from pincite.tasks.extraction.base.formulas import fraction, matrix, root, row, scripts
from pincite.tasks.extraction.base.text_builder import one_line
from pincite.tasks.extraction.web.html_visibility import name

_DEEPEST = 60
_NOT_READ = frozenset({"annotation", "annotation-xml", "mphantom", "none", "mprescripts"})
# fmt: off
_ELEMENTS = frozenset({
    "math", "semantics", "maction", "menclose", "merror", "mfenced", "mfrac", "mglyph", "mi", "mlabeledtr",
    "mmultiscripts", "mn", "mo", "mover", "mpadded", "mroot", "mrow", "ms", "mspace", "msqrt", "mstyle", "msub",
    "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover", "maligngroup", "malignmark",
}) | _NOT_READ
# fmt: on
_OPERATORS = tuple("∑∏∫∮⋃⋂⨁∐")


def is_formula(element: etree._Element) -> bool:
    """Whether it is a `math` element with nothing but MathML in it; a browser ends it at any HTML."""
    return name(element) == "math" and all(
        name(inner) in _ELEMENTS or _inside_annotation(inner)
        for inner in element.iterdescendants(etree.Element)
    )


def formula(element: etree._Element, depth: int = 0) -> str:
    """The words of a `math` element, or of a part of one."""
    if depth > _DEEPEST:
        return one_line("".join(map(str, element.itertext())))
    tag = name(element)
    if not tag or tag in _NOT_READ:
        return ""
    if tag in _WRITTEN:
        children = [child for child in element if name(child)]
        return _WRITTEN[tag]([formula(child, depth + 1).strip() for child in children], element)
    if tag in _BY_ELEMENT:
        return _BY_ELEMENT[tag](element, depth)
    parts = [child for child in element if name(child)]
    return row([one_line(element.text or ""), *_parts(parts[:1] if tag == "semantics" else parts, depth)])


def _inside_annotation(element: etree._Element) -> bool:
    return any(name(above) in _NOT_READ for above in element.iterancestors())


def _table(element: etree._Element, depth: int) -> str:
    lines = [child for child in element if name(child)]
    return matrix([[formula(cell, depth + 2).strip() for cell in line if name(cell)] for line in lines])


def _words(element: etree._Element, depth: int) -> str:
    """Text in a formula keeps the spaces around it."""
    text = "".join(map(str, element.itertext()))
    return f"{' ' * text[:1].isspace()}{one_line(text)}{' ' * text[-1:].isspace()}".replace("\xa0", " ")


def _parts(parts: list[etree._Element], depth: int) -> list[str]:
    """A sum, product or integral and what it runs over are held apart; a matrix has its own brackets."""
    found = []
    for part in parts:
        text = formula(part, depth + 1)
        limits = name(part) in ("munderover", "munder", "msubsup", "msub")
        if (limits and text[:1] in _OPERATORS) or (name(part) == "munder" and text[:1].isalpha()):
            text += " "
        found += [text, one_line(part.tail or "")]
    for at in range(2, len(found) - 2, 2):
        if name(parts[at // 2]) == "mtable" and found[at - 2] in ("[", "(") and found[at + 2] in ("]", ")"):
            found[at - 2] = found[at + 2] = ""
    return found


def _multiscripts(element: etree._Element, depth: int) -> str:
    """A base, pairs of index and power behind it, and after `mprescripts` those before it."""
    children = [child for child in element if name(child)]
    if not children:
        return ""
    cut = next((at for at, child in enumerate(children) if name(child) == "mprescripts"), len(children))
    base = formula(children[0], depth + 1).strip()
    behind = [formula(child, depth + 1).strip() for child in children[1:cut]]
    before = [formula(child, depth + 1).strip() for child in children[cut + 1 :]]
    lead = scripts("", "".join(before[::2]), "".join(before[1::2])) if any(before) else ""
    return row([lead, scripts(base, "".join(behind[::2]), "".join(behind[1::2]))])


def _fraction(parts: list[str], element: etree._Element) -> str:
    above, below, *_ = [*parts, "", ""]
    return fraction(above, below, line=(element.get("linethickness") or "1")[:1] != "0")


def _power(parts: list[str], element: etree._Element) -> str:
    base, above, *_ = [*parts, "", ""]
    return scripts(base, "", above)


def _index(parts: list[str], element: etree._Element) -> str:
    base, below, *_ = [*parts, "", ""]
    return scripts(base, below)


def _both(parts: list[str], element: etree._Element) -> str:
    base, below, above, *_ = [*parts, "", "", ""]
    return scripts(base, below, above)


def _over(parts: list[str], element: etree._Element) -> str:
    base, above, *_ = [*parts, "", ""]
    if above not in _ACCENTS:
        return scripts(base, "", above)
    return base + _ACCENTS[above] if len(base) == 1 else base


_ACCENTS = {"¯": "\u0304", "‾": "\u0305", "^": "\u0302", "ˆ": "\u0302", "˙": "\u0307", "~": "\u0303", "˜": "\u0303",
            "→": "\u20d7", "¨": "\u0308", "´": "\u0301", "`": "\u0300", "_": "\u0332", "⏞": ""}  # fmt: skip


def _root(parts: list[str], element: etree._Element) -> str:
    if name(element) == "msqrt":
        return root(row(parts))
    radicand, degree, *_ = [*parts, "", ""]
    return root(radicand, degree)


def _fenced(parts: list[str], element: etree._Element) -> str:
    begin, end = element.get("open", "("), element.get("close", ")")
    return begin + ((element.get("separators") or ",").strip()[:1] or ",").join(parts) + end


_WRITTEN: dict[str, Callable[[list[str], etree._Element], str]] = {
    "mfrac": _fraction, "msup": _power, "msub": _index, "msubsup": _both, "munder": _index, "mover": _over,
    "munderover": _both, "msqrt": _root, "mroot": _root, "mfenced": _fenced,
}  # fmt: skip
_BY_ELEMENT: dict[str, Callable[[etree._Element, int], str]] = {
    "mtable": _table,
    "mmultiscripts": _multiscripts,
    "mspace": lambda element, depth: " ",
    "mtext": _words,
    "ms": _words,
}
