"""Figures as people read them: counts with their nouns, and decimals."""


def counted(count: int, one: str, many: str = "") -> str:
    """ "1 document", "1,234 documents"; `many` is said of all but 1 where it is not `one` with an s.

    Verbs may stand in both: `counted(n, "document has", "documents have")`.
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def decimal(value: float | None, places: int = 3) -> str:
    """ "0.417"; "–" for what is not defined."""
    return "–" if value is None else f"{value:.{places}f}"
