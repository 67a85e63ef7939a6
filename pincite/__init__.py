"""A batch indexing pipeline and retrieval whose every passage carries a citation that can be checked.

with pincite.open("pincite-index") as index:
    index.update("./docs")
    hits = index.search("dry running error", k=4)

What is named here is the public API (docs/python.md). Each name is imported when it is first used.
"""

TYPE_CHECKING = False  # to a type checker it is true; the module `typing` takes longer than all else here
if TYPE_CHECKING:
    from pincite.api import CheckedAnswer as CheckedAnswer
    from pincite.api import OpenIndex as OpenIndex
    from pincite.api import UpdateProgress as UpdateProgress
    from pincite.api import open as open
    from pincite.dashboard.views.passages import DocumentPassage as DocumentPassage
    from pincite.flows.settings import load_settings as load_settings
    from pincite.retrieval.answers.citations import Citation as Citation
    from pincite.retrieval.answers.resolve import Unresolved as Unresolved
    from pincite.retrieval.filters import Filters as Filters
    from pincite.schemas.errors import AnswerFailed as AnswerFailed
    from pincite.schemas.errors import IndexBroken as IndexBroken
    from pincite.schemas.errors import IndexBusy as IndexBusy
    from pincite.schemas.errors import ModelUnavailable as ModelUnavailable
    from pincite.schemas.errors import NotFound as NotFound
    from pincite.schemas.errors import PinciteError as PinciteError
    from pincite.schemas.errors import SourceError as SourceError
    from pincite.schemas.errors import SpaceMismatch as SpaceMismatch
    from pincite.schemas.errors import UnconfirmedLoss as UnconfirmedLoss
    from pincite.schemas.errors import UsageError as UsageError
    from pincite.schemas.records import Counts as Counts
    from pincite.schemas.records import Hit as Hit
    from pincite.schemas.settings import Settings as Settings
    from pincite.storage.queries.index_report import DocumentReport as DocumentReport
    from pincite.storage.queries.index_report import IndexReport as IndexReport

    __version__: str

_HOMES = {
    "pincite.api": ("CheckedAnswer", "OpenIndex", "UpdateProgress", "open"),
    "pincite.dashboard.views.passages": ("DocumentPassage",),
    "pincite.flows.settings": ("load_settings",),
    "pincite.retrieval.answers.citations": ("Citation",),
    "pincite.retrieval.answers.resolve": ("Unresolved",),
    "pincite.retrieval.filters": ("Filters",),
    "pincite.schemas.errors": (
        *("AnswerFailed", "IndexBroken", "IndexBusy", "ModelUnavailable", "NotFound", "PinciteError"),
        *("SourceError", "SpaceMismatch", "UnconfirmedLoss", "UsageError"),
    ),
    "pincite.schemas.records": ("Counts", "Hit"),
    "pincite.schemas.settings": ("Settings",),
    "pincite.storage.queries.index_report": ("DocumentReport", "IndexReport"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [  # noqa: PLE0604  names are text
    "__version__",
    *_HOME_OF,
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        found: object = version("pincite")
    elif name in _HOME_OF:
        from importlib import import_module

        found = getattr(import_module(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"module 'pincite' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
