"""Which groups have offsets for a topic: so that what a topic leaves behind is found without looking at every group.

A count for each group and topic; what is counted is its owner's business.
"""

from __future__ import annotations

from collections.abc import Iterable, KeysView

_NONE: dict[str, int] = {}


class GroupsByTopic:
    """topic -> the groups that have something for it."""

    __slots__ = ("_groups",)

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, int]] = {}

    def topics(self) -> Iterable[str]:
        """Every topic that a group has something for."""
        return self._groups.keys()

    def groups(self, topic: str) -> KeysView[str]:
        """The groups that have something for the topic."""
        return self._groups.get(topic, _NONE).keys()

    def add(self, topic: str, group_id: str) -> None:
        """The group has one thing more for the topic."""
        groups = self._groups.get(topic)
        if groups is None:
            groups = self._groups[topic] = {}
        groups[group_id] = groups.get(group_id, 0) + 1

    def remove(self, topic: str, group_id: str) -> None:
        """The group has one thing less for the topic."""
        groups = self._groups[topic]
        if groups[group_id] > 1:
            groups[group_id] -= 1
            return
        del groups[group_id]
        if not groups:
            del self._groups[topic]
