"""Citations as W3C Web Annotations (https://www.w3.org/TR/annotation-model/), for tools that show them in place.

The source is the indexed file. A TextPositionSelector counts code points of the canonical text, which is the
source's own text only for plain text; a TextQuoteSelector finds the words in the source itself; a FragmentSelector
names the page or the time that a viewer can jump to.
"""

import uuid
from collections.abc import Sequence
from pathlib import PurePosixPath
from urllib.parse import quote

from pincite.schemas.locators import char_fragment
from pincite.storage.documents.texts import StoredText

CONTEXT = "http://www.w3.org/ns/anno.jsonld"
MEDIA_TYPE = 'application/ld+json; profile="http://www.w3.org/ns/anno.jsonld"'
NEIGHBOURS = 32  # characters before and after a quote that tell it from its repetitions
CONFORMS_TO = {
    "page": "http://tools.ietf.org/rfc/rfc3778",  # section 4.2.1 of the model names it for PDF
    "t": "http://www.w3.org/TR/media-frags/",
}

Json = dict[str, object]


def _address(source: str, path: str) -> str:
    """The URL of a document in a folder of this machine or in a bucket."""
    if "://" in source:
        return f"{source}/{quote(path)}"
    return PurePosixPath(source, path).as_uri()


def annotation(stored: StoredText, start: int, end: int, locator: str) -> Json:
    """One annotation of `text[start:end]`; its id is the same for the same place of the same text."""
    source = _address(stored.document.source, stored.document.path)
    text = stored.text
    name = f"{source}{char_fragment(start, end)} {stored.document.source_sha256}"
    selectors: list[Json] = [
        {"type": "TextPositionSelector", "start": start, "end": end},
        {
            "type": "TextQuoteSelector",
            "exact": text[start:end],
            "prefix": text[max(0, start - NEIGHBOURS) : start],
            "suffix": text[end : end + NEIGHBOURS],
        },
    ]
    fragment = locator.removeprefix("#")
    if standard := CONFORMS_TO.get(fragment.partition("=")[0]):
        selectors.append({"type": "FragmentSelector", "conformsTo": standard, "value": fragment})
    return {
        "@context": CONTEXT,
        "id": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, name)}",
        "type": "Annotation",
        "motivation": "highlighting",
        "target": {"source": source, "selector": selectors},
    }


def annotation_page(annotations: Sequence[Json]) -> Json:
    """Several annotations, in their order, as one AnnotationPage."""
    ids = " ".join(str(one["id"]) for one in annotations)
    items = [{key: value for key, value in one.items() if key != "@context"} for one in annotations]
    return {
        "@context": CONTEXT,
        "id": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, ids)}",
        "type": "AnnotationPage",
        "items": items,
    }
