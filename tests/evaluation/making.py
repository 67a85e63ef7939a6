"""Evaluations as records, made from a seed: what a page shows does not depend on an index."""

import random
from dataclasses import replace

from pincite.evaluation.comparing import compare, findings_of, stages_of
from pincite.evaluation.statistics import clustered_mean, share
from pincite.schemas.evaluation import (
    Bluffs,
    Cost,
    Evaluation,
    Fault,
    Loss,
    Question,
    QuestionOutcome,
    RefusalPoint,
    ShownPassage,
    Strategy,
    StrategyScores,
    Tallied,
)
from pincite.schemas.records import Space
from pincite.tasks.chunking.chunk import STRATEGIES

SPACE = Space("all-MiniLM-L6-v2", "f" * 64, 384, 256, "1", "structural", "words-1")
QUESTIONS = tuple(
    Question(
        f"{number // 2 + 1:02}-{('course', 'ticket')[number % 2]}",
        f"What is said about thing {number // 2}?",
        f"Thing {number // 2} is said here.",
        "manual.md",
    )
    for number in range(80)
)
SKILL = {"A": 0.45, "B": 0.46, "C": 0.6, "D": 0.58, "E": 0.66, "F": 0.62, "structural": 0.72}
LEGS = {"structural/dense": 0.68, "structural/bm25": 0.5}


def made_evaluation(chunkers: bool = True) -> Evaluation:
    draw = random.Random(5)
    names = [*(SKILL if chunkers else ("structural",)), *LEGS]
    scores = {name: _scores(name, draw) for name in names}
    pairs = compare(stages_of("structural", "structural", scores), scores, QUESTIONS)
    return Evaluation(
        set_name="made-up",
        set_sha256="a" * 64,
        judge="content",
        version=7,
        space=SPACE,
        documents=12,
        tally=Tallied(121, 80, 40, 40, 1),
        threshold=0.675,
        k=4,
        main="structural",
        strategies=tuple(sorted(scores.values(), key=lambda one: one.strategy.name != "structural")),
        pairs=tuple(pairs),
        findings=tuple(findings_of(pairs, scores, "content")),
        losses=_losses(),
        refusal=tuple(_point(place / 40) for place in range(8, 41)),
        bluffed=("near-miss-03", "off-topic-01"),
        refused=("08-ticket",),
        faults=(Fault("99-course", "repeated", "the expected sentence stands 2 times"),),
        notes=("reranking was not measured: no weights",),
    )


def empty_evaluation() -> Evaluation:
    """Of a set without answerable questions."""
    scores = {"structural": replace(_scores("structural", random.Random(0)), outcomes=())}
    nothing = replace(
        scores["structural"],
        recall={k: share(0, 0) for k in (1, 4, 8, 20)},
        mrr=clustered_mean([], []),
        destroyed=share(0, 0),
        destroyed_in_text=share(0, 0),
    )
    refusal = (RefusalPoint(0.6, 0, 0, 0, (Bluffs("", 1, 3),), Bluffs("evidence removed", 0, 0)),)
    return replace(
        made_evaluation(chunkers=False),
        strategies=(nothing,),
        pairs=(),
        findings=(),
        losses=(),
        refusal=refusal,
        faults=(),
        notes=(),
        tally=Tallied(3, 0, 0, 3, 0),
    )


def _scores(name: str, draw: random.Random) -> StrategyScores:
    chunker, _, leg = name.partition("/")
    skill = LEGS.get(name, SKILL[chunker])
    outcomes = tuple(
        QuestionOutcome(question.id, _rank(draw, skill), destroyed=chunker in "AB" and number % 10 < 2)
        for number, question in enumerate(QUESTIONS)
    )
    ranks = [one.rank for one in outcomes]
    place = STRATEGIES.index(chunker)
    return StrategyScores(
        strategy=Strategy(name, chunker, SPACE.model, leg or "hybrid"),
        recall={k: share(sum(rank is not None and rank <= k for rank in ranks), 80) for k in (1, 4, 8, 20)},
        mrr=clustered_mean([1 / rank if rank else 0.0 for rank in ranks], [n // 2 for n in range(80)]),
        destroyed=share(8 if chunker in "AB" else 0, 40),
        destroyed_in_text=share(8 if chunker == "A" else 0, 40),
        unjudged=(),
        cost=Cost(
            900 + place, 110_000 + place * 1_000, 23_000, 0, 0.21 if chunker in "EFs" else 0.0, place, 40
        ),
        outcomes=outcomes,
    )


def _rank(draw: random.Random, skill: float) -> int | None:
    found = draw.random()
    return 1 if found < skill / 2 else draw.randint(2, 20) if found < skill else None


def _point(threshold: float) -> RefusalPoint:
    answered = min(80, int(110 * max(0.0, threshold - 0.2)))
    right = int(answered * 0.8)
    near, off = min(25, int(40 * max(0.0, threshold - 0.35))), min(15, int(30 * max(0.0, threshold - 0.6)))
    bluffs = (Bluffs("near-miss", near, 25), Bluffs("off-topic", off, 15))
    removed = Bluffs("evidence removed", min(80, int(100 * max(0.0, threshold - 0.3))), 80)
    return RefusalPoint(threshold, right, answered - right, 80 - answered, bluffs, removed)


def _losses() -> tuple[Loss, ...]:
    stages = ("destroyed by chunking", "in neither leg", "in neither leg", "lost in fusion", "refused")
    hostile = Question(
        "07-ticket", '<script>alert("q")</script>?', "the <b>needle</b> &\u202e here", "a<b>.md"
    )
    asked = (hostile, *QUESTIONS[20:24])
    right = ShownPassage("c1", "a<b>.md", "#char=10,60", "the <b>needle</b>\n& here", None, 31, 44, 0.61)
    other = ShownPassage("c2", "manual.md", "#page=3", "Something near that does not say it.", 1, 1, 2, 0.48)
    return tuple(
        Loss(question, stage, f"lost {stage}", (right,), (other,))  # type: ignore[arg-type]
        for question, stage in zip(asked, stages, strict=True)
    )
