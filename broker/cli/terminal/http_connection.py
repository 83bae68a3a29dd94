"""A command's connection to a broker's HTTP port: plain, or over TLS as a user of the broker.

Its security is configured in a `client.properties`, as for Kafka's listeners: the trusted certificates, and the user.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse, RemoteDisconnected
from socket import gaierror
from typing import TYPE_CHECKING

from barnabas.broker.cli.terminal.http_address import parse_http_address

if TYPE_CHECKING:
    from barnabas.broker.cli.terminal.client_settings import ClientSettings
    from barnabas.client.security.settings import SecuritySettings


@contextmanager
def answered(
    address: str,
    settings: ClientSettings | None,
    path: str,
    body: bytes | str | None = None,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    token: str | None = None,
    timeout_s: float | None = None,
    served_with: str = "--http",
) -> Iterator[HTTPResponse]:
    """Keep the answer to a request open for reading. UsageError; OSError with a sentence if there is no answer.

    token: the control token, with which no user is needed. served_with: the options of such a broker, for the sentence.
    """
    connection, who = _open(address, settings, timeout_s)
    sent = {**(headers or {}), **(who if token is None else {"Authorization": f"Bearer {token}"})}
    try:
        connection.request(method, path, body, sent)
        yield connection.getresponse()
    except ConnectionRefusedError:
        raise OSError(f"{address}: connection refused (is a broker running with {served_with} there?)") from None
    except RemoteDisconnected:  # before the first byte of an answer: perhaps this is a Kafka listener
        raise OSError(f"{address}: no response: {_advice(address, settings, served_with)}") from None
    except gaierror as unknown:
        raise OSError(f"{address}: {str(unknown.strerror).lower()}") from None
    except UnicodeError as error:
        if getattr(error, "encoding", "idna") != "idna":
            raise  # of a header, and not of the host
        raise OSError(f"{address}: that cannot be the name of a host") from None
    except HTTPException as broken:
        raise OSError(f"{address}: the response ended early: {broken!r}") from broken
    finally:
        connection.close()


def _advice(address: str, settings: ClientSettings | None, served_with: str) -> str:
    """Return what a user may check whose request got no answer."""
    advice = f"check that this is the address of the broker's {served_with}."
    if served_with == "--registry" and (settings is None or settings.security.tls is None):
        return f"{advice} If it uses HTTPS, give --registry https://{address}"
    if settings is None:
        add = "add --command-config data.security/admin.properties"
        return f"{advice} If the broker runs with --secure or --http-secure, {add}"
    if settings.security.tls is None:
        return f"{advice} A secured broker uses TLS, but {settings.path} does not set TLS"
    return advice


def _open(
    address: str, settings: ClientSettings | None, timeout_s: float | None
) -> tuple[HTTPConnection, dict[str, str]]:
    """Return a connection that opens with its first request, and the headers with the user. UsageError.

    The first request raises OSError if TLS fails, with a sentence.
    """
    where = parse_http_address(address)
    if settings is None or settings.security.tls is None:  # to which no password is sent
        return HTTPConnection(*where, timeout=timeout_s), {}
    return _secured(*where, settings.security, timeout_s), _user(settings.security)


def _secured(host: str, port: int, security: SecuritySettings, timeout_s: float | None) -> HTTPConnection:
    from barnabas.client.security.tls import context_of, shake_hands
    from barnabas.protocol.errors import KafkaError

    assert security.tls is not None, "checked by the caller"
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
    credentials = f"{login.username}:{login.password.value}".encode()
    return {"Authorization": f"Basic {b64encode(credentials).decode()}"}
