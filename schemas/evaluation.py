"""Records of an evaluation: questions with their ground truth, and what was measured with them."""

from dataclasses import dataclass
from typing import Literal, get_args

from pincite.schemas.records import Space


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a set. Without ground truth (no needle, pages, chunk ids or documents) it must be refused."""

    id: str  # stable within its set
    question: str
    needle: str = ""  # a sentence of the canonical text that answers it, word for word
    document: str = ""  # path of the document that holds the needle; "" when the set does not say
    kind: str = ""  # of a question: its phrasing; of one to be refused: off-topic, near-miss, ...
    pages: tuple[int, ...] = ()  # 1-based pages of `document` that answer it, where a set judges by page
    chunk_ids: tuple[str, ...] = ()  # chunks that answer it, where a set judges by chunk
    documents: tuple[
        str, ...
    ] = ()  # with a needle: the copies that hold it; else any passage of these answers it
    needles: tuple[str, ...] = ()  # further sentences, each of which answers it too; anywhere in the index

    @property
    def answerable(self) -> bool:
        return bool(self.needle or self.pages or self.chunk_ids or self.documents)


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions in their order; `sha256` is of the file's bytes."""

    name: str
    sha256: str
    questions: tuple[Question, ...]


FaultCode = Literal["not-in-text", "repeated", "heading", "no-document", "no-page", "no-chunk", "other"]


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a question is left out of an evaluation (`pincite.evaluation.checking`)."""

    id: str  # of the question
    code: FaultCode  # not-in-text: its words are in no canonical text; never written, or lost in extraction
    reason: str  # for a person, with the remedy


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `of` with its 95 % Wilson interval; value and interval are None when `of` is 0."""

    count: int
    of: int
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean of values in [0, 1] with a 95 % bootstrap interval over needles; None without values."""

    of: int
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Strategy:
    """One configuration that was measured."""

    name: str  # "structural" is the index as it is in hybrid mode; "E", "structural/bm25", "structural@use"
    chunker: str
    model: str
    mode: str  # hybrid, dense or bm25
    rerank: bool = False


@dataclass(frozen=True, slots=True)
class Cost:
    """What the chunks of an index cost the encoder, counted in word-pieces without special tokens."""

    chunks: int
    tokens: int  # of all embedded texts
    header_tokens: int
    overlap_tokens: int
    header_share: float | None  # of `tokens`; None for an index without chunks
    over_window: int  # chunks longer than the encoder's window
    cut_tokens: int  # that the encoder never read


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """What became of one answerable question under one strategy."""

    id: str
    rank: int | None  # 1-based, of the first correct passage; None when none is among the first 20
    destroyed: bool  # no chunk holds its needle whole, by what the evaluation judges


@dataclass(frozen=True, slots=True)
class StrategyScores:
    """What one strategy reached. A correct passage holds the whole needle (or is a page or chunk that is named)."""

    strategy: Strategy
    recall: dict[int, Share]  # by k: questions with a correct passage among the first k
    mrr: Mean  # of the first correct passage, 0 beyond the first 20
    destroyed: Share  # needles that no chunk's content holds whole, of distinct needles
    destroyed_in_text: Share  # the same, judged by what is embedded: header and overlap count
    unjudged: tuple[
        str, ...
    ]  # ids of questions that this strategy can't be judged by (chunks of another chunker)
    cost: Cost
    outcomes: tuple[QuestionOutcome, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two strategies on the same questions. `won` and `lost` are ids, seen from `second`."""

    stage: str  # what differs: boundaries, overlap, header, default, dense, bm25, fusion, rerank, model
    first: str  # names of strategies
    second: str
    metric: str  # recall@1, recall@4, recall@8, recall@20, destroyed
    of: int  # questions, or needles for `destroyed`
    needles: int  # distinct ones among them: two phrasings of one needle are not independent
    won: tuple[str, ...]  # only `second` found it (destroyed: only `first` destroyed it)
    lost: tuple[str, ...]
    p: float | None  # exact two-sided sign test on the discordant ones; None without any
    p_holm: float | None  # corrected over all pairs of this metric
    resolvable: bool  # False under six discordant ones: no outcome could have been significant


@dataclass(frozen=True, slots=True)
class StageFinding:
    """Whether one stage pays, in words with the numbers."""

    stage: str
    pays: Literal["yes", "no", "not resolved"]
    words: str


Judge = Literal["content", "text"]
"""Where a needle must stand whole: in what a chunk quotes, or in what was embedded (the founding measurement)."""

LossStage = Literal[
    "not extracted",
    "destroyed by chunking",
    "truncated by the encoder",
    "not in dense top k",
    "not in BM25 top k",
    "in neither leg",
    "lost in fusion",
    "refused",
    "folded away",
    "lost in windows",
    "lost in rerank",
]
LOSS_STAGES: tuple[LossStage, ...] = get_args(LossStage)
"""In the order in which a question travels."""


def shown_stage(stage: LossStage) -> str:
    """What a person reads of it; the name itself is in results that are kept, and stays."""
    return "in neither ranking" if stage == "in neither leg" else stage


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage in a drill-down."""

    chunk_id: str
    document: str
    locator: str
    content: str
    rank: int | None  # in the list that was returned; None when it was not
    dense_rank: int | None
    bm25_rank: int | None
    cosine_distance: float | None


@dataclass(frozen=True, slots=True)
class Loss:
    """One question that the main strategy missed, and the first stage that lost it."""

    question: Question
    stage: LossStage
    words: str  # what happened, with the numbers
    evidence: tuple[
        ShownPassage, ...
    ]  # the passages that would have been right; of a destroyed needle its parts
    returned: tuple[ShownPassage, ...]  # what came first instead, at most `k`


@dataclass(frozen=True, slots=True)
class Bluffs:
    """Questions of one kind that must be refused, and how many were answered."""

    kind: str
    answered: int
    of: int


@dataclass(frozen=True, slots=True)
class RefusalPoint:
    """One threshold of the sweep."""

    threshold: float  # cosine distance
    right: int  # answerable, and a correct passage is among the at most four under the cut
    wrong: int  # answerable and answered, but without a correct passage
    refused: int  # answerable and wrongly refused
    bluffs: tuple[Bluffs, ...]  # by kind, sorted; kind "" is that of questions without one
    removed: Bluffs  # the control: answerable questions with their evidence hidden, kind "evidence removed"


@dataclass(frozen=True, slots=True)
class Tallied:
    """How many questions an evaluation used."""

    questions: int  # in the file
    answerable: int  # judged
    needles: int  # distinct ground truths among them
    unanswerable: int  # that must be refused
    left_out: int  # faulty


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All that one run of `pincite evaluate` found. Holds no time: two runs are equal."""

    set_name: str
    set_sha256: str
    judge: Judge
    version: int  # of the index
    space: Space
    documents: int
    tally: Tallied
    threshold: float  # cosine distance, that `bluffed` and losses by refusal go by
    k: int  # of the loss ledger
    main: str  # name of the strategy that is the index as it is
    strategies: tuple[StrategyScores, ...]  # the main one first
    pairs: tuple[Pair, ...]
    findings: tuple[StageFinding, ...]
    losses: tuple[Loss, ...]
    refusal: tuple[RefusalPoint, ...]  # by threshold
    bluffed: tuple[str, ...]  # ids of unanswerable questions that are answered at `threshold`
    refused: tuple[str, ...]  # ids of answerable questions that are refused at `threshold`
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]  # what was not done, and why


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a candidate may take the place of a baseline."""

    ok: bool
    baseline: str
    candidate: str
    pairs: tuple[Pair, ...]  # first is the baseline
    destroyed: tuple[str, ...]  # ids whose answer the baseline had whole and the candidate has not
    bluffed: tuple[str, ...]  # ids that only the candidate answers and must not
    reasons: tuple[str, ...]  # for a person, each names its questions; () when ok
    notes: tuple[str, ...]  # what could not be compared


Role = Literal["answerable", "unanswerable", "left out"]


@dataclass(frozen=True, slots=True)
class Judged:
    """One stored row: what became of one question under one strategy. What is not measured is None."""

    strategy: str
    question_id: str
    question_kind: str
    question_sha256: str  # of the question and its ground truth: tells whether two sets ask the same
    ground: str  # what it is judged by, and a digest of that: phrasings of one needle share it; "" for none
    role: Role
    rank: int | None = None  # of an answerable one
    destroyed: bool | None = None
    answered: bool | None = None  # whether any passage lay under the threshold; only of the main strategy
    fault: str | None = None  # code of one that was left out


@dataclass(frozen=True, slots=True)
class Result:
    """An evaluation as it is kept: who was measured on what, and a row a question and strategy."""

    name: str  # of its file, without the suffix: version and digest
    set_name: str
    set_sha256: str
    judge: str
    version: int
    space: Space
    documents: int
    threshold: float
    k: int
    main: str
    rows: tuple[Judged, ...]
