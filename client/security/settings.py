"""The security settings of connections, as values: they can be sent to other processes, and print no secret.

Stores are given by their paths and read where they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from barnabas.protocol.security.listener_protocols import PROTOCOLS

HIDDEN = "[hidden]"

Token = tuple[str, float]
"""A token, and its expiry, in milliseconds since 1970."""
TokenProvider = Callable[[], Token]


class SettingsError(ValueError):
    """A setting is missing or invalid; the message is a sentence that quotes no secret."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that is not shown."""

    value: str = field(repr=False)

    def __str__(self) -> str:
        return HIDDEN

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """A key store or a trust store: a file, or PEM text in the setting itself.

    kind: JKS, PKCS12 or PEM. certificates: PEM instead of a file. key: the private key, with certificates.
    """

    kind: str
    location: str | None = None
    password: Secret | None = None
    key_password: Secret | None = None
    certificates: str | None = None
    key: Secret | None = None


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """TLS settings. trusted: None for the system's authorities. own: the client certificate for a broker that requests
    it.

    enabled_protocols: of TLSv1.2 and TLSv1.3. cipher_suites: empty for OpenSSL's default.
    """

    trusted: StoreSettings | None = None
    own: StoreSettings | None = None
    checks_hostname: bool = True
    enabled_protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    cipher_suites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PasswordLogin:
    """The login for PLAIN and SCRAM. is_token: the user name and password are those of a delegation token."""

    username: str
    password: Secret
    is_token: bool = False


@dataclass(frozen=True, slots=True)
class UnsecuredLogin:
    """The login for OAUTHBEARER in tests: unsigned tokens with these claims (text, number or list), by name."""

    claims: tuple[tuple[str, str | float | tuple[str, ...]], ...]
    lifetime_s: float = 3600


@dataclass(frozen=True, slots=True)
class EndpointLogin:
    """The login for OAUTHBEARER: tokens of an authorization server, by the grant `client_credentials` (RFC 6749)."""

    url: str
    client_id: str
    client_secret: Secret
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class ProvidedLogin:
    """The login for OAUTHBEARER: tokens of a function, given directly or as `module:callable`."""

    provider: TokenProvider | str


Login = PasswordLogin | UnsecuredLogin | EndpointLogin | ProvidedLogin


@dataclass(frozen=True, slots=True)
class SaslSettings:
    """SASL settings: one mechanism and the login. extensions: sent by OAUTHBEARER besides its token."""

    mechanism: str
    login: Login
    extensions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SecuritySettings:
    """The security of every connection of a client. None: not used."""

    tls: TlsSettings | None = None
    sasl: SaslSettings | None = None

    @property
    def protocol(self) -> str:
        """The value of `security.protocol`."""
        return PROTOCOLS[(self.tls is not None) + 2 * (self.sasl is not None)]
