"""Uploads from the page: a new file, or one in place of a document's."""

from typing import Annotated

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import Response

from pincite.dashboard.actions.uploads import WRITE_S, Received, receive, receive_for
from pincite.dashboard.http.guard import UPLOAD
from pincite.dashboard.http.templating import page
from pincite.dashboard.state.serving import Served

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

    def store() -> Received:
        if document:
            return receive_for(served, document, file.file, run=bool(run))
        name = file.filename or ""
        return receive(served, name, file.file, collection, replace=bool(replace), run=bool(run))

    received = await served.work.run(store, WRITE_S)
    headers = {"HX-Trigger": "retried"} if received.order else {}
    return page(request.scope, "uploaded.html.j2", headers=headers, received=received)
