"""The check whether a key store may be replaced while clients are connected. Kafka's rules, pure.

A broker keeps its name: another subject, or an alternative name less, is refused unless ssl.allow.dn.changes or
ssl.allow.san.changes is set. The sentences are Kafka's, as far as there are aliases to name in them.
"""

from __future__ import annotations

from barnabas.broker.security.tls.distinguished_names import subject_of
from barnabas.broker.security.tls.extensions import alternative_names
from barnabas.broker.security.tls.settings import ListenerTlsSettings
from barnabas.broker.security.tls.stores import Stores
from barnabas.protocol.security.stores.identity import StoreError


def check_replacement(settings: ListenerTlsSettings, new: Stores, old: Stores) -> None:
    """Raise StoreError with a sentence where `new` may not follow `old`."""
    if old.trusted is None and new.trusted is not None:
        raise StoreError("Cannot add SSL truststore to an existing listener for which no truststore was configured.")
    try:
        subjects = [subject_of(each.identity.chain[0]) for each in (old, new)]
        names = [alternative_names(each.identity.chain[0]) for each in (old, new)]
    except ValueError as broken:
        raise StoreError(f"the certificate cannot be read: {broken}") from broken
    if not settings.allows_dn_changes and subjects[0].lower() != subjects[1].lower():
        raise StoreError(
            f"Keystore DistinguishedName does not match: existing={{DN={subjects[0]}}}, new={{DN={subjects[1]}}}"
        )
    if not settings.allows_san_changes and not names[0] <= names[1]:
        raise StoreError("Keystore SubjectAltNames do not match: a name of the existing certificate is missing")
