"""The group and transaction coordinators: pure decisions, and one runtime that appends, replays, acts and replies.

Importing the package costs nothing; `GroupCoordinator` and `TransactionCoordinator` are imported at their first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.broker.coordinator.group.group_coordinator import GroupCoordinator
    from barnabas.broker.coordinator.transaction.transaction_coordinator import TransactionCoordinator

__all__ = ["GroupCoordinator", "TransactionCoordinator"]


def __getattr__(name: str) -> Any:
    if name == "GroupCoordinator":
        from barnabas.broker.coordinator.group.group_coordinator import GroupCoordinator

        return GroupCoordinator
    if name == "TransactionCoordinator":
        from barnabas.broker.coordinator.transaction.transaction_coordinator import TransactionCoordinator

        return TransactionCoordinator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
