"""Coordinators: pure decisions, and one runtime that appends, replays, acts and answers.

Importing the package is free; `GroupCoordinator` comes with the first look at it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from broker.coordinator.groups import GroupCoordinator

__all__ = ["GroupCoordinator"]


def __getattr__(name: str) -> Any:
    if name == "GroupCoordinator":
        from broker.coordinator.groups import GroupCoordinator

        return GroupCoordinator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
