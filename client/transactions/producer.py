"""A transactional producer: records and offsets that take effect together, or not at all.

Theory of operation: records are sent by a Producer with the transactional id. This module stores the producer's id and
epoch, the groups in the transaction, and its state (client/transactions/states.py). The protocol is determined at every
`begin`, so a changed feature level takes effect with the next transaction on a new connection, as in the Java client.

Invariants: nothing is sent outside of a transaction; after an error the verdict (client/transactions/errors.py) decides
whether `abort` cures it; any other exception while something was sent is cured by `abort`, too; a fenced producer
never writes again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from barnabas.client.client import Client
from barnabas.client.metadata import TopicPartition
from barnabas.client.produce.batch_sender import BatchSender
from barnabas.client.produce.batching import Delivery
from barnabas.client.produce.producer import Producer
from barnabas.client.transaction_requests import (
    EXPLICIT,
    NO_PRODUCER,
    ConsumerGroupMetadata,
    Initialised,
    ProducerIdentity,
    add_offsets,
    add_partitions,
    commit_offsets,
    end,
    find_protocol,
    highest_version,
    init_producer,
)
from barnabas.client.transactions.errors import (
    ID_LOST,
    OutcomeUnknown,
    TransactionAbortable,
    TransactionRequest,
    verdict,
)
from barnabas.client.transactions.states import TransactionalProducerState, check
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.registry import ApiKey

if TYPE_CHECKING:
    from typing import Self

TRANSACTION_TIMEOUT_MS = 60_000


class TransactionalProducer:
    """The producer of one transactional id. `init` first, then `begin`, `send`, `commit` or `abort`, again and again.

    timeout_ms: how long a transaction may stay open before the broker aborts it. Further options: those of Producer.
    As a context manager it aborts an open transaction at the end.
    """

    def __init__(
        self, client: Client, transactional_id: str, *, timeout_ms: int = TRANSACTION_TIMEOUT_MS, **options: Any
    ) -> None:
        self._client = client
        self.transactional_id = transactional_id
        self.timeout_ms = timeout_ms
        self.identity = NO_PRODUCER
        self.state = TransactionalProducerState.NEW
        self._protocol = EXPLICIT
        self._records = _Records(client, transactional_id, **options)
        self._groups: set[str] = set()
        self._has_sent_offsets = False
        self._is_interrupted = False
        self._is_ended = False  # only the next epoch is left to do of the end that was called
        self._failure: KafkaError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.state in (TransactionalProducerState.OPEN, TransactionalProducerState.ABORT_ONLY):
            self.abort()

    # --- beginning ---

    def init(self, *, enable_2pc: bool = False, keep_prepared: bool = False) -> ProducerIdentity | None:
        """Take over the transactional id; an open transaction of the previous producer is aborted.

        Returns the producer of the preserved prepared transaction (KIP-939, `keep_prepared`), None without one.
        """
        self._check("init")
        try:
            begun = self._init(NO_PRODUCER, enable_2pc=enable_2pc, keep_prepared=keep_prepared)
        except KafkaError as error:
            if error.code.retriable:
                raise  # nothing is lost: it may be retried
            raise self._fail(TransactionRequest.INIT, error) from error
        self.state = TransactionalProducerState.READY
        return begun.ongoing

    def begin(self) -> None:
        """Begin a transaction. The broker sees it with the first record or offset."""
        self._check("begin")
        self._protocol = find_protocol(self._client, self.transactional_id)
        self._records.begin(self.identity, self._protocol)
        self._groups.clear()
        self._has_sent_offsets = self._is_interrupted = False
        self.state = TransactionalProducerState.OPEN

    # --- inside ---

    def send(self, topic: str, value: bytes | None, **rest: Any) -> Delivery:
        """Add a record: Producer.send. TransactionAbortable or ProducerFatal when earlier records could not be sent."""
        self._check("send")
        try:
            delivery = self._records.send(topic, value, **rest)
        except KafkaError as error:
            raise self._fail(self._records.failed_call, error) from error
        if self._records.failure is not None:
            self._fail(self._records.failed_call, self._records.failure)  # for the next call to raise
        return delivery

    def flush(self) -> None:
        """Send all added records and wait for the responses."""
        self._check("send")
        try:
            self._records.flush()
        except KafkaError as error:
            raise self._fail(self._records.failed_call, error) from error

    def send_offsets(self, offsets: Mapping[TopicPartition, int], group: ConsumerGroupMetadata | str) -> None:
        """Commit offsets (each the next to be read) of a group as part of the transaction.

        With a ConsumerGroupMetadata a former member gets an error; with only the group's id any producer may commit.
        """
        self._check("send")
        member = ConsumerGroupMetadata(group) if isinstance(group, str) else group
        call = TransactionRequest.ADD
        try:
            if self._protocol == EXPLICIT and member.group_id not in self._groups:
                add_offsets(self._client, self.transactional_id, self.identity, member.group_id)
                self._groups.add(member.group_id)
            self._has_sent_offsets = True
            call = TransactionRequest.COMMIT_OFFSETS
            commit_offsets(self._client, self.transactional_id, self.identity, member, offsets, protocol=self._protocol)
        except KafkaError as error:
            raise self._fail(call, error) from error
        except BaseException:
            self._is_interrupted = True  # the offsets may be in the transaction, or not
            raise

    # --- ending ---

    def commit(self) -> None:
        """Commit the transaction. On OutcomeUnknown it may be called again."""
        self._check("commit")
        if self.state is TransactionalProducerState.OPEN:
            self.flush()
        self._end(commit=True)

    def abort(self) -> None:
        """Abort the transaction. On OutcomeUnknown it may be called again."""
        self._check("abort")
        self._records.drop(TransactionAborted())
        self._end(commit=False)

    def _end(self, *, commit: bool) -> None:
        # If nothing was added the coordinator may know of no transaction, and would refuse its end. If an addition
        # arrived and its response did not, the next epoch, which every failure requests, aborts the transaction.
        self.state = TransactionalProducerState.COMMITTING if commit else TransactionalProducerState.ABORTING
        before = self.identity
        is_lost = self._failure is not None and self._failure.code in ID_LOST
        has_content = self._records.has_begun or self._has_sent_offsets
        if has_content and not is_lost and not self._is_ended:
            self._end_at_the_coordinator(commit=commit)
        self._is_ended = True
        if self._failure is not None and self.identity == before:
            self._begin_anew()  # sequence numbers cannot continue after a lost batch
        self._failure, self._is_ended = None, False
        self.state = TransactionalProducerState.READY

    def _end_at_the_coordinator(self, *, commit: bool) -> None:
        try:
            before = self.identity
            self.identity = end(self._client, self.transactional_id, before, commit=commit, protocol=self._protocol)
        except KafkaError as error:
            raise self._fail(TransactionRequest.END, error) from error
        if self.identity != before:
            self._records.forget_sequences()

    def _begin_anew(self) -> None:
        try:
            self._init(self.identity)
        except KafkaError as error:
            raise self._fail(
                TransactionRequest.END if error.code.retriable else TransactionRequest.INIT, error
            ) from error

    # --- helpers ---

    def _init(self, known: ProducerIdentity, *, enable_2pc: bool = False, keep_prepared: bool = False) -> Initialised:
        begun = init_producer(
            self._client,
            self.transactional_id,
            timeout_ms=self.timeout_ms,
            known=known,
            enable_2pc=enable_2pc,
            keep_prepared=keep_prepared,
        )
        self.identity = begun.identity
        self._records.forget_sequences()
        return begun

    def _check(self, call: str) -> None:
        if self.state is TransactionalProducerState.OPEN and (self._is_interrupted or self._records.is_interrupted):
            reason = "sending was interrupted: abort the transaction"
            self._fail(TransactionRequest.PRODUCE, KafkaError(ErrorCode.INVALID_TXN_STATE, reason))
        if self.state is TransactionalProducerState.DEAD or (
            self.state is TransactionalProducerState.ABORT_ONLY and call != "abort"
        ):
            assert self._failure is not None
            raise self._failure
        check(call, self.state)

    def _fail(self, call: TransactionRequest, error: KafkaError) -> KafkaError:
        """Return the error as its meaning for the producer, and set the resulting state."""
        judged = verdict(call, error)
        if isinstance(judged, OutcomeUnknown):
            return judged
        self.state = (
            TransactionalProducerState.ABORT_ONLY
            if isinstance(judged, TransactionAbortable)
            else TransactionalProducerState.DEAD
        )
        self._failure = judged
        return judged


class _Records(Producer):
    """A Producer whose batches belong to a transaction."""

    def __init__(self, client: Client, transactional_id: str, **options: Any) -> None:
        super().__init__(client, **options)
        self._transactional_id = transactional_id
        self._sequences: dict[TopicPartition, int] = {}
        self.has_begun = False
        """Whether the transaction may have content, so that the coordinator must end it."""
        self.failed_call = TransactionRequest.PRODUCE

    def begin(self, identity: ProducerIdentity, protocol: int) -> None:
        """Begin a new transaction of this producer."""
        self._discard_sender()
        self._sender = self._sender_for(
            identity,
            transactional_id=self._transactional_id,
            before_first=lambda places: self._add(identity, protocol, places),
            highest_version=highest_version(ApiKey.PRODUCE, protocol),
            first_sequences=dict(self._sequences),
        )
        self._failure = None
        self.has_begun = False
        self.failed_call = TransactionRequest.PRODUCE

    def drop(self, error: Exception) -> None:
        """Drop the records that were not sent yet."""
        while self._batches:
            for batch in self._batches.take().values():
                batch.fail(error)

    def forget_sequences(self) -> None:
        """Restart the sequence numbers of every partition: the producer has another epoch."""
        self._discard_sender()
        self._sequences.clear()

    def _add(self, identity: ProducerIdentity, protocol: int, places: Iterable[TopicPartition]) -> None:
        if protocol == EXPLICIT:
            self.failed_call = TransactionRequest.ADD
            add_partitions(
                self._client, self._transactional_id, identity, places, self._client.deadline(self._timeout_ms)
            )
            self.failed_call = TransactionRequest.PRODUCE
        self.has_begun = True

    @property
    def is_interrupted(self) -> bool:
        """Whether sending was interrupted in a transaction: the sender of `begin` is gone, the outcome unknown."""
        return self._sender is None

    def _open_sender(self) -> BatchSender:
        raise AssertionError("an interrupted transaction can only be aborted")

    def _gave_up(self, error: KafkaError) -> None:
        self.drop(error)

    def _discard_sender(self) -> None:
        if self._sender is not None:
            self._sequences.update(self._sender.next_sequences)
        super()._discard_sender()


class TransactionAborted(Exception):
    """The error of a record that was never sent, because its transaction was aborted before."""

    def __init__(self) -> None:
        super().__init__("the transaction was aborted before the record was sent")
