"""Kept evaluations as the page and the API show them."""

from dataclasses import dataclass

from pincite.evaluation.results import Milestone, milestone
from pincite.schemas.errors import NotFound
from pincite.schemas.evaluation import Judged, Result
from pincite.storage.kept_evaluations import kept, kept_result, report_of
from pincite.storage.snapshots.index import Index

MAIN_CUT = 4  # passages that a reader is given
MOST_LISTED = 200


@dataclass(frozen=True, slots=True)
class Series:
    """The kept evaluations of one question set, oldest first."""

    name: str
    sha256: str
    milestones: tuple[Milestone, ...]


@dataclass(frozen=True, slots=True)
class KeptEvaluation:
    """One of them; of its questions at most `MOST_LISTED` that were lost, and as many bluffs."""

    made: Milestone
    lost: tuple[Judged, ...]  # not among the first `MAIN_CUT`
    bluffs: tuple[Judged, ...]  # answered, and should have been refused
    reported: bool  # whether its whole report is kept


def series_of(index: Index) -> tuple[Series, ...]:
    """By name of the set."""
    by_set: dict[tuple[str, str], list[Milestone]] = {}
    for result in kept(index.places.objects):
        made = milestone(result)
        by_set.setdefault((made.set_name, made.set_sha256), []).append(made)
    return tuple(Series(name, sha256, tuple(made)) for (name, sha256), made in sorted(by_set.items()))


def kept_evaluation(index: Index, name: str) -> KeptEvaluation:
    """Raises `NotFound` for a name that no kept evaluation has."""
    result = _result(index, name)
    main = [row for row in result.rows if row.strategy == result.main]
    return KeptEvaluation(
        milestone(result),
        tuple([row for row in main if _is_lost(row)][:MOST_LISTED]),
        tuple([row for row in main if row.role == "unanswerable" and row.answered][:MOST_LISTED]),
        reported=report_of(index.places.objects, name) is not None,
    )


def kept_report(index: Index, name: str) -> str:
    """Its whole report as a page. Raises `NotFound`, also where the report was not kept."""
    _result(index, name)
    html = report_of(index.places.objects, name)
    if html is None:
        raise NotFound(
            f"the report of the evaluation {name} was not kept: `pincite evaluate` keeps the next one's"
        )
    return html


def _result(index: Index, name: str) -> Result:
    result = kept_result(index.places.objects, name)
    if result is None:
        raise NotFound(f"no evaluation {name!r} is kept")
    return result


def _is_lost(row: Judged) -> bool:
    return row.role == "answerable" and (row.rank is None or row.rank > MAIN_CUT)
