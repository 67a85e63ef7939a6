"""Records of an evaluation: questions with their ground truth."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a set. Without ground truth (needle, pages and chunk ids all empty) it must be refused."""

    id: str  # stable within its set
    question: str
    needle: str = ""  # a sentence of the canonical text that answers it, word for word
    document: str = ""  # path of the document that holds the needle; "" when the set does not say
    kind: str = ""  # of a question: its phrasing; of one to be refused: off-topic, near-miss, ...
    pages: tuple[int, ...] = ()  # 1-based pages of `document` that answer it, where a set judges by page
    chunk_ids: tuple[str, ...] = ()  # chunks that answer it, where a set judges by chunk

    @property
    def answerable(self) -> bool:
        return bool(self.needle or self.pages or self.chunk_ids)


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions in their order; `sha256` is of the file's bytes."""

    name: str
    sha256: str
    questions: tuple[Question, ...]
