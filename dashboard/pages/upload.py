"""Uploads from the page: a new file, or one in place of a document's."""

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import Response

from dashboard.guard import UPLOAD
from dashboard.runs import Wish
from dashboard.serving import Served, Serving
from dashboard.templating import page
from dashboard.uploads import checked_name, put
from schemas.errors import NotFound
from storage.collections import read_collections
from storage.listing import document_of

WRITE_S = 600.0  # longest time in which an upload is copied to its folder
router = APIRouter(include_in_schema=False)


@router.post(UPLOAD)
async def upload(
    request: Request,
    served: Served,
    file: Annotated[UploadFile, File()],
    collection: Annotated[str, Form(max_length=500)] = "",
    document: Annotated[str, Form(max_length=200)] = "",
    replace: Annotated[str, Form(max_length=10)] = "",
    run: Annotated[str, Form(max_length=10)] = "",
) -> Response:
    """A file into a collection under its own name, or in place of the file of `document`."""

    def store() -> Path:
        return _store(served, file, collection, document, bool(replace), bool(run))

    written = await served.work.run(store, WRITE_S)
    headers = {"HX-Trigger": "retried"} if run else {}
    return page(request.scope, "uploaded.html.j2", headers=headers, name=written.name, run=bool(run))


def _store(
    served: Serving, file: UploadFile, collection: str, document: str, replace: bool, run: bool
) -> Path:
    watched: tuple[str, ...] = ()
    if document:
        report, _ = document_of(served.index, served.current(), document)
        collection, name, replace, watched = report.collection, report.path, True, (document,)
    else:
        name = checked_name(file.filename or "")
    chosen = next((one for one in read_collections(served.index) if one.name == collection), None)
    if chosen is None:
        raise NotFound(f"no collection is named {collection!r}")
    written = put(chosen, name, file.file, replace)
    if run:
        served.runs.ask(Wish.nightly(f"Index {name}", chosen.name, documents=watched))
    return written
