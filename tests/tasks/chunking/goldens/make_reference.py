"""Writes reference_e.json: what the founding `chunkDocument` says about small texts.

    python tests/tasks/goldens/make_reference.py /work/shared/seeds/003_d5dcb2c38efb4355.txt      # needs node
    python tests/tasks/goldens/make_reference.py /work/shared/seeds/003_d5dcb2c38efb4355.txt --fuzz 20000

The function is taken out of the founding document and its types are stripped. A character beyond U+FFFF is
replaced by one private-use character before it runs, so that its lengths and offsets are code points, which is
what the specification counts. `--fuzz N` compares N more texts with `tasks.chunking.reference` and writes nothing.
"""

import json
import random
import re
import subprocess
import sys
from pathlib import Path

from pincite.tasks.chunking.reference import boundary_cuts

HERE = Path(__file__).parent
STAND_IN = "\ue000"
RUN = """
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
const answers = cases.map(([doc, title, target]) => chunkDocument(doc, title, target));
process.stdout.write(JSON.stringify(answers.map((chunks) => chunks.map((c) => [c.from, c.to, c.text, c.section]))));
"""
ALPHABET = [
    *"aB1 .!?\n\n\n#-é中。",
    "\n## ",
    "## ",
    "### ",
    "\n\n",
    "\r\n",
    "\r",
    "\r\n\r\n",
    "\u2028",
    "\u2029",
    "\ufeff",
    "\x85",
    "\x1c",
    "\x0b",
    "\x0c",
    "\u00a0",
    "\u3000",
    "\u180e",
    "\u200b",
    "😀",
    "e\u0301",
    "3.14",
    "e.g. ",
    "```\n## code\n```\n",
    "Sentence one. ",
    "a word or two ",
]


def javascript(seed: Path) -> str:
    text = seed.read_text(encoding="utf-8")
    source = text[text.index("export function chunkDocument") :]
    source = source[: source.index("\n}\n") + 3]
    for typed, plain in [
        (r"^export ", ""),
        (r"\): Chunked\[\] \{", ") {"),
        (r": Chunked\[\] =", " ="),
        (r": \[number, number\] \| null", ""),
        (r"(doc|docTitle): string", r"\1"),
        (r"(from|to): number", r"\1"),
        (r"index!", "index"),
    ]:
        source = re.sub(typed, plain, source, flags=re.MULTILINE)
    return source


def founding_chunks(seed: Path, cases: list[list[object]]) -> list[list[list[object]]]:
    """For each (document, title, target) the chunks as [from, to, text, section]."""
    plain = [[_without_astral(str(document)), title, target] for document, title, target in cases]
    done = subprocess.run(
        ["node", "-e", javascript(seed) + RUN],
        input=json.dumps(plain),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def _without_astral(text: str) -> str:
    return "".join(STAND_IN if character > "\uffff" else character for character in text)


def random_texts(count: int, seed: int) -> list[list[object]]:
    draw = random.Random(seed)
    return [
        ["".join(draw.choices(ALPHABET, k=draw.randrange(60))), "Title", draw.choice([1, 8, 20, 40, 80])]
        for _ in range(count)
    ]


def ported(document: str, title: str, target: int) -> list[list[object]]:
    return [
        [cut.start, cut.end, f"[{cut.header}]\n{document[cut.start : cut.end]}", cut.section]
        for cut in boundary_cuts(document, title, target)
    ]


def main(seed: Path, fuzz: int) -> None:
    cases = random_texts(fuzz or 60, seed=fuzz or 1)
    if not fuzz:
        cases.append([seed.read_text(encoding="utf-8")[:6000], "RAG", 512])
    answers = founding_chunks(seed, cases)
    if not fuzz:
        lines = [
            json.dumps([*case, answer], ensure_ascii=True)
            for case, answer in zip(cases, answers, strict=True)
        ]
        (HERE / "reference_e.json").write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
        return
    chunks = 0
    for (document, title, target), answer in zip(cases, answers, strict=True):
        mine = ported(_without_astral(str(document)), str(title), int(str(target)))
        chunks += len(mine)
        if mine != answer:
            raise SystemExit(
                f"differs on {document!r} at target {target}:\nfounding {answer}\nported   {mine}"
            )
    print(f"{fuzz} texts, {chunks} chunks, all equal")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[3]) if "--fuzz" in sys.argv else 0)
