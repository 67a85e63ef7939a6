"""Addresses on the network: which are of this machine, and how one is shown."""

import ipaddress
import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_USER = re.compile(r"(?<=://)[^/\s@]*@")


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine by a loopback address."""
    try:
        host = (urlsplit(url).hostname or "").casefold()
        return host == "localhost" or host.endswith(".localhost") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def without_user(text: str) -> str:
    """The text with no name and password in any of its URLs."""
    return _USER.sub("…@", text)


def past_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """`no_proxy`, in both its spellings, with the loopback addresses added: no proxy can reach our own servers."""
    before = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    named = [name for name in before.split(",") if name.strip()]
    whole = ",".join([*named, *(one for one in LOOPBACK if one not in named)])
    return {"no_proxy": whole, "NO_PROXY": whole}


def without_proxy_for_loopback() -> None:
    """For this process and those that it starts."""
    os.environ.update(past_proxies(os.environ))
