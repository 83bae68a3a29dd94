"""The catalogue: the metadata of this cluster, stored in `__cluster_metadata-0` in Kafka's own records.

Every change is decided (`image/topic_changes.py`, `config_alterations.py`: pure), appended as one batch and synced,
replayed into the image (`journal.py`), reported to the listeners, and only then answered. So after any crash a change
is either complete or absent, and every change that was answered is present.

Leader epochs: a run raises the epoch of a partition when it first uses it, not of every partition at start. The epoch
that clients get before that (`current_leader_epoch`) is already the epoch it will have. A clean stop records that the
partitions that were used have no leader, as a cleanly stopped Kafka does. So the cost of start and stop depends on the
number of partitions that were used, not on the number that exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.resources.dynamic import usable
from barnabas.broker.metadata.catalogue.listener import CatalogueListener, Placing
from barnabas.broker.metadata.catalogue.topic_events import report_creating
from barnabas.broker.metadata.image.broker_registration import fenced, registered_with
from barnabas.broker.metadata.image.client_quotas import ClientQuotas
from barnabas.broker.metadata.image.directory_choice import DirectoryChoice
from barnabas.broker.metadata.image.features import FeatureUpdate, update_features, updates_to
from barnabas.broker.metadata.image.framing import Change, Versioned
from barnabas.broker.metadata.image.image import BROKER_RESOURCE, RESOURCES, Partition, TopicImage
from barnabas.broker.metadata.image.node_identity import NodeIdentity
from barnabas.broker.metadata.image.topic_changes import (
    CreatedTopic,
    NewPartitions,
    NewTopic,
    Writer,
    additional,
    check_request_size,
    create_partitions,
    create_topic,
    delete_topic,
    internal_topic,
)
from barnabas.broker.metadata.log.journal import Journal, failed
from barnabas.broker.metadata.log.quorum import Leadership
from barnabas.broker.runtime.events.events import Events
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import BOOTSTRAP_CHECKPOINT
from barnabas.protocol.log_records.catalogue import ConfigRecord, ProducerIdsRecord
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.broker.metadata.catalogue.config_alterations import Alteration, SettingsWish
    from barnabas.broker.metadata.image.scram_users import ScramUsers

_log = logger("catalogue")

PRODUCER_IDS_PER_BLOCK = 1000
_CHANGES_PER_BATCH = 10_000
_DELETED_NAMES_MAX = 1_000  # of 249 bytes at most


class Catalogue:
    """The cluster's metadata, and the only way to change it. Used on one thread; a change blocks until it is synced."""

    def __init__(
        self, journal: Journal, identity: NodeIdentity, config: BrokerConfig, random_bytes: Callable[[int], bytes]
    ) -> None:
        self.events = Events()
        """Receives an event before topics are created: the broker's events, set once it has opened the catalogue."""
        self.journal, self._image = journal, journal.image
        self._identity, self._config, self._random_bytes = identity, config, random_bytes
        self._writer = Writer(identity, self._image, (identity.node_id,))
        self.places = DirectoryChoice(self._image, lambda: (identity.directory_id,))
        self.client_quotas = ClientQuotas(self._image, self.commit)
        self._placing: Placing | None = None
        self._listeners: list[CatalogueListener] = []
        self._deleted_names: dict[str, None] = {}  # deleted in this run and not created again; the latest last
        self.carried = journal.carried  # the records that the image does not contain
        self.topics: Mapping[str, TopicImage] = self._image.topics
        self.topics_by_id: Mapping[bytes, TopicImage] = self._image.topics_by_id
        self._follow_broker_configs()

    @classmethod
    def open(
        cls,
        directory: Directory,
        *,
        node_id: int,
        directory_id: bytes,
        config: BrokerConfig,
        now_ms: Callable[[], int],
        random_bytes: Callable[[int], bytes],
        was_clean: bool = False,
    ) -> Catalogue:
        """Open the catalogue in `__cluster_metadata-0`; create a new one if there is none.

        Raise CatalogueError if it is damaged or may not be opened by this node, StorageError if the disk fails.
        `config` is updated with the dynamic settings of the broker. was_clean: the last run ended cleanly.
        """
        identity = NodeIdentity(node_id, directory_id)
        snapshot_bytes = config.integer("metadata.log.max.record.bytes.between.snapshots")
        journal = Journal(directory, identity, now_ms, snapshot_bytes, was_clean=was_clean)
        bootstrap = None if directory.parent is None else directory.parent.read(BOOTSTRAP_CHECKPOINT)
        journal.begin(bootstrap, config.advertised_listeners, random_bytes(16))
        return cls(journal, identity, config, random_bytes)

    def subscribe(self, listener: CatalogueListener) -> None:
        """Report every change from now on to `listener`."""
        self._listeners.append(listener)

    def place_with(self, placing: Placing) -> None:
        """Allow topics to have replicas on several nodes from now on; `placing` stores the replicas."""
        self._placing = placing
        self._writer = self._writer._replace(brokers=placing.brokers, stopped=placing.stopped)

    def close(self) -> None:
        """Write the records of a clean shutdown and close the log. Raise StorageError if the disk fails."""
        led = self._writer.resignations()
        for start in range(0, len(led), _CHANGES_PER_BATCH):
            self.journal.commit(led[start : start + _CHANGES_PER_BATCH])
        self.journal.commit(fenced(self._image))
        self.journal.close()

    # --- queries ---

    @property
    def feature_levels(self) -> Mapping[str, int]:
        """Finalized levels by feature."""
        return self._image.features

    def feature_level(self, name: str) -> int:
        """Return the finalized level of a feature; 0 if it has none. Call it at each decision: the level may change."""
        return self._image.features.get(name, 0)

    @property
    def features_epoch(self) -> int:
        """A number that rises whenever the feature levels may have changed."""
        return self.journal.end_offset

    @property
    def broker_epoch(self) -> int:
        """The epoch of this broker's registration, for the clean-shutdown marker; -1 without one."""
        registration = self._image.registration
        return -1 if registration is None else registration.broker_epoch

    @property
    def leadership(self) -> Leadership:
        """The state of the quorum, of which this node is the only voter."""
        return Leadership(*self._identity, self.journal.epoch, self.journal.end_offset)

    def was_deleted(self, name: str) -> bool:
        """Return whether a topic of this name was deleted in this run and not created again, as far as remembered."""
        return name in self._deleted_names

    def configs_of(self, resource_type: int, name: str) -> Mapping[str, str]:
        """Return the settings that are set for a resource."""
        return self._image.configs.get((resource_type, name), {})

    def configured(self, resource_type: int) -> list[str]:
        """Return the names of the resources of a type that have settings."""
        return [name for (kind, name), configs in self._image.configs.items() if kind == resource_type and configs]

    def current_leader_epoch(self, topic: str, partition: int) -> int:
        """Return the leader epoch that clients get. Raises KafkaError UNKNOWN_TOPIC_OR_PARTITION."""
        return self.announced_epoch(self._partition(topic, partition))

    def announced_epoch(self, partition: Partition) -> int:
        """Return the leader epoch that clients get: the one of this run, or the one at first use in this run."""
        return partition.leader_epoch + (partition.elected_in != self.journal.epoch)

    def _partition(self, topic: str, partition: int) -> Partition:
        found = self.topics.get(topic)
        if found is None or not 0 <= partition < len(found.partitions):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no partition {topic}-{partition}.")
        return found.partitions[partition]

    @property
    def users(self) -> ScramUsers:
        """The users of SCRAM."""
        from barnabas.broker.metadata.image.scram_users import ScramUsers  # mechanisms that few brokers need

        return ScramUsers(self._image, self.commit)

    # --- changes ---

    def leader_epoch(self, topic: str, partition: int) -> int:
        """Return the leader epoch to append with. Raises it, durably, at the first use in this run."""
        found = self._partition(topic, partition)
        if found.elected_in != self.journal.epoch:
            self.lead([(topic, partition)])
        return found.leader_epoch

    def lead(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Raise the leader epochs of those partitions that were not used in this run, in as few batches as possible."""
        elections = [
            self._writer.election(self.topics[topic].topic_id, number)
            for topic, number in partitions
            if self._partition(topic, number).elected_in != self.journal.epoch
        ]
        self._commit_each(elections)

    def raise_leader_epochs(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Raise, durably, the epochs that clients get, as other nodes lead these partitions now. Raises KafkaError."""
        elections: list[Versioned] = []
        for topic, number in partitions:
            is_announced_only = self._partition(topic, number).elected_in != self.journal.epoch
            election = self._writer.election(self.topics[topic].topic_id, number)
            elections += [election] * (1 + is_announced_only)  # the first raises it to the announced epoch
        self._commit_each(elections)

    def create_topics(
        self, wishes: Sequence[NewTopic], *, validate_only: bool = False
    ) -> list[CreatedTopic | KafkaError]:
        """Create the valid topics, all in one batch. Raise KafkaError if none was: invalid request or disk failure."""
        check_request_size(max(wish.num_partitions, 1) for wish in wishes)
        self.places.begin()
        results: list[CreatedTopic | KafkaError] = []
        records: list[Versioned] = []
        for wish in wishes:
            try:
                needed, result = create_topic(wish, self._writer, self._config, self._random_bytes)
            except KafkaError as refusal:
                results.append(refusal.as_value())
            else:
                results.append(result)
                records += needed
        if not validate_only:
            if self.events.is_on:
                report_creating(self.events, results)
            created = [result for result in results if isinstance(result, CreatedTopic)]
            self.commit(records, None if self._placing is None else self._placing.placing(created))
            for each in created:
                self._created(self.topics[each.name])
        return results

    def create_topic(
        self, name: str, num_partitions: int = -1, configs: Mapping[str, str | None] | None = None, factor: int = -1
    ) -> TopicImage:
        """Create one topic. Raise KafkaError if it is not allowed."""
        (result,) = self.create_topics([NewTopic(name, num_partitions, factor, configs=configs or {})])
        if isinstance(result, KafkaError):
            raise result
        return self.topics[name]

    def create_internal_topic(self, name: str) -> TopicImage:
        """Return a coordinator's internal topic; create it as Kafka does if it does not exist."""
        if name in self.topics:
            return self.topics[name]
        factor = -1 if self._placing is None else self._placing.factor(name)
        return self.create_topic(name, *internal_topic(name, self._config.integer), factor)

    def _created(self, topic: TopicImage) -> None:
        self._deleted_names.pop(topic.name, None)
        _log.info(line("topic created", topic=topic.name, partitions=len(topic.partitions)))
        for listener in self._listeners:
            listener.on_topic_created(topic)

    def delete_topics(self, names: Iterable[str]) -> None:
        """Delete topics that exist, all in one batch."""
        topics = [self.topics[name] for name in names]
        self.commit([record for topic in topics for record in delete_topic(topic)])
        for topic in topics:
            self._deleted(topic)

    def _deleted(self, topic: TopicImage) -> None:
        self._deleted_names[topic.name] = None
        if len(self._deleted_names) > _DELETED_NAMES_MAX:
            del self._deleted_names[next(iter(self._deleted_names))]
        _log.info(line("topic deleted", topic=topic.name))
        for listener in self._listeners:
            listener.on_topic_deleted(topic)

    def create_partitions(
        self, wishes: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> list[KafkaError | None]:
        """Add partitions to topics, all in one batch; return None for each topic where it was done."""
        results: list[KafkaError | None] = []
        records: list[Versioned] = []
        grown: list[tuple[NewPartitions, int]] = []
        self.places.begin()
        check_request_size((additional(wish, self.topics) for wish in wishes), "additional partitions")
        for wish in wishes:
            try:
                factor = 1 if self._placing is None or wish.name not in self.topics else self._placing.factor(wish.name)
                records += create_partitions(wish, self._writer, factor)
            except KafkaError as refusal:
                results.append(refusal.as_value())
            else:
                results.append(None)
                grown.append((wish, len(self.topics[wish.name].partitions)))
        if not validate_only:
            more = [wish for wish, _ in grown]
            self.commit(records, None if self._placing is None else self._placing.placing_more(more))
            for wish, first_new in grown:
                _log.info(line("partitions added", topic=wish.name, partitions=wish.total))
                for listener in self._listeners:
                    listener.on_partitions_added(self.topics[wish.name], first_new)
        return results

    # --- data directories ---

    def place_partitions(self, usable: Callable[[], Sequence[bytes]], every: Sequence[bytes]) -> None:
        """Put new partitions into one of several data directories, those that are `usable` (ids). Raises KafkaError.

        every: the ids of all data directories, which the broker is registered with.
        """
        self.places = DirectoryChoice(self._image, usable)
        self._writer = self._writer._replace(place=self.places.next)
        if self._writer.names_directories:
            self.commit(registered_with(self._image, every))

    def assign(self, directories: Mapping[tuple[str, int], bytes]) -> None:
        """Record the data directories (ids) of these partitions, in as few batches as possible. Raises KafkaError."""
        if self._writer.names_directories:
            note, topics = self._writer.assignment, self.topics
            self._commit_each([note(topics[name].topic_id, number, at) for (name, number), at in directories.items()])

    # --- settings ---

    def alter_configs(self, resource_type: int, name: str, alterations: Sequence[Alteration]) -> None:
        """Change some settings of one resource. Raise KafkaError if it is not allowed."""
        from barnabas.broker.metadata.catalogue.config_alterations import SettingsWish

        (refusal,) = self.change_settings([SettingsWish(resource_type, name, alterations)])
        if refusal is not None:
            raise refusal

    def change_settings(
        self, wishes: Iterable[SettingsWish], *, validate_only: bool = False
    ) -> list[KafkaError | None]:
        """Change the settings of resources, each named once, in one batch; None for each success. Raises KafkaError."""
        from barnabas.broker.metadata.catalogue.config_alterations import settings_records

        results: list[KafkaError | None] = []
        changed: list[tuple[SettingsWish, list[Versioned]]] = []
        for wish in wishes:
            try:
                changed.append((wish, settings_records(wish, self._writer, self._config)))
            except KafkaError as refusal:
                results.append(refusal.as_value())
            else:
                results.append(None)
        if not validate_only:
            self.commit([record for _, records in changed for record in records])
            for (resource_type, name, _), records in changed:
                if records:
                    self._settings_changed(resource_type, name, records)
        return results

    def _settings_changed(self, resource_type: int, name: str, records: Sequence[Versioned]) -> None:
        if resource_type == BROKER_RESOURCE:
            self._follow_broker_configs()
        keys = ",".join(record.name for record, _ in records if isinstance(record, ConfigRecord))  # without values
        _log.info(line("configs changed", resource=RESOURCES[resource_type], name=name or None, keys=keys))
        for listener in self._listeners:
            listener.on_configs_changed(resource_type, name)

    def update_features(self, updates: Sequence[FeatureUpdate], *, validate_only: bool = False) -> None:
        """Change the levels of features in one batch. Raise KafkaError if one of them may not be changed."""
        image, min_isr = self._image, self._config.integer("min.insync.replicas")
        records = update_features(updates, image, self._identity.node_id, min_isr)
        if validate_only or not records:
            return
        self.commit(records)
        self._follow_broker_configs()
        _log.info(line("features changed", levels=",".join(f"{update.name}={update.level}" for update in updates)))

    def set_features(self, levels: Mapping[str, int]) -> None:
        """Set features to these levels, as `--feature` requires. Raise KafkaError if it is not allowed."""
        self.update_features(updates_to(levels, self._image.features))

    def allocate_producer_ids(self) -> range:
        """Allocate a block of producer ids that no other producer has or will get, even after a crash."""
        first = self._image.next_producer_id
        block = range(first, first + PRODUCER_IDS_PER_BLOCK)
        node_id, epoch = self._identity.node_id, self.broker_epoch
        self.commit([Versioned(ProducerIdsRecord(broker_id=node_id, broker_epoch=epoch, next_producer_id=block.stop))])
        return block

    def commit(self, records: Change, within: AbstractContextManager[None] | None = None) -> None:
        """Write records that were decided elsewhere (`acls.py`) in one batch, and replay them. Raises KafkaError.

        `within`: entered before the write, effective if the write succeeds. Its StorageError is handled like the log's.
        """
        try:
            with within or nullcontext():
                self.journal.commit(records)
        except StorageError as error:
            _log.error(line("change not made", reason=error))
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, failed(error)) from error

    def _commit_each(self, records: Sequence[Versioned]) -> None:
        """Commit records that are independent of each other: they may be more than one batch can hold."""
        for start in range(0, len(records), _CHANGES_PER_BATCH):
            self.commit(records[start : start + _CHANGES_PER_BATCH])

    def _follow_broker_configs(self) -> None:
        own, everywhere = (usable(self.configs_of(BROKER_RESOURCE, name)) for name in (str(self._identity.node_id), ""))
        self._config.follow(own, everywhere)
