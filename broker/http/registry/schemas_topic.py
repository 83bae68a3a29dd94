"""`_schemas`, the log of the registry: one compacted partition, created when the first record is written.

Records of other producers, such as another registry, are applied in their order, before the registry decides about
anything. A topic that would lose or disorder records is refused before its first record is read, and for as long as it
is so: Confluent's registry does not start with one. Invariant: `_position` is the offset up to which the records are
applied; own records count as applied when they are appended, since their decision has seen all before them.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.broker.config.resources.log_configs import log_config
from barnabas.broker.coordinator.runtime.topic import CoordinatorTopic
from barnabas.broker.partitions.opening.recoveries import StillRecovering
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.replies import ignore_result
from barnabas.protocol.errors import DecodeError, ErrorCode, KafkaError
from barnabas.protocol.records.batch import iter_batches, verify_crc
from barnabas.protocol.records.record import iter_records
from barnabas.registry.registry_log import SchemasLogFailure, SchemasReader, SchemasRecord

if TYPE_CHECKING:
    from barnabas.broker.metadata.catalogue import TopicImage
    from barnabas.broker.services import Services
    from barnabas.storage.config import LogConfig

_log = logger("registry")
TOPIC = "_schemas"
SLICE_BYTES = 64 << 10
RECORDS_A_TURN = 100
REPLICAS_MAX = 3
"""As `kafkastore.topic.replication.factor` has it by default."""
_OVERHEAD_BYTES = 128
"""Of a batch with one record, and more than that."""


class SchemasTopic:
    """The topic as the registry uses it: `SchemasLog`."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._topic = CoordinatorTopic(TOPIC, services.catalogue, services.partitions)
        self._position = 0
        self._steps: Iterator[None] | None = None
        self._was_deleted = False
        self._is_sound: bool | None = None  # None until it is checked
        services.catalogue.subscribe(_TopicChanges(self._deleted, self._changed))

    def _deleted(self, topic: str) -> None:
        self._changed()
        if topic == TOPIC:
            self._position, self._steps, self._was_deleted = 0, None, True

    def _changed(self) -> None:
        self._is_sound = None

    @property
    def record_bytes_max(self) -> int:
        """The maximum size of key and value."""
        return self._config.max_message_bytes - _OVERHEAD_BYTES

    @property
    def _config(self) -> LogConfig:
        """The topic's settings. The open log has them in force: they are not put together for each record."""
        log = self._services.partitions.led.get((TOPIC, 0))
        if log is not None:
            return log.config
        topic = self._services.catalogue.topics.get(TOPIC)
        return log_config(self._services.config, {} if topic is None else topic.configs)

    @property
    def is_applied(self) -> bool:
        """Whether all records in the log are applied. False if the log cannot be read now: `apply` finds out why."""
        if self._was_deleted or self._steps is not None:
            return False
        if self._topic.partition_count() is None:
            return True
        if self._is_sound is None:
            self._find_out()
        if not self._is_sound:
            return False
        try:
            return self._topic.extent(0)[1] == self._position
        except KafkaError:
            return False

    async def apply(self, reader: SchemasReader) -> None:
        """Apply all records up to the log's end, some in each turn of the event loop. Raises SchemasLogFailure."""
        if self._was_deleted:
            self._was_deleted = False
            reader.forget()
        while not self.is_applied and not self._was_deleted:
            try:
                if self._steps is None:
                    self._steps = self._apply_steps(reader)
                next(self._steps, None)
            except StillRecovering as recovering:
                await self._recovered(recovering)
            except (DecodeError, KafkaError) as why:
                self._steps = None
                raise SchemasLogFailure(f"{TOPIC} cannot be read: {why}") from why
            if self._steps is not None:
                await self._services.upkeep.next_turn()

    async def _recovered(self, recovering: StillRecovering) -> None:
        self._steps = None
        over: Future[None] = self._services.upkeep.loop.create_future()
        recovering.when_over(lambda: None if over.done() else over.set_result(None))
        await over

    def _apply_steps(self, reader: SchemasReader) -> Iterator[None]:
        """Apply records up to the log's end, and yield after some of them."""
        self._check()
        count = 0
        start, end = self._topic.extent(0)
        self._position = max(self._position, start)
        while self._position < end:
            data = memoryview(self._topic.read(0, self._position, SLICE_BYTES))
            before = self._position
            for offset, key, value, timestamp_ms in _records(data, before):
                if self._was_deleted:
                    return
                reader.replay(key, value, timestamp_ms)
                self._position = offset + 1
                count += 1
                if count % RECORDS_A_TURN == 0:
                    yield
            self._position = max(self._position, _next_offset(data, before))
            if self._position == before:
                self._position = end  # compaction has left nothing before the newest, empty segment
            yield
        self._steps = None
        if count:
            _log.debug(line("schemas applied", records=count, offset=self._position))

    def _find_out(self) -> None:
        """Check the topic once after each change of it, and report a wrong one."""
        try:
            self._check()
        except KafkaError as why:
            _log.error(line("topic cannot be used", topic=TOPIC, why=why))
            self._is_sound = False
        else:
            self._is_sound = True

    def _check(self) -> None:
        """Raise KafkaError for a topic that would lose or disorder the records of a registry."""
        count = self._topic.partition_count() or 0
        if count != 1:
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"it has {count} partitions instead of 1")
        policy = self._config.cleanup_policy
        if policy != frozenset({"compact"}):
            raise KafkaError(
                ErrorCode.INVALID_CONFIG, f"its cleanup.policy is {','.join(sorted(policy))} instead of compact"
            )

    def append(self, records: Sequence[SchemasRecord]) -> int:
        """Append the records, and return their timestamp. Raises SchemasLogFailure."""
        now_ms = self._services.clock.now_ms()
        try:
            if self._topic.partition_count() is None:
                replicas = min(len(self._services.cluster.brokers), REPLICAS_MAX)
                self._services.catalogue.create_topic(TOPIC, 1, {"cleanup.policy": "compact"}, replicas)
            self._check()
            end = self._position
            for batch in _batches(records, self.record_bytes_max):
                position = self._topic.append(0, batch, now_ms)
                if position.synced is not None:
                    ignore_result(position.synced)  # `durable` waits for it
                end = position.base_offset + len(batch)
        except KafkaError as why:
            raise SchemasLogFailure(f"{TOPIC} cannot be written: {why}") from why
        self._position = end
        return now_ms

    @property
    def is_durable(self) -> bool:
        """Whether all records are on disk, or need not be."""
        return self._topic.unsynced(0) is None

    async def durable(self) -> None:
        """Wait until all records are on disk, if syncs are configured. Raises SchemasLogFailure."""
        synced = self._topic.unsynced(0)
        if synced is None:
            return
        try:
            await synced
        except KafkaError as why:
            raise SchemasLogFailure(f"{TOPIC} cannot be written: {why}") from why


class _TopicChanges:
    """A catalogue listener that reports the deletion of topics, and any other change of them."""

    def __init__(self, deleted: Callable[[str], None], changed: Callable[[], None]) -> None:
        self._deleted = deleted
        self._changed = changed

    def on_topic_deleted(self, topic: TopicImage) -> None:
        """Tell of the deletion."""
        self._deleted(topic.name)

    def on_topic_created(self, topic: TopicImage) -> None:
        """Tell of a change."""
        self._changed()

    def on_partitions_added(self, topic: TopicImage, first_new: int) -> None:
        """Tell of a change."""
        self._changed()

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """Tell of a change: the policy may be the broker's default."""
        self._changed()


def _records(data: memoryview, begun_at: int) -> Iterator[tuple[int, bytes | None, bytes | None, int]]:
    """Yield offset, key, value and timestamp of each record from an offset on. Raises DecodeError."""
    for position, header in iter_batches(data):
        if header.last_offset < begun_at or header.is_control:
            continue
        batch = data[position : position + header.size_in_bytes]
        if not verify_crc(batch):
            raise DecodeError(f"the crc of the batch at offset {header.base_offset} is not {header.crc:#010x}")
        for offset, timestamp_ms, key, value, _ in iter_records(batch):
            if offset >= begun_at:
                yield offset, _bytes(key), _bytes(value), timestamp_ms


def _next_offset(data: memoryview, otherwise: int) -> int:
    """Return the offset after the last whole batch."""
    return max((header.next_offset for _, header in iter_batches(data)), default=otherwise)


def _bytes(part: Any) -> bytes | None:
    return None if part is None else bytes(part)


def _batches(records: Sequence[SchemasRecord], bytes_max: int) -> Iterator[list[SchemasRecord]]:
    """Yield the records in batches, as many as are needed: mostly one."""
    batch: list[SchemasRecord] = []
    size = 0
    for key, value in records:
        record_bytes = len(key) + len(value or b"") + _OVERHEAD_BYTES
        if batch and size + record_bytes > bytes_max:
            yield batch
            batch, size = [], 0
        batch.append((key, value))
        size += record_bytes
    yield batch
