"""The check before every read of a partition: whether the client knows its current leader epoch.

A request carries the leader epoch that its sender assumes, or -1 for none (KIP-320). An open log has the epoch that
Metadata returns, whether the log was appended to in this run or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.storage.log.log import PartitionLog

NOT_CHECKED = -1


def check_leader_epoch(log: PartitionLog, requested: int) -> None:
    """Raise FENCED_LEADER_EPOCH if the requested epoch is older than the log's, UNKNOWN_LEADER_EPOCH if it is newer."""
    if requested == NOT_CHECKED:
        return
    current = log.leader_epoch
    if requested == current:
        return
    where = f"{log.topic}-{log.partition}"
    if requested < current:
        raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH, f"{where}: epoch {requested} is over, it is {current}")
    raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH, f"{where}: epoch {requested} is to come, it is {current}")
