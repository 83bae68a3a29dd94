"""A connection to a broker's HTTP port, as a command is told to make it: plain, or over TLS as a user of the broker.

How it is secured stands in a `client.properties`, as for Kafka's listeners: what is trusted, and who logs in.
"""

from __future__ import annotations

from base64 import b64encode
from http.client import HTTPConnection
from typing import TYPE_CHECKING

from barnabas.broker.cli.serve_options import http_address
from barnabas.broker.cli.terminal.failures import UsageError

if TYPE_CHECKING:
    from barnabas.client.security.settings import SecuritySettings


def open_connection(
    address: str, command_config: str | None, timeout_s: float | None = None
) -> tuple[HTTPConnection, dict[str, str]]:
    """A connection that is made with its first request, and the headers that say who asks. UsageError.

    The first request raises OSError where TLS fails, with a sentence.
    """
    where = http_address({"--http": [address]})
    assert where is not None, "an address is given"
    if command_config is None:
        return HTTPConnection(*where, timeout=timeout_s), {}
    from barnabas.broker.cli.terminal.client_settings import security_in

    security = security_in(command_config)
    if security.tls is None:
        raise UsageError(f"--command-config: {command_config} does not ask for TLS, which a secured HTTP port speaks")
    return _secured(*where, security, timeout_s), _user(security)


def _secured(host: str, port: int, security: SecuritySettings, timeout_s: float | None) -> HTTPConnection:
    from barnabas.client.security.tls import context_of, shake_hands
    from barnabas.protocol.errors import KafkaError

    assert security.tls is not None, "asked before"
    context = context_of(security.tls)

    class Secured(HTTPConnection):
        """HTTPS, with the sentences of our client about certificates."""

        def connect(self) -> None:
            super().connect()
            try:
                self.sock = shake_hands(context, self.sock, self.host, f"{host}:{port}")
            except KafkaError as failed:
                raise OSError(str(failed)) from None

    return Secured(host, port, timeout=timeout_s)


def _user(security: SecuritySettings) -> dict[str, str]:
    from barnabas.client.security.settings import PasswordLogin

    login = None if security.sasl is None else security.sasl.login
    if not isinstance(login, PasswordLogin) or login.is_token:
        return {}
    said = f"{login.username}:{login.password.value}".encode()
    return {"Authorization": f"Basic {b64encode(said).decode()}"}
