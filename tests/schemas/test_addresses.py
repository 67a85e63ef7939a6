"""Loopback is told from the network, and no password is shown."""

import pytest

from pincite.schemas.addresses import is_loopback, past_proxies, without_user


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1:4200/api", True),
        ("http://127.9.9.9/", True),
        ("http://[::1]:80/", True),
        ("http://LOCALHOST/", True),
        ("https://example.org/", False),
        ("http://127.0.0.1.example.org/", False),
        ("http://u:p@10.0.0.1/", False),
        ("no address", False),
    ],
)
def test_loopback(url: str, loopback: bool) -> None:
    assert is_loopback(url) is loopback


def test_no_user_and_no_password_is_shown() -> None:
    told = (
        "can't reach https://user:secret@example.org/a@b nor s3://key:hidden@bucket/x@y: mail me@example.org"
    )
    assert without_user(told) == (
        "can't reach https://…@example.org/a@b nor s3://…@bucket/x@y: mail me@example.org"
    )


def test_loopback_is_added_to_what_goes_past_the_proxies() -> None:
    assert past_proxies({})["no_proxy"] == "127.0.0.1,localhost,::1"
    assert past_proxies({"NO_PROXY": "intern,localhost"})["NO_PROXY"] == "intern,localhost,127.0.0.1,::1"
