"""Access to changes: clients on this machine, or clients with the token; no page of another site in a browser.

Pure. A page in a browser on this machine can send requests, too: it is recognized by its Origin, and if it uses a
domain name that resolves to this address, by the Host. Without a token the Host has to be an address or localhost;
with one it may be any name, because clients with the token are trusted. Ports in the Host are not compared: a
container's port is mapped to another.
"""

from __future__ import annotations

from collections.abc import Mapping
from hmac import compare_digest
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

UNAUTHORIZED, FORBIDDEN = 401, 403


class Refusal(NamedTuple):
    """The reason of a refusal. status: of the answer."""

    status: int
    why: str


class Admission(NamedTuple):
    """token: required from clients; None if clients on this machine may do anything.

    is_guarded: requests that arrive here are authenticated and authorized already.
    """

    token: str | None = None
    is_guarded: bool = False

    def refusal(self, headers: Mapping[str, str], peer_is_local: bool) -> Refusal | None:
        """Return None if the request may be answered. headers: by lower-case names."""
        host = headers.get("host", "")
        if not host:
            return Refusal(FORBIDDEN, "a request must have a Host header")
        origin = headers.get("origin")
        if origin is not None and _authority(origin) != host.lower():
            return Refusal(FORBIDDEN, "a page of another site may not send requests")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return Refusal(FORBIDDEN, "a page of another site may not send requests")
        if self.is_guarded:
            return None
        if self.token is not None:
            scheme, _, given = headers.get("authorization", "").partition(" ")
            if scheme.lower() == "bearer" and compare_digest(given.strip().encode(), self.token.encode()):
                return None
            return Refusal(UNAUTHORIZED, "the token of --control-token is needed: Authorization: Bearer TOKEN")
        if not peer_is_local:
            return Refusal(FORBIDDEN, "allowed only from this machine, unless the broker has a --control-token")
        if not is_plain_host(host):
            return Refusal(FORBIDDEN, "the Host is neither an address nor localhost, and there is no --control-token")
        return None


def _authority(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def is_plain_host(host: str) -> bool:
    """Return whether it is an address or localhost, with or without a port."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        if name == "localhost" or name.endswith(".localhost"):
            return True
        ip_address(name)
    except ValueError:
        return False
    return True
