"""The TLS of one listener: the context that is in force, and the principals of clients' certificates.

Made from the listener's settings, and made again when these or the files of its stores have changed. A new one that
cannot be used leaves the old one in force. Present connections stay as they are.
"""

from __future__ import annotations

import ssl
from typing import NamedTuple

from barnabas.broker.security.session.principal import ANONYMOUS, Principal
from barnabas.broker.security.tls.context import make_context
from barnabas.broker.security.tls.distinguished_names import subject_of
from barnabas.broker.security.tls.principal_mapping import PrincipalMapper
from barnabas.broker.security.tls.settings import ListenerTlsSettings, TlsSettingsSource, read_settings
from barnabas.broker.security.tls.stores import Stores, files_of, open_stores, state_of


class TlsContext(NamedTuple):
    """A context with the settings, stores and state of the files that it was made from."""

    settings: ListenerTlsSettings
    stores: Stores
    context: ssl.SSLContext
    files: tuple[object, ...]


def make(settings: ListenerTlsSettings) -> TlsContext:
    """Open the stores and make a context. Raises StoreError. Reads files, so not on a running broker's event loop."""
    files = state_of_files(settings)
    stores = open_stores(settings)
    return TlsContext(settings, stores, make_context(settings, stores), files)


def state_of_files(settings: ListenerTlsSettings) -> tuple[object, ...]:
    """Return a value that changes when a file of a store is written or replaced."""
    return tuple(state_of(path) for path in files_of(settings))


class TlsEndpoint:
    """One listener's TLS."""

    def __init__(self, settings: TlsSettingsSource, *, is_sasl: bool) -> None:
        """Make the first context. Raises StoreError with a sentence where no client could connect."""
        self._settings = settings
        self.is_sasl = is_sasl
        """Whether clients authenticate by SASL, whatever their certificates contain."""
        self.made = make(read_settings(settings, is_sasl=is_sasl))
        self._mapper = PrincipalMapper(self.made.settings.mapping_rules)

    @property
    def context(self) -> ssl.SSLContext:
        """The context of the next handshake."""
        return self.made.context

    def wanted(self) -> ListenerTlsSettings:
        """Return the settings as they are now. Raises StoreError."""
        return read_settings(self._settings, is_sasl=self.is_sasl)

    def put_in_force(self, made: TlsContext) -> None:
        """Use it for every handshake from now on."""
        self.made = made

    def principal_of(self, certificate: bytes | None) -> Principal:
        """Return the principal of a certificate; ANONYMOUS on a SASL listener, or without one. Raises ValueError."""
        if certificate is None or self.is_sasl:
            return ANONYMOUS
        return Principal(ANONYMOUS.kind, self._mapper.name_of(subject_of(certificate)))
