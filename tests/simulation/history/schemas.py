"""What was asked of the schema registry, and what was answered. One client registers each text, in one subject."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Registration:
    """One schema, from the first time that it was sent to its deletion."""

    client: str
    subject: str
    text: str
    began_us: int
    schema_id: int = 0
    version: int = 0
    answered_us: int | None = None
    tries: int = 0
    again: list[tuple[int, int]] = field(default_factory=list)
    """Ids and versions that were answered to the same request later on, before any deletion."""
    deleting_us: int | None = None
    """When its deletion was asked for."""
    deleted_us: int | None = None
    purging_us: int | None = None
    """When its deletion for good was asked for."""
    purged_us: int | None = None

    def line(self) -> str:
        what = f"id {self.schema_id} version {self.version}" if self.answered_us is not None else "open"
        states = ((self.deleting_us, "deleting"), (self.deleted_us, "deleted"), (self.purged_us, "purged"))
        state = " ".join(word for at_us, word in states if at_us is not None)
        return f"{self.client} registers {self.text} in {self.subject}: {what} {state}".rstrip()


@dataclass(slots=True, eq=False)
class SchemaView:
    """What the registry said of an id; no text if it has none."""

    client: str
    schema_id: int
    began_us: int
    ended_us: int
    text: str | None

    def line(self) -> str:
        return f"{self.client} sees id {self.schema_id}: {self.text or 'none'}"


@dataclass(slots=True, eq=False)
class SubjectView:
    """The versions that the registry said a subject has, and those that it said are deleted."""

    client: str
    subject: str
    began_us: int
    ended_us: int
    is_deleted: Mapping[int, bool]

    def line(self) -> str:
        versions = ",".join(f"{version}{'-' * deleted}" for version, deleted in self.is_deleted.items())
        return f"{self.client} sees {self.subject}: {versions or 'none'}"


@dataclass(slots=True)
class SchemaHistory:
    """All of it."""

    registrations: list[Registration] = field(default_factory=list)
    views: list[SchemaView] = field(default_factory=list)
    subjects: list[SubjectView] = field(default_factory=list)
