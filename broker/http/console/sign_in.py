"""Access to the console: as for /control (control/admission.py), but a browser may send the token once, and links
may be followed.

Pure except for the secret of this run. A token from the sign-in form is exchanged for a cookie: a secret of this run,
not the token, because other servers on this host receive the cookie, too. A page of another site may link here
(a GET that shows a page of the console) and never sees the answer; no other request of it is accepted.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from barnabas.broker.http.control.admission import UNAUTHORIZED, Admission, Refusal


class ConsoleSignIn:
    """The access control of one run. `admission`: as for /control; without --control one without a token."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._secret = secrets.token_urlsafe(32)

    def refusal(self, method: str, headers: Mapping[str, str], peer_is_local: bool) -> Refusal | None:
        """Return None if the request may be answered. headers: by lower-case names."""
        seen = dict(headers)
        if method in ("GET", "HEAD") and _shows_a_page(seen):
            seen.pop("sec-fetch-site", None)
            seen.pop("origin", None)
        if self._admission.token is not None and self._has_cookie(seen):
            seen["authorization"] = f"Bearer {self._admission.token}"
        return self._admission.refusal(seen, peer_is_local)

    def refusal_to_sign_in(self, headers: Mapping[str, str], peer_is_local: bool) -> Refusal | None:
        """Return the refusal of a sign-in request, which contains the token itself; None if it may be answered."""
        refusal = self._admission.refusal(headers, peer_is_local)
        return None if refusal is None or refusal.status == UNAUTHORIZED else refusal

    def signed_in(self, token: str, host: str) -> str | None:
        """Return the cookie if the token is right; None if it is wrong, and if there is no token."""
        if self._admission.token is None or not compare_digest(token.encode(), self._admission.token.encode()):
            return None
        return f"{_cookie_name(host)}={self._secret}; Path=/console; HttpOnly; SameSite=Lax"

    def _has_cookie(self, headers: Mapping[str, str]) -> bool:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(_cookie_name(headers.get("host", "")))
        except CookieError:
            return False
        return found is not None and compare_digest(found.value.encode(), self._secret.encode())


def _shows_a_page(headers: Mapping[str, str]) -> bool:
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def _cookie_name(host: str) -> str:
    """Return a name with the port, since cookies ignore ports, and brokers on one host have different tokens."""
    try:
        port = urlsplit(f"//{host}").port
    except ValueError:
        port = None
    return f"barnabas-console-{port or 80}"
