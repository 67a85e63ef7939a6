"""The default model is run without sentence-transformers, and gives the vectors that it gives."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pincite.encoders.bert_engine import BertVectors
from pincite.encoders.embedding import _sentence_transformers, load_embedder
from pincite.encoders.models import Model, resolve_model
from pincite.schemas.errors import ModelUnavailable
from pincite.schemas.settings import DEFAULT_MODEL

TEXTS = [
    "",
    "😀",
    " a  b\n c\t",
    "Ünïcode and naïve, 泵的密封件磨损时",
    "a\0b \ufeffc \u200bd",
    "[SEP] [MASK] a prompt that looks special",
    "word " * 600,
    *(f"passage {number} about the seal of pump {number % 7}. " * (number % 9 + 1) for number in range(40)),
]


@pytest.fixture(scope="module")
def model() -> Model:
    return resolve_model(DEFAULT_MODEL)


@pytest.mark.parametrize("prompt", ["", "passage: "])
def test_vectors_are_those_of_sentence_transformers(model: Model, prompt: str) -> None:
    prompted = replace(model, document_prompt=prompt)
    ours = BertVectors(prompted, threads=1).documents(TEXTS)
    theirs = _sentence_transformers(prompted, threads=1).documents(TEXTS)
    assert ours.dtype == np.float32
    assert np.abs(ours - theirs).max() < 1e-6


def test_the_default_model_needs_no_sentence_transformers() -> None:
    code = (
        "import sys\n"
        "from pincite.encoders.embedding import load_embedder\n"
        "from pincite.encoders.models import resolve_model\n"
        "load_embedder(resolve_model('all-MiniLM-L6-v2'), threads=1).embed_query('a')\n"
        "print(sorted({'sentence_transformers', 'transformers', 'sklearn'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


@pytest.fixture
def copy(model: Model, tmp_path: Path) -> Path:
    """The files of the default model; its weights are a link."""
    folder = tmp_path / "copy"
    shutil.copytree(model.folder, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "model.safetensors").symlink_to(model.folder / "model.safetensors")
    return folder


def test_only_the_packaged_model_is_run_without_sentence_transformers(model: Model, copy: Path) -> None:
    named = resolve_model(str(copy))
    assert (model.kind, named.kind) == ("minilm", "sentence-transformers")
    assert named.fingerprint == model.fingerprint


def test_weights_that_lack_a_layer_are_unavailable(model: Model, copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text(encoding="utf-8"))
    (copy / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 7}), encoding="utf-8")
    with pytest.raises(ModelUnavailable, match=r"encoder\.layer\.6.*Copy the model again"):
        load_embedder(replace(model, folder=copy))
