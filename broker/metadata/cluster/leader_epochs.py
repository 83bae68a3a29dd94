"""The check every read makes before it looks at a partition: does the client know who leads it?

A request carries the leader epoch its sender believes in, or -1 for none (KIP-320). An open log has the epoch that
Metadata announces, whether it was appended to in this run or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.storage.log.log import PartitionLog

NOT_CHECKED = -1


def check_leader_epoch(log: PartitionLog, requested: int) -> None:
    """KafkaError FENCED_LEADER_EPOCH if the sender is behind, UNKNOWN_LEADER_EPOCH if it is ahead of us."""
    if requested == NOT_CHECKED:
        return
    current = log.leader_epoch
    if requested == current:
        return
    where = f"{log.topic}-{log.partition}"
    if requested < current:
        raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH, f"{where}: epoch {requested} is over, it is {current}")
    raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH, f"{where}: epoch {requested} is to come, it is {current}")
