"""Production of one record, alone or in a transaction that stays open until a button ends it.

The transaction has a separate transactional id. No state of it is stored here: the coordinator has its producer, and
the log the producer's next sequence number, so it can be continued after a restart, too.
"""

from __future__ import annotations

from asyncio import Future
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.transaction.decisions.model import AddRequest, EndRequest, InitRequest
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.page import Action
from barnabas.broker.http.console.pages.partition import named
from barnabas.broker.http.console.params import CONFLICT, Refused, RequestParams
from barnabas.broker.http.console.queries.transactions import find
from barnabas.broker.http.console.rendering import url
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records.builder import NewRecord, build_batch

if TYPE_CHECKING:
    from barnabas.broker.services import Services

_log = logger("control")
TRANSACTIONAL_ID = "barnabas-console"
_TIMEOUT_MS = 300_000


async def _produce(observed: ConsoleContext, params: RequestParams) -> str:
    """Produce a record. Raise Refused for internal topics. Raises KafkaError."""
    services = observed.services
    topic, number = named(services, params)
    if services.catalogue.topics[topic].is_internal:
        raise Refused(f"{topic} is an internal topic: only the broker writes to it")
    key, value = params.word("key"), params.word("value")
    record = NewRecord(
        key.encode("utf-8", "surrogatepass") if key else None,
        None if params.word("tombstone") else value.encode("utf-8", "surrogatepass"),
        (),
        observed.now_ms,
    )
    in_transaction = bool(params.word("in_transaction"))
    if in_transaction:
        producer_id, producer_epoch = await _joined(services, topic, number)
        sequence = _next_sequence(services, topic, number, producer_id, producer_epoch)
        batch = build_batch(
            [record],
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=sequence,
            transactional=True,
        )
    else:
        batch = build_batch([record])
    appended = services.partitions.append(topic, number, batch)
    synced = services.partitions.synced(topic, number, appended.base_offset + 1)
    if synced is not None:
        await synced
    _log.info(line("record produced by hand", topic=topic, partition=number, offset=appended.base_offset))
    if in_transaction:
        return url("/transaction", id=TRANSACTIONAL_ID)
    return url(f"/topics/{topic}/{number}/records/{appended.base_offset}")


async def _joined(services: Services, topic: str, number: int) -> tuple[int, int]:
    """Return the producer of the console's transaction, after the partition was added to it."""
    coordinator = services.transactions_of(TRANSACTIONAL_ID)
    txn = find(services, TRANSACTIONAL_ID)
    if txn is None:
        timeout_ms = min(_TIMEOUT_MS, coordinator.config.max_timeout_ms)
        begun = coordinator.init_producer_id(InitRequest(TRANSACTIONAL_ID, timeout_ms))
        made = await begun if isinstance(begun, Future) else begun
        _check(made.error)
        producer_id, producer_epoch = made.producer_id, made.producer_epoch
    else:
        producer_id, producer_epoch = txn.holder
    adding = coordinator.add_partitions(
        AddRequest(
            transactional_id=TRANSACTIONAL_ID,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            partitions=frozenset([(topic, number)]),
            client_transaction_version=_version(services),
        )
    )
    _check(await adding if isinstance(adding, Future) else adding)
    return producer_id, producer_epoch


def _next_sequence(services: Services, topic: str, number: int, producer_id: int, producer_epoch: int) -> int:
    producer = services.partitions.get_led(topic, number).producers.get(producer_id)
    return producer.next_sequence if producer is not None and producer.producer_epoch == producer_epoch else 0


async def _commit(observed: ConsoleContext, params: RequestParams) -> str:
    """Commit the console's transaction, if it is the one that was shown."""
    services = observed.services
    producer_id, producer_epoch = params.number("producer_id", -1), params.number("producer_epoch", -1)
    txn = find(services, TRANSACTIONAL_ID)
    if txn is None or txn.state is not TransactionState.ONGOING or txn.holder != (producer_id, producer_epoch):
        raise Refused("the transaction on the page has ended: nothing was committed", CONFLICT)
    coordinator = services.transactions_of(TRANSACTIONAL_ID)
    ending = coordinator.end_transaction(
        EndRequest(
            transactional_id=TRANSACTIONAL_ID,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_commit=True,
            client_transaction_version=txn.client_transaction_version,
        )
    )
    ended = await ending if isinstance(ending, Future) else ending
    _check(ended.error)
    _log.info(line("transaction committed by hand", transactional_id=TRANSACTIONAL_ID))
    return url("/transaction", id=TRANSACTIONAL_ID)


def _version(services: Services) -> int:
    """Return the protocol version that ends the transaction: TV2 if the feature is enabled."""
    return 2 if services.catalogue.feature_level("transaction.version") >= 2 else 0


def _check(error: ErrorCode) -> None:
    if error is not ErrorCode.NONE:
        raise Refused(f"the transaction coordinator refused: {error.name}", CONFLICT)


ACTIONS = (
    Action("/console/topics/{topic}/{partition}/produce", _produce),
    Action("/console/transaction/commit", _commit),
)
