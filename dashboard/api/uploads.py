"""Files: POST /documents and PUT /documents/{id}/file."""

from typing import Annotated, BinaryIO

from fastapi import APIRouter, File, Form, Path, UploadFile
from pydantic import BaseModel, Field

from pincite.dashboard.actions.uploads import WRITE_S, Received, receive, receive_for
from pincite.dashboard.api.run_models import OrderBody
from pincite.dashboard.http.problems import WRITES, described
from pincite.dashboard.state.serving import Served

router = APIRouter(prefix="/documents", tags=["documents"])

_FILE = described(400, 404, *WRITES)
Sent = Annotated[UploadFile, File(description="at most `limits.source_bytes` of the settings")]
Run = Annotated[bool, Form(description="whether a run over the collection is asked for")]


class ReceivedBody(BaseModel):
    """A file that is stored. The next run over its collection indexes it."""

    document: str = Field(description="its path in the collection")
    collection: str
    order: OrderBody | None = Field(description="the run that was asked for")
    not_started: str | None = Field(description="why the run that was wanted could not be asked for")


@router.post("", status_code=201, responses=_FILE)
async def add(
    served: Served,
    file: Sent,
    collection: Annotated[str, Form(max_length=1_000, description="a folder of the server's machine")],
    replace: Annotated[bool, Form(description="over a file of the same name")] = False,
    run: Run = False,
) -> ReceivedBody:
    """Stores a file in the folder of a collection under its own name, whole or not at all."""
    name, content = file.filename or "", file.file
    received = await served.work.run(
        lambda: receive(served, name, content, collection, replace=replace, run=run), WRITE_S
    )
    return _body(received)


@router.put("/{document_id}/file", responses=_FILE)
async def replace_file(
    document_id: Annotated[str, Path(max_length=200)], served: Served, file: Sent, run: Run = False
) -> ReceivedBody:
    """Stores a file in place of a document's, whatever its own name is."""
    content: BinaryIO = file.file
    return _body(await served.work.run(lambda: receive_for(served, document_id, content, run=run), WRITE_S))


def _body(received: Received) -> ReceivedBody:
    return ReceivedBody(
        document=received.document,
        collection=received.collection,
        order=OrderBody.model_validate(received.order) if received.order else None,
        not_started=received.not_started or None,
    )
