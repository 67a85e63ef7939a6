"""A passage as one HTML page: its text with a mark, and the page images on which it stands.

The page runs no script and asks no host for anything; all text of documents is escaped.
"""

import base64
from collections.abc import Iterator, Sequence

from pincite.dashboard.views.passages import DocumentPassage
from pincite.schemas.counting import counted
from pincite.schemas.display import escaped, one_line
from pincite.tasks.extraction.pdf.page_record import IMAGE_TYPE
from pincite.tasks.inspection.passage_pages import PassagePage

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light dark; --ground: #f6f6f3; --card: #fff; --ink: #1c1d20; --soft: #62656d; --line: #dcdcd6;
  --mark: #ffe27a; }
@media (prefers-color-scheme: dark) { :root { --ground: #16171a; --card: #1f2125; --ink: #e6e6e3; --soft: #9da1aa;
  --line: #34373d; --mark: #6d5710; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1.25rem; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.4rem; overflow-wrap: anywhere; }
header p { margin: .2rem 0; color: var(--soft); overflow-wrap: anywhere; }
.text, figure { margin: 1.25rem 0; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
.text { padding: 1rem 1.25rem; white-space: pre-wrap; overflow-wrap: anywhere; }
mark { background: var(--mark); color: inherit; }
.rest { color: var(--soft); }
figure { padding: .5rem; }
figcaption { color: var(--soft); font-size: .85rem; }
.paper { position: relative; }
.paper img, .paper svg { display: block; width: 100%; height: 100%; position: absolute; inset: 0; }
.paper polygon { fill: #ffc400; fill-opacity: .35; stroke: #b37400; stroke-width: .5; }
.missing { margin: 1rem 0; padding: .6rem .9rem; border: 1px solid #b3261e; border-radius: .5rem; }
"""


def page_of_passage(passage: DocumentPassage, pages: Sequence[PassagePage] = (), missing: str = "") -> str:
    """The whole page. `missing`: why a document with pages is shown without their images."""
    name = escaped(one_line(passage.document))
    places = " ".join(f"<code>{escaped(place)}</code>" for place in passage.places)
    places += f", {passage.over}" if passage.over else ""
    why = escaped(missing if pages else f"No page image: {missing}")
    notes = [f'<p class="missing" role="alert">{why}</p>'] if missing else []
    if passage.stale:
        notes.append(f'<p class="missing" role="alert">Stale: {escaped(passage.stale)}</p>')
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{name} – Pincite</title>",
            f"<style>{_STYLE}</style></head><body>",
            f"<header><h1><bdi>{name}</bdi></h1><p><bdi>{escaped(one_line(passage.title))}</bdi></p>"
            f"<p>{places}, version {passage.version} of the index</p></header>",
            *notes,
            f'<div class="text" dir="auto">{_rest(passage.start - len(passage.before), "before")}'
            f'{escaped(passage.before)}<mark id="passage">{escaped(passage.quote)}</mark>'
            f"{escaped(passage.after)}{_rest(passage.left, 'after')}</div>",
            *(line for page in pages for line in _figure(page)),
            "</body></html>",
            "",
        ]
    )


def _rest(characters: int, where: str) -> str:
    return f'<span class="rest">[{counted(characters, "character")} {where}] </span>' if characters else ""


def _figure(page: PassagePage) -> Iterator[str]:
    if page.width <= 0 or page.height <= 0 or not page.image:
        yield f'<p class="missing">Page {page.number} has no image. {escaped(page.missing)}</p>'
        return
    data = base64.b64encode(page.image).decode("ascii")
    yield f'<figure><div class="paper" style="aspect-ratio:{page.width:.1f}/{page.height:.1f}">'
    yield f'<img alt="Page {page.number}" src="data:{IMAGE_TYPE};base64,{data}">'
    yield f'<svg viewBox="0 0 {page.width:.1f} {page.height:.1f}" preserveAspectRatio="none" aria-hidden="true">'
    for corners in page.marked:
        yield f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in corners)}"/>'
    words = (
        f"{counted(len(page.marked), 'word')} marked"
        if page.marked
        else "the passage's words were not found on it"
    )
    yield f"</svg></div><figcaption>Page {page.number}, {words}</figcaption></figure>"
