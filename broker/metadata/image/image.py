"""The catalogue's state: topics, partitions, settings, quotas, features, producer ids. Only `replay` changes it.

Knows records, not bytes or files, and decides nothing: a replayed record has been written already. As strict as
Kafka's own replay: a record that cannot follow from the previous ones raises `ReplayError`, because guessing would lose
the state they describe.

Invariants: every topic is in `topics` and `topics_by_id`; partition n is at index n; `next_producer_id` only rises;
a partition's leader epoch rises with every PartitionChangeRecord that names a leader, its partition epoch with every
PartitionChangeRecord.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, NamedTuple

from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.files.meta_properties import is_reserved_directory_id
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC
from barnabas.protocol.log_records import catalogue as records

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
LOGGER_RESOURCE = 8
CLIENT_METRICS_RESOURCE = 16
GROUP_RESOURCE = 32
RESOURCES = {
    TOPIC_RESOURCE: "topic",
    BROKER_RESOURCE: "broker",
    CLIENT_METRICS_RESOURCE: "client-metrics",
    GROUP_RESOURCE: "group",
}
"""The resource types that have settings in the catalogue, with their names."""

NO_LEADER = -1
LEADER_UNCHANGED = -2
_NEVER = -1

METADATA_VERSION = "metadata.version"
INTERNAL_TOPICS = frozenset((CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, SHARE_GROUP_STATE_TOPIC))

# The levels that this version can read: 7 is the lowest Kafka 4 accepts, 33 is 4.4's. The others as in Kafka 4.4.0.
SUPPORTED_FEATURES = {
    METADATA_VERSION: (7, 33),
    "eligible.leader.replicas.version": (0, 1),
    "group.version": (0, 1),
    "kraft.version": (0, 1),
    "share.version": (0, 2),
    "streams.version": (0, 1),
    "transaction.version": (0, 2),
}


QuotaEntity = tuple[tuple[str, str | None], ...]
"""The entity of a client quota: types and names, in order of the types. A name of None is the default."""


def quota_entity(parts: Mapping[str, str | None]) -> QuotaEntity:
    """Return the entity that has these parts."""
    return tuple((kind, parts[kind]) for kind in sorted(parts))


class ReplayError(Exception):
    """A record that cannot follow from the previous ones. str() names the record and the reason."""


class Partition:
    """A partition in the catalogue. `elected_in`: the run (raft epoch) that last made this node its leader.

    directory_id: the data directory that contains it, 16 bytes; empty if the records name none.
    """

    __slots__ = ("directory_id", "elected_in", "leader", "leader_epoch", "partition_epoch")

    def __init__(
        self, leader: int, leader_epoch: int, partition_epoch: int, elected_in: int, directory_id: bytes = b""
    ) -> None:
        self.directory_id = directory_id
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.elected_in = elected_in


class TopicImage:
    """A topic: its id (16 bytes), its partitions in order, and its own settings, as text."""

    __slots__ = ("configs", "name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: bytes, configs: dict[str, str]) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions: list[Partition] = []
        self.configs = configs

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


class Registration(NamedTuple):
    """The registration of this broker in the catalogue. `record` is the one that registered it."""

    broker_epoch: int
    fenced: bool
    record: records.RegisterBrokerRecord


_MISSING = Partition(NO_LEADER, _NEVER, _NEVER, _NEVER)


def folded_name(name: str) -> str | None:
    """Return the topic's name in metrics; None if it has neither `.` nor `_`, so that no other name is folded to it."""
    return name.replace(".", "_") if "." in name or "_" in name else None


class Image:
    """The replayed catalogue of one node."""

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.topics: dict[str, TopicImage] = {}
        self.topics_by_id: dict[bytes, TopicImage] = {}
        self.folded: dict[str, list[str]] = {}
        """The topics whose names have a `.` or a `_` in them, by the name with `_` alone."""
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.features: dict[str, int] = {}
        self.quotas: dict[QuotaEntity, dict[str, float]] = {}
        self.next_producer_id = 0
        self.registration: Registration | None = None
        self.scram: dict[tuple[str, int], records.UserScramCredentialRecord] = {}
        """The SCRAM credentials of users, by user and mechanism."""
        self.partitions_in: Counter[bytes] = Counter()
        """The number of partitions in each data directory, by its id."""
        self._directory_ids: dict[bytes, bytes] = {}  # one object each, shared by all partitions that name it

    @property
    def metadata_version(self) -> int:
        """The level that determines which record versions are written; 0 if there is none yet."""
        return self.features.get(METADATA_VERSION, 0)

    @property
    def tracks_eligible_replicas(self) -> bool:
        """Whether leaderless partitions keep their replicas in ELR instead of the ISR (KIP-966)."""
        return self.features.get("eligible.leader.replicas.version", 0) > 0

    def replay(self, record: Stored, epoch: int) -> None:
        """Apply one record of the raft epoch `epoch`."""
        apply = _APPLY.get(type(record))
        if apply is not None:
            apply(self, record, epoch)

    def check_complete(self) -> None:
        """Raise ReplayError if a topic lacks partitions: checked at the end, because they may come in any order."""
        for topic in self.topics.values():
            if _MISSING in topic.partitions:
                raise ReplayError(f"topic {topic.name} lacks partition {topic.partitions.index(_MISSING)}")

    # --- topics ---

    def _topic(self, record: records.TopicRecord, epoch: int) -> None:
        if record.name in self.topics or record.topic_id in self.topics_by_id:
            raise ReplayError(f"TopicRecord: topic {record.name} (or its id) exists already")
        configs = self.configs.setdefault((TOPIC_RESOURCE, record.name), {})
        topic = TopicImage(record.name, record.topic_id, configs)
        self.topics[topic.name] = topic
        self.topics_by_id[topic.topic_id] = topic
        if (folded := folded_name(topic.name)) is not None:
            self.folded.setdefault(folded, []).append(topic.name)

    def _remove_topic(self, record: records.RemoveTopicRecord, epoch: int) -> None:
        topic = self._find("RemoveTopicRecord", record.topic_id)
        self.partitions_in.subtract(partition.directory_id for partition in topic.partitions)
        del self.topics[topic.name]
        del self.topics_by_id[topic.topic_id]
        if (folded := folded_name(topic.name)) is not None:
            self.folded[folded].remove(topic.name)
            if not self.folded[folded]:
                del self.folded[folded]
        self.configs.pop((TOPIC_RESOURCE, topic.name), None)

    def _partition(self, record: records.PartitionRecord, epoch: int) -> None:
        topic = self._find("PartitionRecord", record.topic_id)
        self._check_replicas(topic, record.replicas, record.removing_replicas, record.adding_replicas)
        number = record.partition_id
        if number < 0:
            raise ReplayError(f"PartitionRecord: partition {number} of topic {topic.name}")
        while len(topic.partitions) <= number:
            topic.partitions.append(_MISSING)
        # Kafka interprets a second PartitionRecord as the new state of the same partition
        directory_id = self._directory_id(record.directories)
        self.partitions_in[topic.partitions[number].directory_id] -= topic.partitions[number] is not _MISSING
        self.partitions_in[directory_id] += 1
        topic.partitions[number] = Partition(
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
            epoch if record.leader == self.node_id else _NEVER,
            directory_id,
        )

    def _partition_change(self, record: records.PartitionChangeRecord, epoch: int) -> None:
        topic = self._find("PartitionChangeRecord", record.topic_id)
        number = record.partition_id
        if not 0 <= number < len(topic.partitions) or topic.partitions[number] is _MISSING:
            raise ReplayError(f"PartitionChangeRecord: topic {topic.name} has no partition {number}")
        self._check_replicas(topic, record.replicas, record.removing_replicas, record.adding_replicas)
        partition = topic.partitions[number]
        partition.partition_epoch += 1
        if record.directories is not None:
            self.partitions_in[partition.directory_id] -= 1
            partition.directory_id = self._directory_id(record.directories)
            self.partitions_in[partition.directory_id] += 1
        if record.leader != LEADER_UNCHANGED:
            partition.leader = record.leader
            partition.leader_epoch += 1
            partition.elected_in = epoch if record.leader == self.node_id else _NEVER

    def _directory_id(self, directories: list[bytes]) -> bytes:
        """Return the directory of this node's replica; empty if none is named, or only that one is yet to be found."""
        named = directories[0] if directories else b""
        return b"" if is_reserved_directory_id(named) else self._directory_ids.setdefault(named, named)

    def _check_replicas(self, topic: TopicImage, replicas: list[int] | None, *moving: list[int] | None) -> None:
        if (replicas is not None and replicas != [self.node_id]) or any(moving):
            raise ReplayError(
                f"topic {topic.name} has replicas {replicas} (moving: {[m for m in moving if m]}): "
                f"only directories of the single node {self.node_id} can be opened"
            )

    def _find(self, what: str, topic_id: bytes) -> TopicImage:
        topic = self.topics_by_id.get(topic_id)
        if topic is None:
            raise ReplayError(f"{what}: there is no topic with id {topic_id.hex()}")
        return topic

    # --- other records ---

    def _config(self, record: records.ConfigRecord, epoch: int) -> None:
        configs = self.configs.setdefault((record.resource_type, record.resource_name), {})
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value

    def _client_quota(self, record: records.ClientQuotaRecord, epoch: int) -> None:
        parts = record.entity
        if len(parts) == 1:  # the usual case
            entity: QuotaEntity = ((parts[0].entity_type, parts[0].entity_name),)
        else:
            entity = quota_entity({part.entity_type: part.entity_name for part in parts})
        quotas = self.quotas.setdefault(entity, {})
        if record.remove:
            quotas.pop(record.key, None)
        else:
            quotas[record.key] = record.value
        if not quotas:
            del self.quotas[entity]

    def _feature_level(self, record: records.FeatureLevelRecord, epoch: int) -> None:
        low, high = SUPPORTED_FEATURES.get(record.name, (0, 0))
        level = record.feature_level
        if level != 0 and not low <= level <= high:
            raise ReplayError(f"feature {record.name} is at level {level}: this version knows {low} to {high}")
        if record.name == "kraft.version":
            return  # never stored as a feature level; Kafka skips a stray one
        if level == 0:
            self.features.pop(record.name, None)
        else:
            self.features[record.name] = level

    def _scram(self, record: records.UserScramCredentialRecord, epoch: int) -> None:
        self.scram[record.name, record.mechanism] = record

    def _remove_scram(self, record: records.RemoveUserScramCredentialRecord, epoch: int) -> None:
        if self.scram.pop((record.name, record.mechanism), None) is None:
            raise ReplayError("RemoveUserScramCredentialRecord: there is no such credential")

    def _producer_ids(self, record: records.ProducerIdsRecord, epoch: int) -> None:
        if record.next_producer_id <= self.next_producer_id:
            raise ReplayError(
                f"ProducerIdsRecord: next producer id {record.next_producer_id} "
                f"does not rise above {self.next_producer_id}"
            )
        self.next_producer_id = record.next_producer_id

    def _register_broker(self, record: records.RegisterBrokerRecord, epoch: int) -> None:
        if record.broker_id != self.node_id:
            raise ReplayError(f"broker {record.broker_id} is registered in the log of node {self.node_id}")
        self.registration = Registration(record.broker_epoch, record.fenced, record)

    def _unregister_broker(self, record: records.UnregisterBrokerRecord, epoch: int) -> None:
        self._registered("UnregisterBrokerRecord", record.broker_id, record.broker_epoch)
        self.registration = None

    def _registration_change(self, record: records.BrokerRegistrationChangeRecord, epoch: int) -> None:
        registration = self._registered("BrokerRegistrationChangeRecord", record.broker_id, record.broker_epoch)
        if record.log_dirs:
            made_with = copy(registration.record)
            made_with.log_dirs = record.log_dirs
            self.registration = registration = registration._replace(record=made_with)
        if record.fenced != 0:
            self.registration = registration._replace(fenced=record.fenced == 1)

    def _fence(self, record: records.FenceBrokerRecord, epoch: int) -> None:
        self.registration = self._registered("FenceBrokerRecord", record.id, record.epoch)._replace(fenced=True)

    def _unfence(self, record: records.UnfenceBrokerRecord, epoch: int) -> None:
        self.registration = self._registered("UnfenceBrokerRecord", record.id, record.epoch)._replace(fenced=False)

    def _registered(self, what: str, broker_id: int, broker_epoch: int) -> Registration:
        registration = self.registration
        if broker_id != self.node_id or registration is None or registration.broker_epoch != broker_epoch:
            raise ReplayError(f"{what}: broker {broker_id} with epoch {broker_epoch} is not registered")
        return registration


# Types that are not here change nothing in this image: no-ops, ELR, and the carried records (unchanged_records.py).
_APPLY: dict[type[Stored], Callable[[Image, Any, int], None]] = {
    records.TopicRecord: Image._topic,
    records.RemoveTopicRecord: Image._remove_topic,
    records.PartitionRecord: Image._partition,
    records.PartitionChangeRecord: Image._partition_change,
    records.ConfigRecord: Image._config,
    records.ClientQuotaRecord: Image._client_quota,
    records.FeatureLevelRecord: Image._feature_level,
    records.ProducerIdsRecord: Image._producer_ids,
    records.UserScramCredentialRecord: Image._scram,
    records.RemoveUserScramCredentialRecord: Image._remove_scram,
    records.RegisterBrokerRecord: Image._register_broker,
    records.UnregisterBrokerRecord: Image._unregister_broker,
    records.BrokerRegistrationChangeRecord: Image._registration_change,
    records.FenceBrokerRecord: Image._fence,
    records.UnfenceBrokerRecord: Image._unfence,
}
