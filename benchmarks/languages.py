"""How often the language of a text is told rightly, wrongly or not at all: the figures of docs/models.md.

python -m benchmarks.languages     half a minute

Texts: the sentences of languages.tsv (23 languages) and of models_passages.tsv (5 more). Short ones are their first
two, four and eight words (of scripts without spaces 6, 12 and 24 characters); long ones all sentences of a language.
"""

import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from scipy.stats import binomtest

from pincite.encoders import languages

_UNSPACED = ("zh", "ja", "th")


def read_sentences() -> dict[str, list[str]]:
    here = Path(__file__).parent
    sentences = defaultdict(list)
    for line in (here / "languages.tsv").read_text(encoding="utf-8").splitlines():
        language, sentence = line.split("\t")
        sentences[language].append(sentence)
    for line in (here / "models_passages.tsv").read_text(encoding="utf-8").splitlines():
        _, language, passage, question = line.split("\t")
        sentences[language] += [passage, question]
    return sentences


def beginning(language: str, sentence: str, words: int) -> str:
    return sentence[: 3 * words] if language in _UNSPACED else " ".join(sentence.split()[:words])


def cases(words: int | None) -> list[tuple[str, str]]:
    """(language, text); with None all sentences of a language as one text."""
    if words is None:
        return [(language, " ".join(texts)) for language, texts in read_sentences().items()]
    return [
        (language, beginning(language, text, words))
        for language, texts in read_sentences().items()
        for text in texts
    ]


def show(name: str, found: list[tuple[str, str]]) -> None:
    right = sum(told == language for language, told in found)
    unknown = sum(not told for _, told in found)
    wrong = len(found) - right - unknown
    low, high = binomtest(wrong, len(found)).proportion_ci(method="wilson")
    mistakes = Counter(f"{language}>{told}" for language, told in found if told not in ("", language))
    print(
        f"{name:12} n {len(found):4} right {right / len(found):.3f} unknown {unknown / len(found):.3f} "
        f"wrong {wrong} [{low:.3f}, {high:.3f}] {dict(mistakes.most_common(6))}"
    )


def main() -> None:
    print(f"{len(read_sentences())} languages")
    for cut in map(float, sys.argv[1:] or [languages.LEAST_PROBABILITY]):
        languages.LEAST_PROBABILITY = cut
        print(f"least probability {cut}")
        for name, words in (("2 words", 2), ("4 words", 4), ("8 words", 8), ("sentence", 99), ("long", None)):
            show(name, [(language, languages.language_of([text])) for language, text in cases(words)])
    texts = [text for _, text in cases(99)] * 10
    start = time.process_time()
    languages.language_of(texts)
    print(f"a document of {len(texts)} passages: {(time.process_time() - start) * 1e3:.1f} CPU ms")


if __name__ == "__main__":
    main()
