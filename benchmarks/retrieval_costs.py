"""What the steps around the legs of a search cost: snapshot, filters, folding, reranking, fitness.

python -m benchmarks.retrieval_costs [CHUNKS]     a minute; wall and CPU milliseconds, medians
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.retrieval_index import make_index
from pincite.encoders.fitness import measure_fitness
from pincite.encoders.models import resolve_model
from pincite.encoders.offline import stay_offline
from pincite.encoders.wordpieces import WordPieces
from pincite.retrieval.filters import Filters
from pincite.retrieval.rerank import resolve_reranker, score
from pincite.retrieval.searcher import open_index
from pincite.schemas.settings import DEFAULT_MODEL, Settings
from pincite.storage.snapshots.index import Index
from pincite.tasks.steps.plan import space_of

WORDS = 90  # a chunk


def median_ms(function: Callable[[], object], times: int = 15) -> tuple[float, float]:
    """(wall, CPU) of one call, after one that fills the caches."""
    function()
    walls, cpus = [], []
    for _ in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        function()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return statistics.median(walls) * 1e3, statistics.median(cpus) * 1e3


def show(name: str, function: Callable[[], object], times: int = 15) -> None:
    wall, cpu = median_ms(function, times)
    print(f"{name:60} {wall:9.2f} ms wall {cpu:9.2f} ms CPU")


def searches(path: Path) -> None:
    with Index.open(path) as index:

        def snapshot() -> None:
            with index.snapshot() as fresh:
                assert len(fresh.keys.documents)

        def documents() -> None:
            with index.snapshot() as fresh:
                assert fresh.documents()

        show("a snapshot and its live keys", snapshot)
        show("all its documents, which filters need once a version", documents)
        with index.snapshot() as kept:
            ids = [document.document_id for document in kept.documents()[:10]]
        show("looking for a newer version", lambda: index.newer_snapshot(kept.version))
        show("stale marks of ten documents", lambda: index.stale_reasons(kept, ids))
    filters = {
        "no filter": Filters(),
        "folder, 5 % of the documents": Filters(folders=("f3",)),
        "glob that all pass": Filters(documents=("*.txt",)),
        "minimum OCR confidence": Filters(min_ocr_confidence=60),
    }
    with open_index(path) as searcher:
        query = "w1 w17 w230 w4011"
        for mode in ("bm25", "hybrid"):
            for name, chosen in filters.items():
                show(f"{mode}, {name}", lambda m=mode, f=chosen: searcher.search(query, mode=m, filters=f))  # type: ignore[misc]
            show(f"{mode}, not folded", lambda m=mode: searcher.search(query, mode=m, fold_duplicates=False))  # type: ignore[misc]


def reranking(folder: Path) -> None:
    """Random weights in the shape of ms-marco-MiniLM-L-6-v2: the cost is the same, the order means nothing."""
    stay_offline()
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    tokenizer = AutoTokenizer.from_pretrained(resolve_model(DEFAULT_MODEL).folder)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
        num_labels=1,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    reranker = resolve_reranker(str(folder))
    passage = "the pump is switched off before any work on the casing or the valve is begun by the crew "
    passages = [passage * 7 + str(number) for number in range(25)]
    torch.set_num_threads(1)
    show(
        f"rerank 25 passages of {len(passages[0])} characters, one thread",
        lambda: score("why?", passages, reranker),
        3,
    )


def fitness() -> None:
    wordpieces = WordPieces(resolve_model(DEFAULT_MODEL))
    texts = ["the pump is switched off before any work on the casing " * 10] * 500
    show("fitness of a document of 500 chunks of 550 characters", lambda: measure_fitness(texts, wordpieces))
    show("word-pieces of all its chunks, which chunking counts", lambda: wordpieces.count_many(texts))


def main() -> None:
    chunks = int(sys.argv[1]) if len(sys.argv) > 1 else 15_000
    with tempfile.TemporaryDirectory() as folder:
        make_index(Path(folder) / "index", space_of(resolve_model(DEFAULT_MODEL), Settings()), chunks, WORDS)
        print(f"{chunks} chunks")
        searches(Path(folder) / "index")
        reranking(Path(folder) / "reranker")
    fitness()


if __name__ == "__main__":
    main()
