import shutil
import subprocess
import sys

import numpy as np
import pytest

from pincite.encoders.embedding import load_embedder
from pincite.encoders.models import resolve_model
from pincite.schemas.errors import ModelUnavailable
from pincite.schemas.settings import DEFAULT_MODEL


@pytest.fixture(scope="module")
def embedder():
    return load_embedder(resolve_model(DEFAULT_MODEL), threads=1)


def test_vectors_are_float32_of_unit_length_in_the_order_of_the_texts(embedder):
    texts = ["short", "a much longer text about the weather " * 5, "", "😀", "short"]
    vectors = embedder.embed(texts)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5
    assert np.allclose(vectors[0], embedder.embed(["short"])[0], atol=1e-6)
    assert np.allclose(vectors[0], vectors[4], atol=1e-6)


def test_no_texts_give_no_rows(embedder):
    assert embedder.embed([]).shape == (0, 384)
    assert embedder.embed([]).dtype == np.float32


def test_published_similarities_are_reproduced(embedder):
    """https://sbert.net, quick start: all-MiniLM-L6-v2."""
    vectors = embedder.embed(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )
    published = [[1.0000, 0.6660, 0.1046], [0.6660, 1.0000, 0.1411], [0.1046, 0.1411, 1.0000]]
    assert np.abs(vectors @ vectors.T - published).max() < 2e-4


def test_cosine_distance_is_half_the_squared_distance(embedder):
    """Spec section 3; the founding measurement found at most 8.3e-07 over 40,000 pairs."""
    vectors = embedder.embed([f"passage number {n} about topic {n % 7}" for n in range(40)]).astype(
        np.float64
    )
    cosine = 1 - vectors @ vectors.T
    squared = ((vectors[:, None, :] - vectors[None, :, :]) ** 2).sum(axis=2)
    assert np.abs(cosine - squared / 2).max() < 1e-6
    assert squared.max() > 0.1


def test_all_256_word_pieces_count_and_no_more(embedder):
    text = "the cat sat on the mat and looked at the sea " * 40
    words = text.split()
    full, beyond, half = embedder.embed([" ".join(words[:254]), " ".join(words[:300]), " ".join(words[:126])])
    assert np.allclose(full, beyond, atol=1e-6)
    assert not np.allclose(full, half, atol=1e-3)


def test_the_same_texts_give_the_same_bytes(embedder):
    texts = [f"text {n} " * (n % 5 + 1) for n in range(20)]
    assert embedder.embed(texts).tobytes() == embedder.embed(texts).tobytes()


def test_a_query_is_one_vector(embedder):
    vector = embedder.embed_query("weather")
    assert vector.shape == (384,)
    assert np.allclose(vector, embedder.embed(["weather"])[0], atol=1e-6)


def test_damaged_weights_are_unavailable(embedder, tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(embedder.model.folder, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(ModelUnavailable, match=r"damaged in .* can't be loaded: .* Copy the model again"):
        load_embedder(resolve_model(str(folder)))


def test_loading_is_silent_and_offline():
    code = (
        "import socket\n"
        "def refuse(*a, **k): raise AssertionError('a connection was opened')\n"
        "socket.socket.connect = refuse\n"
        "from pincite.encoders.embedding import load_embedder\n"
        "from pincite.encoders.models import resolve_model\n"
        "load_embedder(resolve_model('all-MiniLM-L6-v2'), threads=1).embed(['a'] * 20)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
