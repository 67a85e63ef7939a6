"""How far each question of a set is from what it finds: what a threshold is chosen by."""

from dataclasses import dataclass, replace

from pincite.evaluation.checking import check_snapshot, sound
from pincite.evaluation.evaluated_index import open_subject
from pincite.evaluation.passages import ground_truth
from pincite.evaluation.refusal import Distances
from pincite.evaluation.scoring import distances_of
from pincite.retrieval.ranking import Mode
from pincite.schemas.evaluation import Fault, QuestionSet
from pincite.schemas.settings import Settings
from pincite.storage.snapshots.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Grouped:
    """The distances of one question; phrasings of one needle share a `group`."""

    distances: Distances
    group: str


@dataclass(frozen=True, slots=True)
class Far:
    """The sound questions of a set, and why the others were left out."""

    questions: tuple[Grouped, ...]
    faults: tuple[Fault, ...]
    unjudged: tuple[str, ...]  # ids of questions that name chunks of another chunker or revision


def measure_distances(
    snapshot: Snapshot, settings: Settings, questions: QuestionSet, mode: Mode = "hybrid"
) -> Far:
    """Each question asked once in this mode, dense or hybrid. Raises `SpaceMismatch` and `ModelUnavailable`."""
    subject = open_subject(snapshot, settings)
    faults = check_snapshot(snapshot, questions)
    usable = sound(questions, faults).questions
    grounds, unjudged = subject.passages.grounds(usable, "content")
    evidence = {ground.question.id: ground.rows(subject.grows(mode)) for ground in grounds}
    judged = [one for one in usable if one.id not in unjudged]
    found = []
    for question, vector in zip(judged, subject.embed(judged) if judged else (), strict=True):
        listed = subject.ranker.rank(question.question, vector, (mode,))[mode]
        right = evidence.get(question.id, frozenset())
        distances = distances_of(question, listed, right)
        if mode == "hybrid":
            ranker = subject.ranker
            distances = replace(
                distances,
                evidence=ranker.evidence(question.question, listed),
                evidence_other=ranker.evidence(question.question, listed, right),
            )
        group = repr(ground_truth(question)) if question.answerable else question.id
        found.append(Grouped(distances, group))
    return Far(tuple(found), tuple(faults), tuple(unjudged))
