"""Who may look: as for /control (control/admission.py), but a browser may say the token once, and links may be
followed.

Pure but for the secret of this run. A token that was said in the sign-in form is exchanged for a cookie: a secret of
this run, not the token, since other servers on this host are sent the cookie, too. A page of another site may lead here
(a GET that shows a page of ours) and never sees the answer; it may ask for nothing else.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from barnabas.broker.http.control.admission import UNAUTHORIZED, Admission, Refusal


class Door:
    """Of one run. `admission`: as for /control; one without a token where there is no --control."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._secret = secrets.token_urlsafe(32)

    def refusal(self, method: str, headers: Mapping[str, str], peer_is_local: bool) -> Refusal | None:
        """None if the request may be answered. headers: by names in small letters."""
        seen = dict(headers)
        if method in ("GET", "HEAD") and _shows_a_page(seen):
            seen.pop("sec-fetch-site", None)
            seen.pop("origin", None)
        if self._admission.token is not None and self._has_cookie(seen):
            seen["authorization"] = f"Bearer {self._admission.token}"
        return self._admission.refusal(seen, peer_is_local)

    def refusal_to_sign_in(self, headers: Mapping[str, str], peer_is_local: bool) -> Refusal | None:
        """As `refusal`, for whoever brings the token itself."""
        refusal = self._admission.refusal(headers, peer_is_local)
        return None if refusal is None or refusal.status == UNAUTHORIZED else refusal

    def signed_in(self, token: str, host: str) -> str | None:
        """The cookie for who knows the token; None for who does not, and where there is none."""
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
    """With the port, since cookies do not know ports, and brokers beside each other have different tokens."""
    try:
        port = urlsplit(f"//{host}").port
    except ValueError:
        port = None
    return f"barnabas-console-{port or 80}"
