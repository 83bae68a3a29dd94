"""The records of the share coordinator, `__share_group_state` (KIP-932).

Two types with the same fields as key, a share partition: a snapshot has its whole state, an update what has changed
since. A null value of a snapshot's key deletes the state. `versioned_messages.py` reads and writes both.

In a value `delivery_complete_count` counts the records from `start_offset` on whose delivery is over; -1 is unknown.
Delivery states are 0 available, 2 acknowledged, 3 archiving, 4 archived; what is acquired (1) is never stored.
"""

from barnabas.protocol.codec.schema import INT8, INT16, INT32, INT64, STRING, UUID, Stored, array, field


class ShareSnapshotKey(Stored, key=0, versions="0"):
    group_id: str = field(STRING)
    topic_id: bytes = field(UUID)
    partition: int = field(INT32)


class ShareUpdateKey(Stored, key=1, versions="0"):
    group_id: str = field(STRING)
    topic_id: bytes = field(UUID)
    partition: int = field(INT32)


class StoredStateBatch(Stored):
    first_offset: int = field(INT64)
    last_offset: int = field(INT64)
    delivery_state: int = field(INT8)
    delivery_count: int = field(INT16)


class ShareSnapshotValue(Stored, key=0, versions="0", flexible="0+"):
    snapshot_epoch: int = field(INT32)  # counts the snapshots of the share partition
    state_epoch: int = field(INT32)  # of the group that began the state; a higher one begins it anew
    leader_epoch: int = field(INT32)  # of the share partition's leader
    start_offset: int = field(INT64)  # -1: not begun
    delivery_complete_count: int = field(INT32, default=-1, tag=0)
    create_timestamp: int = field(INT64)  # of the state in it, ms
    write_timestamp: int = field(INT64)  # of the snapshot, ms
    state_batches: list[StoredStateBatch] = field(array(StoredStateBatch))


class ShareUpdateValue(Stored, key=1, versions="0", flexible="0+"):
    snapshot_epoch: int = field(INT32)  # of the snapshot that it changes
    leader_epoch: int = field(INT32)
    start_offset: int = field(INT64)
    delivery_complete_count: int = field(INT32, default=-1, tag=0)
    state_batches: list[StoredStateBatch] = field(array(StoredStateBatch))


KEYS: dict[int, type[Stored]] = {0: ShareSnapshotKey, 1: ShareUpdateKey}
VALUES: dict[int, type[Stored]] = {0: ShareSnapshotValue, 1: ShareUpdateValue}
