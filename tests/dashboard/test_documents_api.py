"""GET /documents, one document, its passages, /status and /healthz."""

import base64
import http.client
import io
from pathlib import Path

import httpx
import pytest
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families

from tests.dashboard.conftest import HOSTILE_NAME, SAMPLES, Ids, Server, reindex, serving


def test_documents_are_paged_and_filtered_by_state(client: httpx.Client) -> None:
    whole = client.get("/documents").json()
    assert whole["total"] == 4 and whole["next"] is None
    paged, after = [], ""
    while after is not None:
        page = client.get("/documents", params={"limit": 1, "after": after}).json()
        paged += page["documents"]
        after = page["next"]
    assert paged == whole["documents"]
    (failed,) = client.get("/documents", params={"state": "failed"}).json()["documents"]
    assert (failed["document"], failed["kind"], failed["stamps"]) == ("nothing.txt", "unreadable", None)
    assert "0 bytes" in failed["reason"]
    for params in ({"state": "gone"}, {"limit": 0}, {"limit": 10_000}, {"after": "nothing"}):
        assert client.get("/documents", params=params).status_code == 422


def test_one_document_is_the_row_of_the_listing(client: httpx.Client, ids: Ids) -> None:
    for row in client.get("/documents").json()["documents"]:
        assert client.get(f"/documents/{row['document_id']}").json() == row
    assert client.get(f"/documents/{ids['bulletin.pdf']}").json()["stamps"]["model"] == "all-MiniLM-L6-v2"


def test_a_passage_is_a_slice_of_the_text_with_its_neighbours(client: httpx.Client, ids: Ids) -> None:
    text = (SAMPLES / "operator-handbook.md").read_text(encoding="utf-8")
    address = f"/documents/{ids['handbook.md']}/passage"
    opened = client.get(address, params={"start": 299, "end": 490, "context": 10}).json()
    assert (opened["before"], opened["quote"], opened["after"]) == (
        text[289:299],
        text[299:490],
        text[490:500],
    )
    note = client.get(address, params={"start": 299, "end": 490}, headers={"Accept": "application/ld+json"})
    assert note.headers["content-type"].startswith("application/ld+json")
    assert note.json()["target"]["selector"][1]["exact"] == text[299:490]


@pytest.mark.parametrize(
    ("start", "end", "status"),
    [(5, 5, 404), (9, 5, 404), (0, 10_000_000, 404), (-1, 5, 422), ("x", 5, 422), (0, 2**40, 422)],
)
def test_a_range_that_is_not_there_is_not_found(
    client: httpx.Client, ids: Ids, start: object, end: object, status: int
) -> None:
    told = client.get(f"/documents/{ids['handbook.md']}/passage?start={start}&end={end}")
    assert told.status_code == status and told.json()["remedy"]


@pytest.mark.parametrize(
    "name",
    [
        "nothing",
        "handbook.md",
        "..%2f..%2fetc%2fpasswd",
        "%2fetc%2fpasswd",
        "../../../../etc/passwd",
        "..%5c..%5cwindows",
        "%00",
        "a" * 200,
        "a" * 5000,
        "x'%20OR%201=1--",
    ],
)
@pytest.mark.parametrize("accept", ["application/json", "text/html"])
def test_only_documents_of_the_index_are_read(server: Server, name: str, accept: str) -> None:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=30)
    try:
        connection.request("GET", f"/documents/{name}/passage?start=0&end=5", headers={"Accept": accept})
        told = connection.getresponse()
        assert told.status in (404, 422) and b"root:" not in told.read()
    finally:
        connection.close()


def test_the_page_of_a_pdf_shows_it_with_the_words_marked(client: httpx.Client, ids: Ids) -> None:
    address = f"/documents/{ids['bulletin.pdf']}/passage?start=0&end=60"
    page = client.get(address, headers={"Accept": "text/html"})
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    assert "data:image/webp;base64," in page.text and page.text.count("<polygon") >= 5
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'") and "script-src" not in policy


def test_a_file_that_became_a_link_elsewhere_is_not_shown(tmp_path: Path) -> None:
    docs, index = tmp_path / "docs", tmp_path / "index"
    docs.mkdir()
    target = docs / "a.pdf"
    target.write_bytes((SAMPLES / "service-bulletin-31.pdf").read_bytes())
    reindex(index, docs)
    secret = tmp_path / "secret.pdf"
    secret.write_bytes((SAMPLES / "spare-parts-catalogue.pdf").read_bytes())
    with serving(index) as server, server.client() as client:
        (row,) = client.get("/documents").json()["documents"]
        address = f"/documents/{row['document_id']}/passage?start=0&end=60"
        for path in (secret, Path("/dev/zero"), tmp_path):
            target.unlink()
            target.symlink_to(path)
            page = client.get(address, headers={"Accept": "text/html"})
            assert page.status_code == 200 and "data:image" not in page.text and "No page image" in page.text


def test_status_counts_what_the_ledger_says(client: httpx.Client) -> None:
    status = client.get("/status").json()
    assert status["documents"] == {"indexed": 3, "failed": 1, "pending": 0, "running": 0, "stale": 0}
    assert status["last_run"]["state"] == "completed" and status["space"]["dimension"] == 384
    assert client.get("/healthz").json() == {"ok": True}


def test_metrics_are_what_prometheus_reads(client: httpx.Client) -> None:
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    states = {
        sample.labels["state"]: sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if sample.name == "pincite_documents"
    }
    assert (states["indexed"], states["failed"]) == (3, 1)


def test_hostile_names_are_text_on_the_page(client: httpx.Client, ids: Ids) -> None:
    address = f"/documents/{ids[HOSTILE_NAME]}/passage?start=0&end=200"
    page = client.get(address, headers={"Accept": "text/html"}).text
    assert "<script" not in page and "<img src=x" not in page and "<iframe" not in page
    assert "\u202e" not in page and "\x1b" not in page


def test_the_text_of_a_document_is_read_in_stretches_and_its_chunks_are_slices_of_it(
    client: httpx.Client, ids: Ids
) -> None:
    address = f"/documents/{ids['handbook.md']}"
    whole = client.get(f"{address}/text").json()
    assert whole["text"] == (SAMPLES / "operator-handbook.md").read_text(encoding="utf-8")
    assert (whole["characters"], whole["next"], whole["pages"]) == (len(whole["text"]), None, [])
    read, start = "", 0
    while start is not None:
        part = client.get(f"{address}/text", params={"start": start, "limit": 1_000}).json()
        read, start = read + part["text"], part["next"]
    assert read == whole["text"]
    assert client.get(f"{address}/text", params={"start": 10**6}).json()["text"] == ""
    chunks, first = [], 0
    while first is not None:
        page = client.get(f"{address}/chunks", params={"first": first, "limit": 2}).json()
        chunks, first = chunks + page["chunks"], page["next"]
    assert len(chunks) == page["total"] > 2
    for one in chunks:
        assert whole["text"][one["start"] : one["end"]] == one["content"]
    assert client.get(chunks[0]["passage"]).json()["quote"] == chunks[0]["content"]


def test_attempts_and_versions_are_those_of_the_page(client: httpx.Client, ids: Ids) -> None:
    attempts = client.get(f"/documents/{ids['nothing.txt']}/attempts").json()["attempts"]
    assert [(one["outcome"], one["kind"]) for one in attempts] == [("failed", "unreadable")]
    versions = client.get(f"/documents/{ids['bulletin.pdf']}/versions").json()
    assert [one["ended_version"] for one in versions["revisions"]] == [None]
    assert versions["file"]["sha256"] == versions["revisions"][0]["source_sha256"]
    for part in ("attempts", "versions", "text", "chunks", "pages/1"):
        assert client.get(f"/documents/none/{part}").status_code == 404
    for part in ("text", "chunks"):
        assert client.get(f"/documents/{ids['nothing.txt']}/{part}").status_code == 404, "nothing is stored"


def test_a_page_comes_with_its_image_and_what_was_found_on_it(client: httpx.Client, ids: Ids) -> None:
    address = f"/documents/{ids['bulletin.pdf']}"
    (first, *_) = client.get(f"{address}/text").json()["pages"]
    page = client.get(f"{address}/pages/1").json()
    assert (page["width"], page["height"]) == (first["width"], first["height"])
    image = Image.open(io.BytesIO(base64.b64decode(page["image"])))
    assert image.format == "WEBP" and page["image_type"] == "image/webp"
    assert {"heading", "paragraph"} <= {one["kind"] for one in page["blocks"]}
    assert all(len(one["corners"]) == 4 for one in page["blocks"])
    told = client.get(f"{address}/pages/99")
    assert told.status_code == 404 and "no page 99" in told.json()["detail"]
