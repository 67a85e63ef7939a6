"""Small real indexes, as the tests of retrieval write them."""

from tests.retrieval.conftest import cross_encoder, live_space, minilm, small_index

__all__ = ["cross_encoder", "live_space", "minilm", "small_index"]
