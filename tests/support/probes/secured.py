"""The set-up of a page that is played to a secured server, and its users: `secured: plain`, `scram`, and so on.

plain: the user alice, by PLAIN. There is no authorizer: the answers depend on SASL alone.
scram: alice also by SCRAM-SHA-256 and -512.
oauthbearer: that mechanism, too, with unsecured tokens.
rights: the StandardAuthorizer, and the users of askers.py with the rights that their names say, on everything.
acls: the StandardAuthorizer, and users without rights; `by alice from 127.0.0.9`: she comes from that address.
certificates: the StandardAuthorizer, and listeners of SSL; `by alice at OPEN`: with the certificate of that name in
certificates.py to the listener OPEN, and `by nobody` without one to that named SSL, where one is required.

With acls or certificates stories use PLAINTEXT as a super user, otherwise SASL_PLAINTEXT.
"""

from tests.support.probes.askers import rights
from tests.support.probes.certificates import Presented
from tests.support.probes.wire import Wire
from tests.support.processes.server import Server
from tests.support.security.credentials import allow, make_scram_user
from tests.support.security.secured import (
    MECHANISMS,
    OAUTHBEARER,
    SASL_PLAINTEXT,
    SSL,
    SecuredServer,
    Ways,
    password_of,
)

ALICE = "alice"
USERS = (ALICE, "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy")
LISTENERS = (SSL, "MAPPED", "STRICT", "REQUESTED", "OPEN")
_AS_SUPER_USER = ("", "acls", "certificates")


def secured_options(kind: str) -> Ways:
    """What the server is made with."""
    return {
        "listeners": LISTENERS if kind == "certificates" else (SASL_PLAINTEXT,),
        "users": {"rights": tuple(rights()), "acls": USERS}.get(kind, (ALICE,)),
        "mechanisms": (*MECHANISMS, OAUTHBEARER) if kind == "oauthbearer" else MECHANISMS,
        "has_authorizer": kind in ("rights", "acls", "certificates"),
    }


def prepare(kind: str, wire: Wire) -> None:
    """Make what lies in the catalogue, over a connection of a super user."""
    if kind == "scram":
        make_scram_user(wire, ALICE)
    elif kind == "rights":
        allow(wire, rights())


class Door:
    """How a page comes in to its server."""

    def __init__(self, kind: str, server: Server) -> None:
        self._server = server
        self._presented: Presented | None = None
        self.port = server.port
        """For all requests without `by`."""
        if isinstance(server, SecuredServer):
            self.port = server.port if kind in _AS_SUPER_USER else server.ports[SASL_PLAINTEXT]
            self._presented = Presented(server.security.authority) if kind == "certificates" else None

    def enter(self, asker: str) -> Wire:
        """A connection for a user."""
        assert isinstance(self._server, SecuredServer), "a server that is not secured has no users"
        if self._presented is not None:
            name, _, listener = asker.partition(" at ")
            return Wire(self._server.ports[listener or SSL], tls=self._presented.context(name))
        name, _, address = asker.partition(" from ")
        wire = Wire(self._server.ports[SASL_PLAINTEXT], address or "127.0.0.1")
        wire.log_in(name, password_of(name))
        return wire
