# compiled: mypyc
"""The schemas of one context by id, by fingerprint and by what refers to them.

Ids count per context. An id stands for one content, which may be a version of several subjects; of one subject, the
version that was written last counts.
"""

from __future__ import annotations

from barnabas.registry.state.stored_schema import StoredSchema

VersionKey = tuple[str, int]
"""Qualified subject, version."""
ContextId = tuple[str, int]
"""Context, id."""


class ContextIndex:
    """The index of one context."""

    def __init__(self) -> None:
        self.max_id = 0
        """The largest id that was seen."""
        self.subjects: set[str] = set()
        """The qualified names of its subjects."""
        self._versions_by_id: dict[int, dict[str, int]] = {}
        self._id_by_fingerprint: dict[bytes, int] = {}
        self._referrers: dict[VersionKey, set[ContextId]] = {}

    def versions_of(self, schema_id: int) -> dict[str, int]:
        """Return the version of each subject that has this id; empty for an unknown id."""
        return self._versions_by_id.get(schema_id, {})

    def id_of(self, fingerprint: bytes) -> int | None:
        """Return the id of the content with this fingerprint, if a subject has it."""
        schema_id = self._id_by_fingerprint.get(fingerprint)
        return schema_id if schema_id in self._versions_by_id else None

    def referrers_of(self, key: VersionKey) -> set[ContextId]:
        """Return the ids of the schemas that refer to a version."""
        return self._referrers.get(key, set())

    def add(self, schema: StoredSchema) -> None:
        """Add a version, or one that has been marked as deleted."""
        self.max_id = max(self.max_id, schema.schema_id)
        self._versions_by_id.setdefault(schema.schema_id, {})[schema.subject] = schema.version
        self._id_by_fingerprint[schema.fingerprint] = schema.schema_id

    def remove(self, schema: StoredSchema) -> None:
        """Remove a version that is deleted for good."""
        versions = self._versions_by_id.get(schema.schema_id)
        if versions is None:
            return
        if versions.get(schema.subject) == schema.version:
            del versions[schema.subject]
        if not versions:
            del self._versions_by_id[schema.schema_id]
            if self._id_by_fingerprint.get(schema.fingerprint) == schema.schema_id:
                del self._id_by_fingerprint[schema.fingerprint]

    def refer(self, key: VersionKey, referrer: ContextId) -> None:
        """Note that a schema refers to a version of this context."""
        self._referrers.setdefault(key, set()).add(referrer)

    def no_longer_refer(self, key: VersionKey, referrer: ContextId) -> None:
        """Forget that a schema refers to a version."""
        referrers = self._referrers.get(key)
        if referrers is not None:
            referrers.discard(referrer)
            if not referrers:
                del self._referrers[key]
