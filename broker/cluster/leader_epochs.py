"""The check every read makes before it looks at a partition: does the client know who leads it?

A request carries the leader epoch its sender believes in, or -1 for none (KIP-320). Reads do not raise a
partition's epoch, so what is compared with is the epoch that Metadata announces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.catalogue import Catalogue

NOT_CHECKED = -1


def check_leader_epoch(catalogue: Catalogue, topic: str, partition: int, requested: int) -> None:
    """KafkaError FENCED_LEADER_EPOCH if the sender is behind, UNKNOWN_LEADER_EPOCH if it is ahead of us."""
    if requested == NOT_CHECKED:
        return
    current = catalogue.current_leader_epoch(topic, partition)
    if requested < current:
        raise KafkaError(
            ErrorCode.FENCED_LEADER_EPOCH, f"{topic}-{partition}: epoch {requested} is over, it is {current}"
        )
    if requested > current:
        raise KafkaError(
            ErrorCode.UNKNOWN_LEADER_EPOCH, f"{topic}-{partition}: epoch {requested} is to come, it is {current}"
        )
