"""The part of the group coordinator that finishing a transaction needs: markers in `__consumer_offsets`.

The transaction coordinator knows no groups. `group_coordinator.py` implements this.
"""

from __future__ import annotations

from typing import Protocol

from barnabas.broker.coordinator.runtime.shard import AppendPosition
from barnabas.protocol.records.control import EndTxnMarker


class OffsetMarkers(Protocol):
    """The group coordinator's part in transactions."""

    def append_marker(
        self, partition: int, marker: EndTxnMarker, *, transaction_version: int, hold: bool
    ) -> AppendPosition:
        """End a producer's transaction on a partition of `__consumer_offsets`.

        Raise KafkaError; NOT_LEADER_OR_FOLLOWER while it loads, LEADER_NOT_AVAILABLE if no node leads it.
        """

    def release_marker(self, partition: int, producer_id: int, is_commit: bool) -> None:
        """Show the result of an end with `hold`: the offsets are committed, or dropped."""
