"""Counts with their nouns, as people read them: the one place that knows one from many."""


def counted(count: int, one: str, many: str = "") -> str:
    """ "1 document", "1,234 documents"; `many` is said of all but 1 where it is not `one` with an s.

    Verbs may stand in both: `counted(n, "document has", "documents have")`.
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"
