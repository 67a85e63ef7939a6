"""Formulas of Word and PowerPoint (Office Math, ECMA-376 part 1, 22.1) on one line."""

from collections.abc import Callable

from lxml import etree

from pincite.tasks.extraction.base.formulas import fraction, matrix, operator, root, row, scripts

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_OFF = ("0", "false", "off")
_NOT_READ = {f"{_W}{name}" for name in ("rPr", "del", "moveFrom", "instrText")} | {f"{_A}rPr"}
_DEEPEST = 60  # of parts in parts; beyond it only the words are read


def formula(element: etree._Element, depth: int = 0) -> str:
    """All of a formula, or of a part of one."""
    if depth > _DEEPEST:
        return "".join(text.text or "" for text in element.iter(f"{M}t"))
    return row(
        _one(child, depth + 1)
        for child in element
        if isinstance(child.tag, str) and child.tag not in _NOT_READ
    )


def _one(element: etree._Element, depth: int) -> str:
    if element.tag in (f"{M}t", f"{_W}t", f"{_A}t"):
        return element.text or ""
    if isinstance(element.tag, str) and element.tag.startswith(M) and element.tag.endswith("Pr"):
        return ""
    written = _WRITTEN.get(str(element.tag))
    return written(element, depth) if written else formula(element, depth)


def _part(element: etree._Element, name: str, depth: int) -> str:
    part = element.find(f"{M}{name}")
    return formula(part, depth).strip() if part is not None else ""


def _value(element: etree._Element, path: str, missing: str) -> str:
    """A property of an element; an empty value is said by the file."""
    found = element.find("/".join(f"{M}{name}" for name in path.split("/")))
    return missing if found is None else found.get(f"{M}val", missing)


def _fraction(element: etree._Element, depth: int) -> str:
    line = _value(element, "fPr/type", "bar") != "noBar"
    return fraction(_part(element, "num", depth), _part(element, "den", depth), line)


def _scripts(element: etree._Element, depth: int) -> str:
    return scripts(_part(element, "e", depth), _part(element, "sub", depth), _part(element, "sup", depth))


def _before(element: etree._Element, depth: int) -> str:
    return row(
        [scripts("", _part(element, "sub", depth), _part(element, "sup", depth)), _part(element, "e", depth)]
    )


def _limit(element: etree._Element, depth: int) -> str:
    limit, base = _part(element, "lim", depth), _part(element, "e", depth)
    return scripts(base, limit) if element.tag == f"{M}limLow" else scripts(base, "", limit)


def _root(element: etree._Element, depth: int) -> str:
    return root(_part(element, "e", depth), _part(element, "deg", depth))


def _operator(element: etree._Element, depth: int) -> str:
    sign = _value(element, "naryPr/chr", "∫")
    return operator(
        sign, _part(element, "sub", depth), _part(element, "sup", depth), _part(element, "e", depth)
    )


def _fenced(element: etree._Element, depth: int) -> str:
    begin, end = _value(element, "dPr/begChr", "("), _value(element, "dPr/endChr", ")")
    parts = (formula(part, depth).strip() for part in element.findall(f"{M}e"))
    inner = _value(element, "dPr/sepChr", "|").join(parts)
    if begin == "(" and end == ")" and inner.startswith("(") and "; " in inner:
        return inner  # a binomial brings its brackets along
    if begin in "([" and inner.startswith("[") and "; " in inner:
        return inner  # so does a matrix
    return f"{begin}{inner}{end}"


def _matrix(element: etree._Element, depth: int) -> str:
    rows = element.findall(f"{M}mr")
    return matrix([[formula(cell, depth).strip() for cell in line.findall(f"{M}e")] for line in rows])


def _lines(element: etree._Element, depth: int) -> str:
    return "; ".join(formula(line, depth).strip() for line in element.findall(f"{M}e"))


def _function(element: etree._Element, depth: int) -> str:
    name, argument = _part(element, "fName", depth), _part(element, "e", depth)
    return f"{name} {argument}" if argument[:1].isalnum() else name + argument


def _accent(element: etree._Element, depth: int) -> str:
    base = _part(element, "e", depth)
    sign = _value(element, "accPr/chr", "\u0302") if element.tag == f"{M}acc" else "\u0305"
    return base + sign if len(base) == 1 else base


def _hidden(element: etree._Element, depth: int) -> str:
    """A phantom only takes room, unless it says that it is shown."""
    shown = element.find(f"{M}phantPr/{M}show")
    return formula(element, depth) if shown is None or shown.get(f"{M}val", "1") not in _OFF else ""


_WRITTEN: dict[str, Callable[[etree._Element, int], str]] = {
    f"{M}{name}": written
    for name, written in {
        "f": _fraction, "sSup": _scripts, "sSub": _scripts, "sSubSup": _scripts, "sPre": _before,
        "limLow": _limit, "limUpp": _limit, "rad": _root, "nary": _operator, "d": _fenced, "m": _matrix,
        "eqArr": _lines, "func": _function, "acc": _accent, "bar": _accent, "phant": _hidden,
    }.items()
}  # fmt: skip
