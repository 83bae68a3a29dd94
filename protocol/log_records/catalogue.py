"""The records of the catalogue, `__cluster_metadata-0`: the content of the cluster, change by change.

Replaying them in order gives topics, partitions, configurations, features, blocks of producer ids, users, access rules
and quotas. The value of a log record is a frame around one of them (its key is null, it has no headers):

    uvarint frame version 1, uvarint key of the record type, uvarint version, body

All are flexible from version 0. Keys 6, 13 and 16 are not used. Formats: Apache Kafka 4.4.0, metadata.version 33.
"""

from barnabas.protocol.codec.compile import codec
from barnabas.protocol.codec.schema import (
    BOOL,
    BYTES,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    UUID,
    Stored,
    array,
    field,
)
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer, read_uvarint, uvarint


class BrokerEndpoint(Stored):
    name: str = field(STRING)
    host: str = field(STRING)
    port: int = field(UINT16)
    security_protocol: int = field(INT16)


class BrokerFeature(Stored):
    name: str = field(STRING)
    min_supported_version: int = field(INT16)
    max_supported_version: int = field(INT16)


class RegisterBrokerRecord(Stored, key=0, versions="0-4", flexible="0+"):
    broker_id: int = field(INT32)
    is_migrating_zk_broker: bool = field(BOOL, versions="2+", default=False)
    incarnation_id: bytes = field(UUID)
    broker_epoch: int = field(INT64)
    end_points: list[BrokerEndpoint] = field(array(BrokerEndpoint))
    features: list[BrokerFeature] = field(array(BrokerFeature))
    rack: str | None = field(STRING, nullable="0+")
    fenced: bool = field(BOOL, default=True)  # true at registration; a change record lifts it
    in_controlled_shutdown: bool = field(BOOL, versions="1+", default=False)
    log_dirs: list[bytes] = field(array(UUID), versions="3+", default=[], tag=0)
    cordoned_log_dirs: list[bytes] | None = field(array(UUID), versions="4+", nullable="4+", default=None, tag=1)


class UnregisterBrokerRecord(Stored, key=1, versions="0", flexible="0+"):
    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64)


class TopicRecord(Stored, key=2, versions="0", flexible="0+"):
    name: str = field(STRING)
    topic_id: bytes = field(UUID)


class PartitionRecord(Stored, key=3, versions="0-2", flexible="0+"):
    partition_id: int = field(INT32, default=-1)
    topic_id: bytes = field(UUID)
    replicas: list[int] = field(array(INT32))
    isr: list[int] = field(array(INT32))
    removing_replicas: list[int] = field(array(INT32))
    adding_replicas: list[int] = field(array(INT32))
    leader: int = field(INT32, default=-1)  # -1: none
    leader_recovery_state: int = field(INT8, default=0, tag=0)  # 1: the leader was elected without being in sync
    leader_epoch: int = field(INT32, default=-1)
    partition_epoch: int = field(INT32, default=-1)
    directories: list[bytes] = field(array(UUID), versions="1+", default=[])  # parallel to replicas
    eligible_leader_replicas: list[int] | None = field(array(INT32), versions="2+", nullable="2+", default=None, tag=1)
    last_known_elr: list[int] | None = field(array(INT32), versions="2+", nullable="2+", default=None, tag=2)


class ConfigRecord(Stored, key=4, versions="0", flexible="0+"):
    resource_type: int = field(INT8)  # 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group
    resource_name: str = field(STRING)  # "" with type 4: the default of all brokers
    name: str = field(STRING)
    value: str | None = field(STRING, nullable="0+")  # null: reset to the default


class PartitionChangeRecord(Stored, key=5, versions="0-2", flexible="0+"):
    partition_id: int = field(INT32, default=-1)
    topic_id: bytes = field(UUID)
    isr: list[int] | None = field(array(INT32), nullable="0+", default=None, tag=0)  # null here and below: unchanged
    # -2: unchanged; else the leader epoch rises by one, even for the same leader
    leader: int = field(INT32, default=-2, tag=1)
    replicas: list[int] | None = field(array(INT32), nullable="0+", default=None, tag=2)
    removing_replicas: list[int] | None = field(array(INT32), nullable="0+", default=None, tag=3)
    adding_replicas: list[int] | None = field(array(INT32), nullable="0+", default=None, tag=4)
    leader_recovery_state: int = field(INT8, default=-1, tag=5)  # -1: unchanged
    directories: list[bytes] | None = field(array(UUID), versions="1+", nullable="1+", default=None, tag=8)
    eligible_leader_replicas: list[int] | None = field(array(INT32), versions="2+", nullable="2+", default=None, tag=6)
    last_known_elr: list[int] | None = field(array(INT32), versions="2+", nullable="2+", default=None, tag=7)


class FenceBrokerRecord(Stored, key=7, versions="0", flexible="0+"):
    """No longer written, still read."""

    id: int = field(INT32)
    epoch: int = field(INT64)


class UnfenceBrokerRecord(Stored, key=8, versions="0", flexible="0+"):
    """No longer written, still read."""

    id: int = field(INT32)
    epoch: int = field(INT64)


class RemoveTopicRecord(Stored, key=9, versions="0", flexible="0+"):
    topic_id: bytes = field(UUID)  # its partitions and its configs are removed with it


class DelegationTokenRecord(Stored, key=10, versions="0", flexible="0+"):
    owner: str = field(STRING)
    requester: str = field(STRING)
    renewers: list[str] = field(array(STRING))
    issue_timestamp: int = field(INT64)
    max_timestamp: int = field(INT64)
    expiration_timestamp: int = field(INT64)
    token_id: str = field(STRING)


class UserScramCredentialRecord(Stored, key=11, versions="0", flexible="0+"):
    name: str = field(STRING)
    mechanism: int = field(INT8)  # 1 SCRAM-SHA-256, 2 SCRAM-SHA-512
    salt: bytes = field(BYTES)
    stored_key: bytes = field(BYTES)
    server_key: bytes = field(BYTES)
    iterations: int = field(INT32)


class FeatureLevelRecord(Stored, key=12, versions="0", flexible="0+"):
    name: str = field(STRING)
    feature_level: int = field(INT16)  # 0: the feature is removed


class EntityData(Stored):
    entity_type: str = field(STRING)
    entity_name: str | None = field(STRING, nullable="0+")  # null: the default entity


class ClientQuotaRecord(Stored, key=14, versions="0", flexible="0+"):
    entity: list[EntityData] = field(array(EntityData))
    key: str = field(STRING)
    value: float = field(FLOAT64)
    remove: bool = field(BOOL)


class ProducerIdsRecord(Stored, key=15, versions="0", flexible="0+"):
    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64, default=-1)
    next_producer_id: int = field(INT64)  # the first id of the next block


class BrokerRegistrationChangeRecord(Stored, key=17, versions="0-3", flexible="0+"):
    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64)
    fenced: int = field(INT8, default=0, tag=0)  # 1 fence, -1 unfence, 0 no change
    in_controlled_shutdown: int = field(INT8, versions="1+", default=0, tag=1)  # 1 yes, 0 no change
    log_dirs: list[bytes] = field(array(UUID), versions="2+", default=[], tag=2)
    cordoned_log_dirs: list[bytes] | None = field(array(UUID), versions="3+", nullable="3+", default=None, tag=3)


class AccessControlEntryRecord(Stored, key=18, versions="0", flexible="0+"):
    id: bytes = field(UUID)
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    pattern_type: int = field(INT8)  # 3 literal, 4 prefixed
    principal: str = field(STRING)
    host: str = field(STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)  # 2 deny, 3 allow


class RemoveAccessControlEntryRecord(Stored, key=19, versions="0", flexible="0+"):
    id: bytes = field(UUID)


class NoOpRecord(Stored, key=20, versions="0", flexible="0+"):
    """A record without content, which moves the end of the log."""


class ZkMigrationStateRecord(Stored, key=21, versions="0", flexible="0+"):
    """A record from ZooKeeper times; ignored."""

    zk_migration_state: int = field(INT8)


class RemoveUserScramCredentialRecord(Stored, key=22, versions="0", flexible="0+"):
    name: str = field(STRING)
    mechanism: int = field(INT8)


class BeginTransactionRecord(Stored, key=23, versions="0", flexible="0+"):
    """The begin of a change of several batches that takes effect as a whole or not at all. Never in a snapshot."""

    name: str | None = field(STRING, nullable="0+", default=None, tag=0)


class EndTransactionRecord(Stored, key=24, versions="0", flexible="0+"):
    """The completion of a begun change."""


class AbortTransactionRecord(Stored, key=25, versions="0", flexible="0+"):
    """The rollback of everything since the begin of the change."""

    reason: str | None = field(STRING, nullable="0+", default=None, tag=0)


class RemoveDelegationTokenRecord(Stored, key=26, versions="0", flexible="0+"):
    token_id: str = field(STRING)


class ControllerEndpoint(Stored):
    name: str = field(STRING)
    host: str = field(STRING)
    port: int = field(UINT16)
    security_protocol: int = field(INT16)


class ControllerFeature(Stored):
    name: str = field(STRING)
    min_supported_version: int = field(INT16)
    max_supported_version: int = field(INT16)


class RegisterControllerRecord(Stored, key=27, versions="0", flexible="0+"):
    controller_id: int = field(INT32)
    incarnation_id: bytes = field(UUID)
    zk_migration_ready: bool = field(BOOL)
    end_points: list[ControllerEndpoint] = field(array(ControllerEndpoint))
    features: list[ControllerFeature] = field(array(ControllerFeature))


class ClearElrRecord(Stored, key=28, versions="0", flexible="0+"):
    topic_name: str = field(STRING)  # "": all topics


class UnregisterControllerRecord(Stored, key=29, versions="0", flexible="0+"):
    controller_id: int = field(INT32)


RECORDS: tuple[type[Stored], ...] = (
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
    TopicRecord,
    PartitionRecord,
    ConfigRecord,
    PartitionChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
    RemoveTopicRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
    FeatureLevelRecord,
    ClientQuotaRecord,
    ProducerIdsRecord,
    BrokerRegistrationChangeRecord,
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
    NoOpRecord,
    ZkMigrationStateRecord,
    RemoveUserScramCredentialRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    AbortTransactionRecord,
    RemoveDelegationTokenRecord,
    RegisterControllerRecord,
    ClearElrRecord,
    UnregisterControllerRecord,
)
_BY_KEY = {record.__schema__.key: record for record in RECORDS}
_FRAME_VERSION = 1


def encode_record(record: Stored, version: int) -> bytes:
    """Return the value of a log record: the frame around `record` in `version`."""
    key = type(record).__schema__.key
    if key is None:
        raise ValueError(f"{type(record).__name__} is not a record of the catalogue")
    return uvarint(_FRAME_VERSION) + uvarint(key) + uvarint(version) + codec(type(record), version).encode(record)


def decode_record(data: Buffer) -> tuple[Stored, int]:
    """Return the record in a log record's value, and its version. DecodeError if Kafka would refuse it, too."""
    frame_version, position = read_uvarint(data, 0)
    key, position = read_uvarint(data, position)
    version, position = read_uvarint(data, position)
    if frame_version != _FRAME_VERSION:
        raise DecodeError(f"a catalogue record in frame version {frame_version}; only {_FRAME_VERSION} is known")
    struct = _BY_KEY.get(key)
    if struct is None:
        raise DecodeError(f"no catalogue record has the key {key}")
    if version not in struct.__schema__.valid_versions:
        raise DecodeError(f"{struct.__name__} has no version {version}, only {struct.__schema__.versions}")
    record, end = codec(struct, version).decode(data, position)
    if end != len(data):
        raise DecodeError(f"{len(data) - end} bytes are left over behind a {struct.__name__}")
    return record, version
