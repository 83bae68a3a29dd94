"""Scripted answers of a broker that asks for SASL: Barnabas's own side of the mechanisms, with one user."""

import secrets
from collections.abc import Callable

from barnabas.broker.security.sasl.mechanism import Exchange, SaslAuthenticationFailed
from barnabas.broker.security.sasl.plain import PlainExchange
from barnabas.broker.security.sasl.scram import ScramExchange
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from barnabas.protocol.registry import ApiKey
from barnabas.protocol.security.scram import MECHANISMS, ScramMechanism, credential_of, salted
from tests.support.scripted.broker import Answer, Script

USER, PASSWORD = "alice", "password-of-a-test"
_SALT = b"salt of a test"


class ScriptedSasl:
    """`script` has the answers. session_lifetime_ms: in the answer to every login."""

    def __init__(self, iterations: int = 4096, session_lifetime_ms: int = 0) -> None:
        self._iterations = iterations
        self._session_lifetime_ms = session_lifetime_ms
        self._exchange: Exchange | None = None
        self.logins = 0

    @property
    def script(self) -> Script:
        """For a ScriptedBroker."""
        return {ApiKey.SASL_HANDSHAKE: self._handshake, ApiKey.SASL_AUTHENTICATE: self._authenticate}

    def _mechanisms(self) -> dict[str, Callable[[], Exchange]]:
        found: dict[str, Callable[[], Exchange]] = {"PLAIN": lambda: PlainExchange({USER: PASSWORD}.get)}
        for mechanism in MECHANISMS:
            found[mechanism.name] = lambda mechanism=mechanism: self._scram(mechanism)  # type: ignore[misc]  # because of the default
        return found

    def _scram(self, mechanism: ScramMechanism) -> ScramExchange:
        password = salted(mechanism, PASSWORD, _SALT, self._iterations)
        credential = credential_of(mechanism, password, _SALT, self._iterations)
        return ScramExchange(mechanism, {USER: credential}.get, secrets.token_bytes)

    def _handshake(self, request: SaslHandshakeRequest) -> Answer:
        mechanisms = self._mechanisms()
        if request.mechanism not in mechanisms:
            code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            return SaslHandshakeResponse(error_code=code, mechanisms=list(mechanisms))
        self._exchange = mechanisms[request.mechanism]()
        return SaslHandshakeResponse(error_code=0, mechanisms=list(mechanisms))

    def _authenticate(self, request: SaslAuthenticateRequest) -> Answer:
        assert self._exchange is not None, "a handshake comes first"
        try:
            answer = self._exchange.respond(request.auth_bytes)
        except SaslAuthenticationFailed as failure:
            code = ErrorCode.SASL_AUTHENTICATION_FAILED
            return SaslAuthenticateResponse(error_code=code, error_message=str(failure), auth_bytes=b"")
        is_complete = self._exchange.user is not None
        self.logins += is_complete
        lifetime_ms = self._session_lifetime_ms if is_complete else 0
        return SaslAuthenticateResponse(
            error_code=0, error_message=None, auth_bytes=answer, session_lifetime_ms=lifetime_ms
        )
