"""Which version of a subject the schema of a message is.

A message has the id of its schema, or the guid, and no context; ids count per context. So a version of the subject that
a client of the topic registers by default counts first, in whatever context; else any that has the id, in the default
context before the others.
"""

from __future__ import annotations

from barnabas.registry.state.qualified_subject import QualifiedSubject
from barnabas.registry.state.registry_state import RegistryState
from barnabas.registry.state.stored_schema import StoredSchema, fingerprint_of_guid


def version_of_message(
    state: RegistryState, topic: str, schema_id: int | None, guid: str | None, *, is_key: bool
) -> StoredSchema | None:
    """Return the version that a key or value of the topic has, by its id or its guid; it may be marked as deleted."""
    subject = f"{topic}-{'key' if is_key else 'value'}"
    fingerprint = None if guid is None else fingerprint_of_guid(guid)
    other: StoredSchema | None = None
    for context in state.contexts():
        prefix = QualifiedSubject(context, "").name
        found = schema_id if fingerprint is None else state.index(prefix).id_of(fingerprint)
        if found is None:
            continue
        own = state.schema_of_id(found, prefix + subject)
        if own is not None:
            return own
        other = other or state.schema_of_id(found, prefix)
    return other
