"""Facts about an open or ending transaction, for all queries: its coordinator's state, and its client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.coordinator.transaction.decisions.model import NO_TIMEOUT_MS, TransactionMetadata
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.insight.inspection.transactions import are_loaded, started_ms, transaction_of_producer, unwritten
from barnabas.broker.insight.why.held_requests import held_step
from barnabas.broker.insight.why.history_lookup import TransactionPast
from barnabas.broker.insight.why.partitions import leaderless, missing, refusal
from barnabas.broker.insight.why.rules.formatting import named
from barnabas.broker.insight.why.rules.transaction import TransactionFacts, Unmarked
from barnabas.broker.insight.why.sources.history_source import NO_RING
from barnabas.broker.insight.why.sources.why_sources import WhySources
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.services import Services

UNMARKED_MAX = 100
"""Maximum number of partitions without a marker that are reported one by one."""
EXAMINED_MAX = 20
"""Maximum number of transactions per query whose history is examined."""


class Holders:
    """The transactions found by one query: each producer is looked up once."""

    def __init__(self, known: WhySources) -> None:
        self._known = known
        self._found: dict[int, TransactionMetadata | None] = {}

    def transaction(self, producer_id: int) -> Steps[TransactionMetadata | None]:
        """Return the transaction of the transactional id that has, or had, this producer id."""
        if producer_id not in self._found:
            self._found[producer_id] = yield from transaction_of_producer(self._known.services, producer_id)
        return self._found[producer_id]

    def holder(self, producer_id: int, where: tuple[str, int], start_offset: int) -> Steps[TransactionFacts]:
        """Return the transaction of a producer for which a partition waits from `start_offset` on."""
        txn = yield from self.transaction(producer_id)
        place = f"{where[0]}:{where[1]}"
        if txn is None or (where not in txn.partitions and not txn.state.is_open):
            facts = TransactionFacts(producer_id, is_sure=are_loaded(self._known.services))
            if txn is not None:
                facts = facts._replace(transactional_id=txn.transactional_id, state=txn.state.value)
            return facts._replace(where=place, start_offset=start_offset)
        known = self._known if len(self._found) <= EXAMINED_MAX else self._known._replace(ring=NO_RING)
        return open_facts(known, txn)._replace(where=place, start_offset=start_offset)


def open_facts(known: WhySources, txn: TransactionMetadata) -> TransactionFacts:
    """Return the facts of a transaction that is open, or being ended."""
    services = known.services
    began_ms, now_ms = started_ms(txn), services.clock.now_ms()
    times_out_at_ms: int | None = None
    if txn.state is TransactionState.ONGOING and began_ms is not None and txn.timeout_ms != NO_TIMEOUT_MS:
        times_out_at_ms = began_ms + txn.timeout_ms
    found = unwritten(services, txn.transactional_id) if txn.state.is_prepared else None
    held_at = None if found is None else found.held_at
    client = TransactionPast(known.ring, txn.transactional_id, now_ms).client_of(txn.producer_id, txn.producer_epoch)
    return TransactionFacts(
        producer_id=txn.producer_id,
        producer_epoch=txn.producer_epoch,
        transactional_id=txn.transactional_id,
        state=txn.state.value,
        age_ms=None if began_ms is None else now_ms - began_ms,
        time_left_ms=None if times_out_at_ms is None else times_out_at_ms - now_ms,
        times_out_at_ms=times_out_at_ms,
        unmarked=() if found is None else _unmarked(services, found.refused, found.without_room),
        unmarked_count=0 if found is None else found.partitions_count,
        held_at=held_at,
        held=None if held_at is None else held_step(known, txn.transactional_id, held_at),
        client_id=None if client is None else client.client_id,
        peer=None if client is None else client.peer,
    )


def _unmarked(
    services: Services, refused: dict[tuple[str, int], str], without_room: frozenset[tuple[str, int]]
) -> tuple[Unmarked, ...]:
    listed = []
    for where in sorted(refused)[:UNMARKED_MAX]:
        if where in without_room:
            reason = "its disk is full; when there is room again, it continues by itself"
        elif missing(services, *where) is not None:
            reason = "it is deleted"
        else:
            reason = leaderless(services, *where) or refusal(services, *where, refused[where])
        listed.append(Unmarked(f"{named(where[0])}-{where[1]}", reason))
    return tuple(listed)
