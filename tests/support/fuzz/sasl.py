"""Stages of SASL, and wrong messages in them: handshakes, tokens, and frames that are neither.

An `Opening` brings a connection into a stage, by a correct client. What comes then is made by `attempt`: of
right tokens, or of wrong ones, and then no mutation of them may authenticate.
"""

import json
from base64 import urlsafe_b64encode
from random import Random

from barnabas.protocol.codec.schema import Request
from barnabas.protocol.headers import encode_request_header
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.protocol.registry import ApiKey, request_codec, spec
from barnabas.protocol.security.scram import SCRAM_SHA_256, credential_of, salted
from tests.support.fuzz.mutations import Sent, framed, mutate
from tests.support.fuzz.offered import TABLE
from tests.support.fuzz.requests import odd_request
from tests.support.fuzz.stage import Facts
from tests.support.scram import client_final
from tests.support.worlds.broker import Peer

FRAME_BYTES_MAX = 512 << 10
USER, _PASSWORD = "alice", "Kingfisher-Teapot"
_OTHER, _PASSWORD_OF_OTHER = "bob", "Clockwork-Teapot"
USERS = {USER: _PASSWORD, _OTHER: _PASSWORD_OF_OTHER}
CREDENTIAL = credential_of(SCRAM_SHA_256, salted(SCRAM_SHA_256, _PASSWORD, b"salt", 4096), b"salt", 4096)
_WRONG, _CLAIMED = "Windmill-Lantern", "Harpsichord"
PIECES_OF_SECRETS = (b"ingfish", b"Teapot", b"indmil", b"Lantern", b"rpsicho")
"""Of the passwords, also of wrong ones, and of a name that is only claimed."""

PLAIN, SCRAM, OAUTHBEARER = "PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"
_MECHANISMS = (PLAIN, SCRAM, OAUTHBEARER)
_ODD_MECHANISMS = (*_MECHANISMS, "SCRAM-SHA-512", "GSSAPI", "plain", "", "PLAIN\0", _PASSWORD, "P" * 32_000)
_FIRST_BARE = f"n={USER},r=abc"
_FULL = FRAME_BYTES_MAX - 100


class Opening:
    """`choose`: by which mechanism the connection begins; None for not at all."""

    def __init__(
        self,
        name: str,
        mechanism: str | None = None,
        *,
        asks_versions: bool = False,
        tokens_are_bare: bool = False,
        is_in_the_middle: bool = False,
        is_let_in: bool = False,
        is_again: bool = False,
    ) -> None:
        """is_in_the_middle: the first message of SCRAM is answered. is_again: a handshake follows the first login."""
        self.name, self.mechanism, self.asks_versions = name, mechanism, asks_versions
        self.tokens_are_bare = tokens_are_bare
        self.is_in_the_middle, self.is_let_in, self.is_again = is_in_the_middle, is_let_in, is_again
        self.server_first = b""
        """The server's first message of SCRAM, on the connection that was opened last."""
        self.may_be: set[str] | None = set()
        """The user that the connection may authenticate as; None for any: an unsecured token can name any user."""

    def play(self, peer: Peer) -> None:
        """On a connection without any message so far."""
        if self.asks_versions:
            _ask(peer, ApiVersionsRequest(client_software_name="fuzz", client_software_version="1"), 3)
        if self.mechanism is None:
            return
        if self.is_let_in or self.is_again:
            _ask(peer, SaslHandshakeRequest(mechanism=PLAIN), 1)
            assert _ask(peer, SaslAuthenticateRequest(auth_bytes=_plain(_PASSWORD)), 2) == 0
        if self.is_let_in:
            return
        _ask(peer, SaslHandshakeRequest(mechanism=self.mechanism), 0 if self.tokens_are_bare else 1)
        if self.is_in_the_middle:
            first = b"n,," + _FIRST_BARE.encode()
            peer.transport.send(framed(first) if self.tokens_are_bare else framed(_sasl(first, 1)))
            (answer,) = peer.frames()
            self.server_first = answer[answer.index(b"r=") :].rstrip(b"\0")

    def may_become(self, user: str) -> bool:
        """Whether the attempt may have this result."""
        if self.is_let_in or self.is_again:
            return user == USER
        return self.may_be is None or user in self.may_be


OPENINGS = (
    Opening("nothing said"),
    Opening("versions asked", asks_versions=True),
    *(Opening(f"{each} chosen", each) for each in _MECHANISMS),
    *(Opening(f"bare tokens of {each}", each, tokens_are_bare=True) for each in _MECHANISMS),
    Opening("in the middle of SCRAM", SCRAM, is_in_the_middle=True),
    Opening("in the middle of bare SCRAM", SCRAM, is_in_the_middle=True, tokens_are_bare=True),
    Opening("let in", PLAIN, is_let_in=True),
    Opening("again", PLAIN, is_again=True),
    Opening("again by SCRAM", SCRAM, is_again=True),
)


def attempt(opening: Opening, facts: Facts, rng: Random) -> Sent:
    """On the connection that was opened last: one thing that is broken or out of place, and perhaps more behind it."""
    knows = rng.random() < 0.5
    maker = _Maker(opening, facts, rng, knows=knows)
    sent = mutate(maker.payload(), rng)
    behind = b"".join(framed(maker.payload()) for _ in range(rng.choice((0, 0, 1, 2))))
    opening.may_be = None if knows and maker.has_bearer else {USER} if knows else set()
    return sent._replace(data=sent.data + behind)


class _Maker:
    def __init__(self, opening: Opening, facts: Facts, rng: Random, *, knows: bool) -> None:
        self._opening, self._facts, self._rng, self._knows = opening, facts, rng, knows
        self.has_bearer = False

    def payload(self) -> bytes:
        """A frame without its size: usual in most stages."""
        rng = self._rng
        if rng.random() < 0.6 and self._opening.mechanism is not None and not self._opening.is_let_in:
            token = self._token(self._opening.mechanism)
            return token if self._opening.tokens_are_bare else _sasl(token, rng.randrange(3))
        return rng.choice((self._handshake, self._authenticate, self._versions, self._other, self._garbage))()

    def _handshake(self) -> bytes:
        mechanism = self._rng.choice(_ODD_MECHANISMS)
        return _payload(SaslHandshakeRequest(mechanism=mechanism), self._rng.randrange(2))

    def _authenticate(self) -> bytes:
        return _sasl(self._token(self._rng.choice(_MECHANISMS)), self._rng.randrange(3))

    def _versions(self) -> bytes:
        return _payload(odd_request(ApiVersionsRequest, 3, self._facts, self._rng), 3)

    def _other(self) -> bytes:
        row = self._rng.choice(TABLE)
        version = self._rng.randrange(row.min_version, row.max_version + 1)
        return _payload(odd_request(spec(row.key).request, version, self._facts, self._rng), version)

    def _garbage(self) -> bytes:
        rng = self._rng
        return rng.choice((b"\0", rng.randbytes(9), rng.randbytes(300), bytes(_FULL), b"GET / HTTP/1.1\r\n\r\n"))

    def _token(self, mechanism: str) -> bytes:
        return {PLAIN: self._plain, SCRAM: self._scram, OAUTHBEARER: self._bearer}[mechanism]()

    def _plain(self) -> bytes:
        rng = self._rng
        if self._knows and self._opening.is_again and rng.random() < 0.3:
            return f"\0{_OTHER}\0{_PASSWORD_OF_OTHER}".encode()
        if self._knows:
            return _plain(_PASSWORD, rng.choice(("", "", USER, "admin")))
        wrong = (_plain(_WRONG), f"\0{_CLAIMED}\0{_WRONG}".encode(), f"\0{USER}\0".encode(), _plain(_WRONG) + b"\0x")
        return rng.choice(wrong)

    def _scram(self) -> bytes:
        rng, server_first = self._rng, self._opening.server_first
        if server_first and rng.random() < 0.7:
            return client_final("sha256", _PASSWORD if self._knows else _WRONG, _FIRST_BARE.encode(), server_first)
        user, begin = rng.choice((USER, _CLAIMED)), rng.choice(("n,,", "n,,", "y,,", f"n,a={USER},", "p=x,,"))
        return f"{begin}n={user},r={rng.choice(('abc', ''))}{rng.choice(('', ',tokenauth=true', ',a=b'))}".encode()

    def _bearer(self) -> bytes:
        rng = self._rng
        self.has_bearer = True
        claims: dict[str, object] = {"sub": USER, "exp": 10_000_000_000}
        if not self._knows:
            return _bearer("HS256", {"sub": _CLAIMED, "exp": 1})
        claims |= rng.choice(_ODD_CLAIMS)
        return _bearer("none", claims)


_ODD_CLAIMS: list[dict[str, object]] = [
    {},
    {},
    {},
    {"exp": float("inf")},
    {"exp": float("nan")},
    {"exp": 10**400},
    {"exp": -1},
    {"exp": True},
    {"exp": "soon"},
    {"iat": 10**11},
    {"sub": None},
    {"sub": [USER]},
    {"sub": "\ud800"},
    {"sub": "a\nb"},
    {"sub": "s" * 40_000},
    {"scope": {}},
]


def _bearer(algorithm: str, claims: object) -> bytes:
    return _bearer_of(json.dumps({"alg": algorithm}).encode(), json.dumps(claims).encode())


def _bearer_of(header: bytes, claims: bytes) -> bytes:
    token = b".".join(urlsafe_b64encode(part).rstrip(b"=") for part in (header, claims)) + b"."
    return b"n,,\x01auth=Bearer " + token + b"\x01\x01"


_LARGE_TOKENS = (
    b"n,,n=" + b"=2C" * (_FULL // 3 - 10) + b",r=abc",
    b"n,,n=" + b"a" * (_FULL - 20) + b",r=abc",
    b"n,,n=alice,r=" + b"r" * (_FULL - 20),
    b"n,,n=alice,r=abc" + b",a=b" * (_FULL // 4 - 10),
    b"\0" * _FULL,
    b"n,,\x01auth=Bearer " + b"." * (_FULL - 40) + b"\x01\x01",
    b"n,,\x01auth=Bearer a.b.c\x01" + b"a=b\x01" * (_FULL // 4 - 20) + b"\x01",
    _bearer_of(b"[" * 100_000, b"{}"),
    _bearer_of(b'{"alg":"none"}', b'{"sub":[' + b"[]," * 100_000 + b"[]]}"),
    _bearer_of(b'{"alg":"none"}', b'{"exp":' + b"1" * 300_000 + b"}"),
)
"""Each with the longest content to check."""


def large_frames() -> list[bytes]:
    """Frames of the largest size before authentication: with a token in each, and with another request."""
    groups = DescribeGroupsRequest(groups=[""] * (_FULL // 2))
    return [framed(each) for each in (*(_sasl(token, 1) for token in _LARGE_TOKENS), _payload(groups, 5))]


def _plain(password: str, authorization_id: str = "") -> bytes:
    return f"{authorization_id}\0{USER}\0{password}".encode()


def _sasl(token: bytes, version: int) -> bytes:
    return _payload(SaslAuthenticateRequest(auth_bytes=token), version)


def _payload(request: Request, version: int) -> bytes:
    key = request.__schema__.key
    assert key is not None
    header = encode_request_header(ApiKey(key), version, 7, "fuzz")
    return header + request_codec(ApiKey(key), version).encode(request)


def _ask(peer: Peer, request: Request, version: int) -> int:
    """The error code of the answer."""
    peer.ask(request, version)
    return int(peer.answer().error_code)
