"""Arrow schemas of the Parquet segments. A row's place in the source document never changes once written."""

import pyarrow as pa

_STAMPS = [
    pa.field("pipeline", pa.string(), nullable=False),
    pa.field("extractor", pa.string(), nullable=False),
    pa.field("extractor_version", pa.string(), nullable=False),
]

_KEY = [
    pa.field("document_id", pa.string(), nullable=False),
    pa.field("revision", pa.int32(), nullable=False),
]

TEXTS = pa.schema(
    [
        *_KEY,
        pa.field("title", pa.string(), nullable=False),
        pa.field("media_type", pa.string(), nullable=False),
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("source_sha256", pa.string(), nullable=False),
        pa.field(
            "blocks",
            pa.list_(
                pa.struct(
                    [
                        ("kind", pa.string()),
                        ("start", pa.int32()),
                        ("end", pa.int32()),
                        ("level", pa.int32()),
                        ("title", pa.string()),
                        ("repeat", pa.string()),
                    ]
                )
            ),
            nullable=False,
        ),
        pa.field(
            "places",
            pa.list_(
                pa.struct(
                    [
                        ("kind", pa.string()),
                        ("start", pa.int32()),
                        ("end", pa.int32()),
                        ("label", pa.string()),
                    ]
                )
            ),
            nullable=False,
        ),
        pa.field(
            "pages",
            pa.list_(
                pa.struct(
                    [
                        ("number", pa.int32()),
                        ("start", pa.int32()),
                        ("end", pa.int32()),
                        ("width", pa.float32()),
                        ("height", pa.float32()),
                        ("ocr", pa.bool_()),
                        ("ocr_confidence", pa.float32()),
                    ]
                )
            ),
            nullable=False,
        ),
        pa.field(
            "words",
            pa.list_(
                pa.struct(
                    [
                        ("start", pa.int32()),
                        ("end", pa.int32()),
                        ("confidence", pa.uint8()),
                        ("line_start", pa.bool_()),
                    ]
                )
            ),
            nullable=False,
        ),
        pa.field(
            "warnings",
            pa.list_(pa.struct([("code", pa.string()), ("message", pa.string()), ("page", pa.int32())])),
            nullable=False,
        ),
        *_STAMPS,
    ]
)


CHUNKS = pa.schema(
    [
        pa.field("chunk_id", pa.string(), nullable=False),
        *_KEY,
        pa.field("ordinal", pa.int32(), nullable=False),
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("content", pa.large_string(), nullable=False),
        pa.field("header", pa.string(), nullable=False),
        pa.field("section", pa.string(), nullable=False),
        pa.field("start", pa.int32(), nullable=False),
        pa.field("end", pa.int32(), nullable=False),
        pa.field("locator", pa.string(), nullable=False),
        pa.field("page_first", pa.int32()),
        pa.field("page_last", pa.int32()),
        pa.field("ocr_confidence", pa.float32()),
        pa.field("tokens", pa.int32(), nullable=False),
        pa.field("over_window", pa.bool_(), nullable=False),
        pa.field("terms", pa.int32(), nullable=False),
        pa.field("model", pa.string(), nullable=False),
        pa.field("fingerprint", pa.string(), nullable=False),
        pa.field("dimension", pa.int32(), nullable=False),
        pa.field("chunker", pa.string(), nullable=False),
        pa.field("tokenizer", pa.string(), nullable=False),
        *_STAMPS,
        pa.field("embedding", pa.list_(pa.float32()), nullable=False),
    ]
)

POSTINGS = pa.schema(
    [
        pa.field("term", pa.string(), nullable=False),
        *_KEY,
        pa.field("ordinal", pa.int32(), nullable=False),
        pa.field("tf", pa.int32(), nullable=False),
    ]
)

EVALUATIONS = pa.schema(
    [
        pa.field("set_name", pa.string(), nullable=False),
        pa.field("set_sha256", pa.string(), nullable=False),
        pa.field("judge", pa.string(), nullable=False),
        pa.field("version", pa.int64(), nullable=False),
        pa.field("model", pa.string(), nullable=False),
        pa.field("fingerprint", pa.string(), nullable=False),
        pa.field("dimension", pa.int32(), nullable=False),
        pa.field("window", pa.int32(), nullable=False),
        pa.field("pipeline", pa.string(), nullable=False),
        pa.field("chunker", pa.string(), nullable=False),
        pa.field("tokenizer", pa.string(), nullable=False),
        pa.field("documents", pa.int64(), nullable=False),
        pa.field("threshold", pa.float64(), nullable=False),
        pa.field("k", pa.int32(), nullable=False),
        pa.field("main", pa.string(), nullable=False),
        pa.field("strategy", pa.string(), nullable=False),
        pa.field("question_id", pa.string(), nullable=False),
        pa.field("question_kind", pa.string(), nullable=False),
        pa.field("question_sha256", pa.string(), nullable=False),
        pa.field("ground", pa.string(), nullable=False),
        pa.field("role", pa.string(), nullable=False),
        pa.field("rank", pa.int32()),
        pa.field("destroyed", pa.bool_()),
        pa.field("answered", pa.bool_()),
        pa.field("fault", pa.string()),
    ]
)
"""Kept evaluations (`schemas.evaluation.Result`): a row a question and strategy, under the stamps of the index."""

SEGMENT_SCHEMAS = {"texts": TEXTS, "chunks": CHUNKS, "postings": POSTINGS}


def chunk_id(document_id: str, revision: int, ordinal: int) -> str:
    """The id that orders chunks: by document, revision, then place in the text."""
    return f"{document_id}-{revision:06d}-{ordinal:06d}"


def document_of(chunk_id: str) -> str:
    """The document id that a chunk id begins with."""
    return chunk_id.rsplit("-", 2)[0]
