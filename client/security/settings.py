"""How connections are secured, as values: they travel to other processes, and show no secret to whoever prints them.

Stores are named by their paths and read where they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from barnabas.protocol.security.listener_protocols import PROTOCOLS

HIDDEN = "[hidden]"

Token = tuple[str, float]
"""A token, and when it expires, in milliseconds since 1970."""
TokenProvider = Callable[[], Token]


class SettingsError(ValueError):
    """A setting is missing or makes no sense; the message is a sentence that quotes no secret."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that is not shown."""

    value: str = field(repr=False)

    def __str__(self) -> str:
        return HIDDEN

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """A key store or a trust store: a file, or texts in PEM that a setting holds itself.

    kind: JKS, PKCS12 or PEM. certificates: PEM in place of a file. key: the private key, with certificates.
    """

    kind: str
    location: str | None = None
    password: Secret | None = None
    key_password: Secret | None = None
    certificates: str | None = None
    key: Secret | None = None


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """TLS. trusted: None for the authorities that the system trusts. own: what a broker that asks is shown.

    enabled_protocols: of TLSv1.2 and TLSv1.3. cipher_suites: none for what OpenSSL has by default.
    """

    trusted: StoreSettings | None = None
    own: StoreSettings | None = None
    checks_hostname: bool = True
    enabled_protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    cipher_suites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PasswordLogin:
    """For PLAIN and SCRAM. is_token: the two are those of a delegation token."""

    username: str
    password: Secret
    is_token: bool = False


@dataclass(frozen=True, slots=True)
class UnsecuredLogin:
    """For OAUTHBEARER in tests: tokens that nobody signed, with these claims (text, number or list), by name."""

    claims: tuple[tuple[str, str | float | tuple[str, ...]], ...]
    lifetime_s: float = 3600


@dataclass(frozen=True, slots=True)
class EndpointLogin:
    """For OAUTHBEARER: tokens of an authorization server, by the grant `client_credentials` (RFC 6749)."""

    url: str
    client_id: str
    client_secret: Secret
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class ProvidedLogin:
    """For OAUTHBEARER: tokens of a function, by itself or as `module:callable`."""

    provider: TokenProvider | str


Login = PasswordLogin | UnsecuredLogin | EndpointLogin | ProvidedLogin


@dataclass(frozen=True, slots=True)
class SaslSettings:
    """SASL: one mechanism, and who logs in. extensions: what OAUTHBEARER sends beside its token."""

    mechanism: str
    login: Login
    extensions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SecuritySettings:
    """How every connection of a client is secured. None: not in this way."""

    tls: TlsSettings | None = None
    sasl: SaslSettings | None = None

    @property
    def protocol(self) -> str:
        """As `security.protocol` has it."""
        return PROTOCOLS[(self.tls is not None) + 2 * (self.sasl is not None)]
