"""How topics are created, extended and deleted: pure decisions that turn a request into records or a refusal.

Knows Kafka's rules, error codes and messages for them; writes nothing and changes nothing. The rules and their order
are those of Apache Kafka 4.4.0's ReplicationControlManager. Replicas are checked here and are in no record: in the
catalogue all partitions are on this node alone, even if other nodes share its directory
(`broker/metadata/cluster/topology.py`).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.resources.topic_configs import CREATED_PARTITIONS_MAX, validate
from barnabas.broker.metadata.image.framing import Versioned
from barnabas.broker.metadata.image.image import NO_LEADER, TOPIC_RESOURCE, Image, TopicImage, folded_name
from barnabas.broker.metadata.image.node_identity import NodeIdentity
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import (
    CLUSTER_METADATA_TOPIC,
    CONSUMER_OFFSETS_TOPIC,
    SHARE_GROUP_STATE_TOPIC,
    TOPIC_NAME_MAX,
    TRANSACTION_STATE_TOPIC,
    is_topic_name,
)
from barnabas.protocol.log_records.catalogue import (
    ClearElrRecord,
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from barnabas.protocol.primitives import random_uuid

DIRECTORIES_LEVEL = 17
"""The lowest metadata.version at which partitions name their data directories."""
_ELIGIBLE_REPLICAS_LEVEL = 23  # the lowest level at which they have eligible leader replicas


Admit = Callable[[int], None]
"""Called as the last check before a number of partitions is created. Raises KafkaError if it is not allowed."""


class NewTopic(NamedTuple):
    """A requested topic. -1: the broker's default. `assignments`: broker ids by partition, for a manual assignment."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    assignments: Sequence[tuple[int, Sequence[int]]] = ()
    configs: Mapping[str, str | None] = {}
    admit: Admit | None = None


class CreatedTopic(NamedTuple):
    """A topic that was created, or would have been with validate_only."""

    name: str
    topic_id: bytes
    num_partitions: int
    replication_factor: int
    configs: dict[str, str]
    assignments: Sequence[Sequence[int]] = ()
    """The replicas of each partition, if the request names them."""


class NewPartitions(NamedTuple):
    """A request for `total` partitions in all. `assignments`: broker ids of each new partition, None for automatic."""

    name: str
    total: int
    assignments: Sequence[Sequence[int]] | None = None
    admit: Admit | None = None


class Writer(NamedTuple):
    """The input for records, besides the request: this node's identity and the image, whose level limits the records.

    place: chooses the data directory of a new partition, if there are several.
    """

    identity: NodeIdentity
    image: Image
    brokers: Collection[int]
    """The ids of the nodes that a partition may have replicas on."""
    stopped: Collection[int] = ()
    """The ids of those nodes that are not running."""
    place: Callable[[], bytes] | None = None

    def partition(self, topic_id: bytes, number: int, directory_id: bytes = b"") -> Versioned:
        """Return the record of a partition led by this node from the start. directory_id: its directory, if not new."""
        me = [self.identity.node_id]
        version = self._partition_version()
        record = PartitionRecord(
            partition_id=number,
            topic_id=topic_id,
            replicas=me,
            isr=me,
            removing_replicas=[],
            adding_replicas=[],
            leader=me[0],
            leader_epoch=0,
            partition_epoch=0,
            directories=[directory_id or self._place()] if version >= 1 else [],
        )
        return Versioned(record, version)

    def _place(self) -> bytes:
        return self.identity.directory_id if self.place is None else self.place()

    def assignment(self, topic_id: bytes, number: int, directory_id: bytes) -> Versioned:
        """Return the record that moves the partition to another data directory. Requires level 17 or higher."""
        change = PartitionChangeRecord(partition_id=number, topic_id=topic_id, directories=[directory_id])
        return Versioned(change, self._partition_version())

    def election(self, topic_id: bytes, number: int) -> Versioned:
        """Return the record that makes this node the partition's leader and raises its leader epoch."""
        return self._change(topic_id, number, self.identity.node_id)

    def resignations(self) -> list[Versioned]:
        """Return the records that end the leadership of this broker for all its partitions."""
        return [
            self.resignation(topic.topic_id, number)
            for topic in self.image.topics.values()
            for number, partition in enumerate(topic.partitions)
            if partition.leader != NO_LEADER
        ]

    def resignation(self, topic_id: bytes, number: int) -> Versioned:
        """Return the record that leaves the partition without a leader, as a clean stop does; a later start elects."""
        return self._change(topic_id, number, NO_LEADER)

    def _change(self, topic_id: bytes, number: int, leader: int) -> Versioned:
        me = [self.identity.node_id]
        change = PartitionChangeRecord(partition_id=number, topic_id=topic_id, leader=leader, isr=me)
        if self.image.tracks_eligible_replicas:
            is_led = leader != NO_LEADER
            change.isr = me if is_led else []
            change.eligible_leader_replicas = change.last_known_elr = [] if is_led else me
        return Versioned(change, self._partition_version())

    @property
    def names_directories(self) -> bool:
        """Whether the image's level has records that name the data directories of partitions."""
        return self.image.metadata_version >= DIRECTORIES_LEVEL

    def _partition_version(self) -> int:
        level = self.image.metadata_version
        return (level >= DIRECTORIES_LEVEL) + (level >= _ELIGIBLE_REPLICAS_LEVEL)

    def configs(self, name: str, configs: Mapping[str, str | None]) -> list[Versioned]:
        """Return the records that give a topic these settings; None removes a setting."""
        out = [
            Versioned(ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name=name, name=key, value=value))
            for key, value in configs.items()
        ]
        if "min.insync.replicas" in configs and self.image.tracks_eligible_replicas:
            out.append(Versioned(ClearElrRecord(topic_name=name)))
        return out


Outcome = tuple[list[Versioned], CreatedTopic]
T = TypeVar("T")


def create_topic(wish: NewTopic, writer: Writer, config: BrokerConfig, random_bytes: Callable[[int], bytes]) -> Outcome:
    """Return the records of a new topic, and its description. Raise KafkaError with Kafka's code if not allowed."""
    image = writer.image
    check_name(wish.name)
    if wish.name in image.topics:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{wish.name}' already exists.")
    _check_collision(wish.name, image)
    own = {name: text for name, text in wish.configs.items() if text is not None}
    validate(wish.configs, config)
    count, replication_factor = _partition_count(wish, writer, config)
    if wish.admit is not None:
        wish.admit(count)
    assignments = [brokers for _, brokers in sorted(wish.assignments)]
    created = CreatedTopic(wish.name, new_topic_id(image, random_bytes), count, replication_factor, own, assignments)
    records = [
        Versioned(TopicRecord(name=created.name, topic_id=created.topic_id)),
        *writer.configs(created.name, own),
        *(writer.partition(created.topic_id, number) for number in range(count)),
    ]
    return records, created


_PREFIXES = {
    CONSUMER_OFFSETS_TOPIC: "offsets.topic",
    TRANSACTION_STATE_TOPIC: "transaction.state.log",
    SHARE_GROUP_STATE_TOPIC: "share.coordinator.state.topic",
}
"""How the settings of the coordinators' topics begin."""


def replication_factor_key(name: str) -> str:
    """Return the key of the setting for the replication factor of a coordinator's topic."""
    return f"{_PREFIXES[name]}.replication.factor"


def internal_topic(name: str, setting: Callable[[str], int]) -> tuple[int, dict[str, str]]:
    """Return the number of partitions of a coordinator's topic, and the settings it is created with."""
    if name == CONSUMER_OFFSETS_TOPIC:
        return setting("offsets.topic.num.partitions"), {
            "compression.type": "producer",
            "cleanup.policy": "compact",
            "segment.bytes": str(setting("offsets.topic.segment.bytes")),
        }
    if name == SHARE_GROUP_STATE_TOPIC:
        return setting("share.coordinator.state.topic.num.partitions"), {
            "compression.type": "producer",
            "cleanup.policy": "delete",
            "retention.ms": "-1",
            "min.insync.replicas": str(setting("share.coordinator.state.topic.min.isr")),
            "segment.bytes": str(setting("share.coordinator.state.topic.segment.bytes")),
        }
    assert name == TRANSACTION_STATE_TOPIC
    return setting("transaction.state.log.num.partitions"), {
        "unclean.leader.election.enable": "false",
        "compression.type": "uncompressed",
        "cleanup.policy": "compact",
        "min.insync.replicas": str(setting("transaction.state.log.min.isr")),
        "segment.bytes": str(setting("transaction.state.log.segment.bytes")),
    }


def check_name(name: str) -> None:
    """Raise KafkaError INVALID_TOPIC_EXCEPTION if the topic name is invalid, INVALID_REQUEST for the metadata topic."""
    if name == "":
        why = "the empty string is not allowed"
    elif name in (".", ".."):
        why = f"'{name}' is not allowed"
    elif len(name) > TOPIC_NAME_MAX:
        why = f"the length of '{name}' is longer than the max allowed length {TOPIC_NAME_MAX}"
    elif not is_topic_name(name):
        why = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    elif name == CLUSTER_METADATA_TOPIC:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited.")
    else:
        return
    raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {why}")


def _check_collision(name: str, image: Image) -> None:
    """Refuse a name that differs from another only in `.` and `_`, as Kafka does: both would have the same metrics."""
    folded = folded_name(name)
    if folded is not None and folded in image.folded:
        existing = image.folded[folded][0]
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {existing}")


def _partition_count(wish: NewTopic, writer: Writer, config: BrokerConfig) -> tuple[int, int]:
    """Return the number of partitions and the replication factor."""
    if wish.assignments:
        return _assigned_count(wish, writer), len(wish.assignments[0][1])
    if wish.replication_factor < -1 or wish.replication_factor == 0:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if wish.num_partitions < -1 or wish.num_partitions == 0:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
    default = config.integer("default.replication.factor")
    replication_factor = default if wish.replication_factor == -1 else wish.replication_factor
    brokers = len(writer.brokers)
    if replication_factor > brokers:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): "
            f"The target replication factor of {replication_factor} cannot be reached because "
            f"only {brokers} broker(s) are registered or some brokers have all their log directories cordoned.",
        )
    return config.integer("num.partitions") if wish.num_partitions == -1 else wish.num_partitions, replication_factor


def _assigned_count(wish: NewTopic, writer: Writer) -> int:
    if wish.replication_factor != -1:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        )
    if wish.num_partitions != -1:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        )
    numbers = Counter(number for number, _ in wish.assignments)
    factor = None
    for number, brokers in wish.assignments:
        if numbers[number] > 1:
            raise _bad_assignment(f"Found multiple manual partition assignments for partition {number}")
        _check_assignment(number, brokers, writer, factor)
        factor = len(brokers)
    if sorted(numbers) != list(range(len(numbers))):
        raise _bad_assignment("partitions should be a consecutive 0-based integer sequence")
    return len(numbers)


def _check_assignment(number: int, brokers: Sequence[int], writer: Writer, factor: int | None) -> None:
    """Raise KafkaError INVALID_REPLICA_ASSIGNMENT unless a new partition may have these replicas."""
    check_replicas(brokers, writer.brokers, factor)
    if all(broker in writer.stopped for broker in brokers):
        raise _bad_assignment(
            f"All brokers specified in the manual partition assignment for partition {number} are fenced or in "
            "controlled shutdown."
        )


def check_replicas(brokers: Sequence[int], registered: Collection[int], factor: int | None = None) -> None:
    """Raise INVALID_REPLICA_ASSIGNMENT unless the replicas are distinct existing nodes, `factor` of them if given."""
    if not brokers:
        raise _bad_assignment("The manual partition assignment includes an empty replica list.")
    before = None
    for broker in sorted(brokers):
        if broker not in registered:
            raise _bad_assignment(
                f"The manual partition assignment includes broker {broker}, but no such broker is registered."
            )
        if broker == before:
            raise _bad_assignment(f"The manual partition assignment includes the broker {broker} more than once.")
        before = broker
    if factor is not None and len(brokers) != factor:
        raise _bad_assignment(
            f"The manual partition assignment includes a partition with {len(brokers)} replica(s), but this is not "
            f"consistent with previous partitions, which have {factor} replica(s)."
        )


def _bad_assignment(sentence: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, sentence)


def new_topic_id(image: Image, random_bytes: Callable[[int], bytes]) -> bytes:
    """Return a random UUID that no topic has. Those that Kafka reserves are not of version 4."""
    while True:
        topic_id = random_uuid(random_bytes)
        if topic_id not in image.topics_by_id:
            return topic_id


def additional(wish: NewPartitions, topics: Mapping[str, TopicImage]) -> int:
    """Return the number of partitions that the request adds, if it is allowed."""
    topic = topics.get(wish.name)
    return 0 if topic is None else max(0, wish.total - len(topic.partitions))


def create_partitions(wish: NewPartitions, writer: Writer, factor: int = 1) -> list[Versioned]:
    """Return the records of the partitions to add to a topic. Raise KafkaError with Kafka's code if not allowed.

    `factor`: the replication factor of the topic.
    """
    topic = writer.image.topics.get(wish.name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
    have = len(topic.partitions)
    if wish.total == have:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {have} partition(s).")
    if wish.total < have:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {wish.name} currently has {have} partition(s); {wish.total} would not be an increase.",
        )
    if wish.assignments is not None:
        if len(wish.assignments) != wish.total - have:
            raise _bad_assignment(
                f"Attempted to add {wish.total - have} additional partition(s), "
                f"but only {len(wish.assignments)} assignment(s) were specified."
            )
        for number, brokers in enumerate(wish.assignments, have):
            _check_assignment(number, brokers, writer, factor)
    if wish.admit is not None:
        wish.admit(wish.total - have)
    return [writer.partition(topic.topic_id, number) for number in range(have, wish.total)]


def delete_topic(topic: TopicImage) -> list[Versioned]:
    """Return the record that removes a topic with its partitions and settings."""
    return [Versioned(RemoveTopicRecord(topic_id=topic.topic_id))]


def check_request_size(counts: Iterable[int], what: str = "partitions") -> None:
    """Raise POLICY_VIOLATION if one request would create more partitions than Kafka creates at once."""
    if sum(counts) > CREATED_PARTITIONS_MAX:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"Excessively large number of {what} per request.")


def duplicates(items: Iterable[T]) -> set[T]:
    """Return the items that occur more than once."""
    return {item for item, times in Counter(items).items() if times > 1}
