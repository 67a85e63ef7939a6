"""Counts the word-pieces that a model sees, without loading the model."""

from collections.abc import Iterator, Sequence

from tokenizers import Encoding, Tokenizer

from pincite.encoders.models import Model
from pincite.encoders.registry import pieces_of

_UNKNOWN = ("[UNK]", "<unk>")  # of BERT, and of SentencePiece models such as multilingual E5
_BATCH = 512  # texts encoded at once: bounds memory on a document of many megabytes


class WordPieces:
    """The tokenizer of `model`, truncation and padding off."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._pieces = pieces_of(model)

    def count(self, text: str) -> int:
        """Word-pieces of `text`, special tokens and the prompt of documents included; 2 for "" in a BERT model."""
        return self._pieces.count_many([text])[0]

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """`count` of each text, in order."""
        return self._pieces.count_many(texts)

    def unknown(self, texts: Sequence[str]) -> int:
        """How many word-pieces of `texts` the model has no word for; 0 where its vocabulary covers all."""
        return self._pieces.unknown(texts)


class FolderPieces:
    """The tokenizer.json of a folder."""

    def __init__(self, model: Model) -> None:
        self._prompt = model.document_prompt
        self._tokenizer = Tokenizer.from_file(str(model.folder / "tokenizer.json"))
        self._tokenizer.no_truncation()  # tokenizer.json of MiniLM cuts at 128
        self._tokenizer.no_padding()

    def count_many(self, texts: Sequence[str]) -> list[int]:
        whole = [self._prompt + text for text in texts] if self._prompt else texts
        return [len(encoding.ids) for encoding in self._encoded(whole)]

    def unknown(self, texts: Sequence[str]) -> int:
        found = (self._tokenizer.token_to_id(name) for name in _UNKNOWN)
        unknown = next((piece for piece in found if piece is not None), None)
        if unknown is None:
            return 0
        return sum(encoding.ids.count(unknown) for encoding in self._encoded(texts))

    def _encoded(self, texts: Sequence[str]) -> Iterator[Encoding]:
        for first in range(0, len(texts), _BATCH):
            yield from self._tokenizer.encode_batch_fast(list(texts[first : first + _BATCH]))
