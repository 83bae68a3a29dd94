# compiled: mypyc
"""The fast path of Produce: one plain batch to one partition, from the frame to its answer in one function.

It runs before the general path (`frame_handlers.py`, handlers/produce.py), which handles every request and defines the
correct answer. The fast path takes the most common requests: from version 9 on, one batch that Appender.append_plain
takes, acks of 1 or all, and inside a transaction only where the partition is in it, or can be added without waiting.
Any other request it passes on, before it has any effect except for that addition, which does nothing when it is
repeated. Both give the same bytes for every frame: tests/broker/api/produce_fetch/test_produce_fast_path.py.

Theory of operation: a producer's requests for a partition begin with the same bytes each time, up to the size of the
records: transactional id, acks, timeout, topic, index. The general decoder reads them the first time. From then on they
are recognised as a whole, and the answer is a copy of one made before with other numbers in it.

With an authorizer it is used only for clients that are known to be allowed (`Authorizer.is_known_to_allow`), from
decisions that were made before and hold until an ACL changes.

Invariants: a target contains only values from its bytes, and no state of the broker: the log is looked up by its
partition each time, and must have the topic id of the request, if it has one. At most TARGETS_MAX are stored.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from barnabas.broker.api.deferred_response import Answer, code_and_message
from barnabas.broker.coordinator.transaction.verification import PRODUCE_ADDS_SINCE, add_at_once, confirm
from barnabas.broker.metadata.image.image import INTERNAL_TOPICS
from barnabas.broker.partitions.produce.deferred_appends import refusal
from barnabas.broker.runtime.events.cause import RequestCause
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import DecodeError, ErrorCode, KafkaError
from barnabas.protocol.hot import produce
from barnabas.protocol.records.batch import HEADER_SIZE, LENGTH_POSITION, LOG_OVERHEAD, NO_TIMESTAMP, TRANSACTIONAL_MASK
from barnabas.protocol.registry import ApiKey
from barnabas.storage.refusals import AppendRefused

if TYPE_CHECKING:
    from barnabas.broker.api.frame_handler import FrameHandler, RequestConnection
    from barnabas.broker.api.stages.metering import Meter
    from barnabas.broker.services import Services
    from barnabas.protocol.hot.writing import Topic
    from barnabas.storage.log.log import PartitionLog

SHORT_SINCE: Final = 9
"""The version of Produce that made its encoding flexible."""
TARGETS_MAX = 2048

_BY_ID_SINCE: Final = 13
_WRITE: Final = Operation.WRITE
_TOPIC_KIND: Final = Resource.TOPIC
_TRANSACTIONAL_ID: Final = Resource.TRANSACTIONAL_ID
_LEADER: Final = 1
_ALL: Final = -1
_NO_ERROR: Final = ErrorCode.NONE  # compiled, the look-up of an enum's member takes as long as a call
# A request, from the tags that end its header on. Behind the transactional id:
_TOPIC_COUNT: Final = 6  # behind acks i16 and timeout i32
_TOPIC: Final = 7
_TOPIC_ID_SIZE: Final = 16
_INDEX_SIZE: Final = 5  # a compact count of one, and the index i32
_ONE: Final = 2  # the compact count of an array of one element
_SHORT: Final = 0x80  # a compact length or size below this is one byte
_NO_TAGS: Final[bytes] = b"\0\0\0"  # of the partition, the topic, the request
# A batch:
_ATTRIBUTES_LOW_BYTE: Final = 22
_PRODUCER: Final = 43
_unpack_producer: Final = Struct(">qh").unpack_from  # id, epoch
_unpack_length: Final = Struct(">i").unpack_from
# An answer:
_CORRELATION_ID: Final = 4
_pack_correlation_id: Final = Struct(">i").pack_into
_pack_offsets: Final = Struct(">qqq").pack_into  # base offset, log-append time, log start offset
_BEHIND_OFFSETS: Final = 24 + 9  # no record errors, no message, tags of partition and topic, throttle time, tags


class _Target:
    """The partition of requests with the same first bytes, and their answer, except for its numbers."""

    __slots__ = ("answer", "key", "offsets_position", "topic", "transactional_id")

    def __init__(self, name: str, index: int, topic: Topic, version: int, transactional_id: str | None) -> None:
        self.key = name, index
        self.topic = topic
        """As in the request: a name or an id."""
        self.transactional_id = transactional_id
        self.answer = produce.encode_response(version, 0, [(topic, [produce.PartitionResult(index, 0)])])
        self.offsets_position = len(self.answer) - _BEHIND_OFFSETS


class ShortProduce:
    """One version of Produce, from SHORT_SINCE on."""

    __slots__ = (
        "_adds",
        "_authorizer",
        "_by_id",
        "_clock",
        "_events",
        "_general",
        "_led",
        "_meter",
        "_partitions",
        "_services",
        "_targets",
        "_version",
    )

    def __init__(self, services: Services, general: FrameHandler, version: int, meter: Meter | None) -> None:
        """Start without targets. `general` serves the requests that the fast path does not take."""
        self._services = services
        self._events = services.events
        self._general = general
        self._version = version
        self._meter = meter
        self._adds = version >= PRODUCE_ADDS_SINCE
        self._authorizer = None if services.access is None else services.access.authorizer
        self._by_id = version >= _BY_ID_SINCE
        self._clock = services.clock
        self._partitions = services.partitions
        self._led = services.partitions.led
        self._targets: dict[bytes, _Target] = {}

    def serve(self, frame: memoryview, position: int, correlation_id: int, client: RequestConnection) -> Answer:
        """Serve one request. A `FrameHandler`."""
        try:
            behind_id = position + 1 + (frame[position + 1] or 1)
            topic_size = _TOPIC_ID_SIZE if self._by_id else frame[behind_id + _TOPIC]
            end = behind_id + _TOPIC + topic_size + _INDEX_SIZE
            target = self._targets.get(bytes(frame[position:end])) or self._learn(frame, position, behind_id, end)
            if target is None:
                return self._general(frame, position, correlation_id, client)
            size, more = frame[end], frame[end + 1]
            if size < _SHORT:
                start = end + 1
            elif more < _SHORT:
                size = size & 0x7F | more << 7
                start = end + 2
            else:
                size = size & 0x7F | (more & 0x7F) << 7 | frame[end + 2] << 14
                start = end + (3 if frame[end + 2] < _SHORT else len(frame))
            behind = start + size - 1
            log = self._led.get(target.key)
            if (
                log is None
                or (self._authorizer is not None and not self._may_write(target, frame[start:behind], client))
                or not log.answers_at_once
                or behind - start < HEADER_SIZE
                or frame[behind:] != _NO_TAGS
                or (self._by_id and log.topic_id != target.topic)
                or (
                    frame[start + _ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_MASK
                    and not self._is_in_transaction(target, log, frame[start:behind], correlation_id, client)
                )
            ):
                return self._general(frame, position, correlation_id, client)
        except IndexError:
            return self._general(frame, position, correlation_id, client)
        try:
            first_offset = self._partitions.append_plain(log, frame[start:behind], self._clock.now_ms())
        except Exception as error:
            if self._events.is_on and isinstance(error, AppendRefused):
                return self._general(frame, position, correlation_id, client)  # it emits the event of the refusal
            return self._failed(error, target, correlation_id, client)
        if first_offset < 0:
            return self._general(frame, position, correlation_id, client)
        answer = target.answer[:]
        _pack_correlation_id(answer, _CORRELATION_ID, correlation_id)
        _pack_offsets(answer, target.offsets_position, first_offset, NO_TIMESTAMP, log.log_start_offset)
        return answer

    def _may_write(self, target: _Target, batch: memoryview, client: RequestConnection) -> bool:
        """Return whether the client is known to be allowed: else the general path checks, and answers a refusal."""
        authorizer = self._authorizer
        assert authorizer is not None
        principal, host = client.session.principal, client.client_host
        if len(batch) < HEADER_SIZE or not authorizer.is_known_to_allow(
            principal, host, _WRITE, _TOPIC_KIND, target.key[0]
        ):
            return False
        if not batch[_ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_MASK:
            return True
        transactional_id = target.transactional_id
        return transactional_id is not None and authorizer.is_known_to_allow(
            principal, host, _WRITE, _TRANSACTIONAL_ID, transactional_id
        )

    def _is_in_transaction(
        self, target: _Target, log: PartitionLog, batch: memoryview, correlation_id: int, client: RequestConnection
    ) -> bool:
        """Return whether the batch continues a transaction, or begins one: its partition is in it now."""
        transactional_id, key = target.transactional_id, target.key
        if transactional_id is None:
            return False
        producer_id, producer_epoch = _unpack_producer(batch, _PRODUCER)
        if log.has_open_transaction(producer_id, producer_epoch):
            return True
        if producer_id < 0 or log.is_fenced(producer_id, producer_epoch):
            return False
        events = self._events
        try:
            transactions = self._services.transactions_of(transactional_id)
            if not self._adds:
                return (
                    transactions.config.partition_verification_enabled
                    and confirm(transactions, transactional_id, producer_id, producer_epoch, (key,))[key] is _NO_ERROR
                )
            if LOG_OVERHEAD + _unpack_length(batch, LENGTH_POSITION)[0] != len(batch):
                return False  # an incomplete batch begins nothing
            if events.is_on:
                events.cause = self._cause(transactional_id, correlation_id, client)
            return add_at_once(transactions, transactional_id, producer_id, producer_epoch, key)
        except Exception:
            return False  # the general path runs into the same error, logs it and answers
        finally:
            events.cause = None

    def _cause(self, transactional_id: str, correlation_id: int, client: RequestConnection) -> RequestCause:
        """Return the request as the cause of events."""
        node_id, requested = self._services.node.node_id, {"transactional_id": transactional_id}
        principal = client.session.named_principal
        return self._events.request_cause(
            "Produce", self._version, client.client_id, client.peer, correlation_id, node_id, requested, principal
        )

    def _learn(self, frame: memoryview, position: int, behind_id: int, end: int) -> _Target | None:
        """Return the target named by the bytes up to `end`; None if it is not for the fast path, or not led."""
        if (
            frame[position] != 0
            or frame[position + 1] >= _SHORT
            or frame[behind_id + _TOPIC_COUNT] != _ONE
            or not (self._by_id or 0 < frame[behind_id + _TOPIC] < _SHORT)
            or frame[end - _INDEX_SIZE] != _ONE
        ):
            return None
        try:
            transactional_id, acks, _, topics = produce.decode_request(frame, position + 1, self._version)
        except DecodeError:
            return None
        ((topic, ((index, _),)),) = topics
        if isinstance(topic, bytes):
            found = self._services.catalogue.topics_by_id.get(topic)
            name = "" if found is None else found.name
        else:
            name = topic
        if (name, index) not in self._led or name in INTERNAL_TOPICS or acks not in (_LEADER, _ALL):
            return None
        if len(self._targets) == TARGETS_MAX:
            self._targets.clear()
        target = _Target(name, index, topic, self._version, transactional_id)
        self._targets[bytes(frame[position:end])] = target
        return target

    def _failed(self, error: Exception, target: _Target, correlation_id: int, client: RequestConnection) -> Answer:
        """Return the same answer as the general path."""
        context = RequestContext(
            self._services, ApiKey.PRODUCE, self._version, correlation_id, client.client_id, client.client_host, client
        )
        index = target.key[1]
        if isinstance(error, KafkaError):
            result = refusal(index, error)
        else:
            result = produce.PartitionResult(index, code_and_message(error, "Produce", context)[0])
        if self._meter is not None:
            self._meter.errors[ApiKey.PRODUCE, result.error_code] += 1
        return produce.encode_response(self._version, correlation_id, [(target.topic, [result])])
