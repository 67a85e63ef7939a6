"""Counts the word-pieces that a model sees, without loading the model."""

from collections.abc import Iterator, Sequence

from tokenizers import Encoding, Tokenizer

from encoders.models import Model

_UNKNOWN = ("[UNK]", "<unk>")  # of BERT, and of SentencePiece models such as multilingual E5
_BATCH = 512  # texts encoded at once: bounds memory on a document of many megabytes


class WordPieces:
    """The tokenizer of `model`, truncation and padding off."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._tokenizer = Tokenizer.from_file(str(model.folder / "tokenizer.json"))
        self._tokenizer.no_truncation()  # tokenizer.json of MiniLM cuts at 128
        self._tokenizer.no_padding()

    def count(self, text: str) -> int:
        """Word-pieces of `text`, special tokens included; 2 for "" in a BERT model."""
        return len(self._tokenizer.encode(text).ids)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """`count` of each text, in order."""
        return [len(encoding.ids) for encoding in self._encoded(texts)]

    def _encoded(self, texts: Sequence[str]) -> Iterator[Encoding]:
        for first in range(0, len(texts), _BATCH):
            yield from self._tokenizer.encode_batch_fast(list(texts[first : first + _BATCH]))

    def unknown(self, texts: Sequence[str]) -> int:
        """How many word-pieces of `texts` the model has no word for; 0 where its vocabulary covers all."""
        found = (self._tokenizer.token_to_id(name) for name in _UNKNOWN)
        unknown = next((piece for piece in found if piece is not None), None)
        if unknown is None:
            return 0
        return sum(encoding.ids.count(unknown) for encoding in self._encoded(texts))
