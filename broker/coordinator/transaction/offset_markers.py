"""What finishing a transaction asks of the group coordinator: markers in `__consumer_offsets`, where offsets lie.

The transaction coordinator knows no groups. `groups.py` is what does this.
"""

from __future__ import annotations

from typing import Protocol

from barnabas.broker.coordinator.runtime.shard import Appended
from barnabas.protocol.records.control import EndTxnMarker


class OffsetMarkers(Protocol):
    """The group coordinator, as far as it takes part in transactions."""

    def append_marker(self, partition: int, marker: EndTxnMarker, *, transaction_version: int, hold: bool) -> Appended:
        """End a producer's transaction on a partition of `__consumer_offsets`.

        KafkaError; NOT_LEADER_OR_FOLLOWER while it loads, LEADER_NOT_AVAILABLE where no node leads it.
        """

    def release_marker(self, partition: int, producer_id: int, is_commit: bool) -> None:
        """Show what was ended with `hold`: the offsets are committed, or gone."""
