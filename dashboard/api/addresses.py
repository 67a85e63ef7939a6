"""Addresses of the API's own resources."""

from urllib.parse import quote


def passage_address(document_id: str, start: int, end: int) -> str:
    return f"/documents/{quote(document_id, safe='')}/passage?start={start}&end={end}"


def order_address(order: str) -> str:
    return f"/orders/{quote(order, safe='')}"
