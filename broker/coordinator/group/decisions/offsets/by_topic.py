# compiled: mypyc
"""The groups that have offsets for a topic: to find the offsets of a deleted topic without reading every group.

A count for each group and topic; the owner decides what is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, KeysView

_NONE: dict[str, int] = {}


class GroupsByTopic:
    """A map of topic -> the groups that have an entry for it."""

    __slots__ = ("_groups",)

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, int]] = {}

    def topics(self) -> Iterable[str]:
        """Return every topic that a group has an entry for."""
        return self._groups.keys()

    def groups(self, topic: str) -> KeysView[str]:
        """Return the groups that have an entry for the topic."""
        return self._groups.get(topic, _NONE).keys()

    def add(self, topic: str, group_id: str) -> None:
        """Add one entry of the group for the topic."""
        groups = self._groups.get(topic)
        if groups is None:
            groups = self._groups[topic] = {}
        groups[group_id] = groups.get(group_id, 0) + 1

    def remove(self, topic: str, group_id: str) -> None:
        """Remove one entry of the group for the topic."""
        groups = self._groups[topic]
        if groups[group_id] > 1:
            groups[group_id] -= 1
            return
        del groups[group_id]
        if not groups:
            del self._groups[topic]
