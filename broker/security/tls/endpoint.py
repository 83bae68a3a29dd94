"""How one listener speaks TLS: the context that is in force, and whom a client's certificate stands for.

Made from the listener's settings, and made anew when these or the files of its stores have changed. A new one that
cannot be used leaves the old one in force. Connections that are there stay as they are.
"""

from __future__ import annotations

import ssl
from typing import NamedTuple

from barnabas.broker.security.session.principal import ANONYMOUS, Principal
from barnabas.broker.security.tls.context import make_context
from barnabas.broker.security.tls.distinguished_names import subject_of
from barnabas.broker.security.tls.principal_mapping import PrincipalMapper
from barnabas.broker.security.tls.settings import Settings, TlsSettings, read_settings
from barnabas.broker.security.tls.stores import Stores, files_of, open_stores, state_of


class Made(NamedTuple):
    """What was made of settings and stores, and of what state of the files."""

    settings: TlsSettings
    stores: Stores
    context: ssl.SSLContext
    files: tuple[object, ...]


def make(settings: TlsSettings) -> Made:
    """Open the stores and make a context. StoreError. Reads files: not for the event loop of a running broker."""
    files = state_of_files(settings)
    stores = open_stores(settings)
    return Made(settings, stores, make_context(settings, stores), files)


def state_of_files(settings: TlsSettings) -> tuple[object, ...]:
    """What changes when a file of a store is written or put in the place of another."""
    return tuple(state_of(path) for path in files_of(settings))


class Endpoint:
    """One listener's TLS."""

    def __init__(self, settings: Settings, *, is_sasl: bool) -> None:
        """StoreError, a sentence, where no client could be let in."""
        self._settings = settings
        self.is_sasl = is_sasl
        """Whether clients say by SASL who they are, whatever their certificates say."""
        self.made = make(read_settings(settings, is_sasl=is_sasl))
        self._mapper = PrincipalMapper(self.made.settings.mapping_rules)

    @property
    def context(self) -> ssl.SSLContext:
        """What the next handshake goes by."""
        return self.made.context

    def wanted(self) -> TlsSettings:
        """What the settings say now. StoreError."""
        return read_settings(self._settings, is_sasl=self.is_sasl)

    def put_in_force(self, made: Made) -> None:
        """Every handshake from now on goes by it."""
        self.made = made

    def principal_of(self, certificate: bytes | None) -> Principal:
        """For whom a client with this certificate speaks; on a SASL listener for nobody yet. ValueError."""
        if certificate is None or self.is_sasl:
            return ANONYMOUS
        return Principal(ANONYMOUS.kind, self._mapper.name_of(subject_of(certificate)))
