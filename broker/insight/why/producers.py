"""Facts about a transactional id: its producer, its transaction, and the refusals of its requests."""

from __future__ import annotations

from barnabas.broker.insight.inspection.transactions import loaded_transactions, transaction_of
from barnabas.broker.insight.why.held_requests import held_requests
from barnabas.broker.insight.why.history_lookup import TransactionPast
from barnabas.broker.insight.why.rules.formatting import named
from barnabas.broker.insight.why.rules.producer import ProducerFacts
from barnabas.broker.insight.why.sources.refused_clients import Client, host_of, of_transactional_id, refused_clients
from barnabas.broker.insight.why.sources.why_sources import WhySources
from barnabas.broker.insight.why.transactions import open_facts
from barnabas.client.near_names import nearest
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.steps import Steps

PARTITIONS_MAX = 100
"""Maximum number of partitions named."""


def producer_facts(known: WhySources, transactional_id: str) -> Steps[ProducerFacts]:
    """Collect the facts for `why producer`."""
    past = TransactionPast(known.ring, transactional_id, known.services.clock.now_ms())
    facts = yield from _producer_facts(known, transactional_id, past)
    meant = of_transactional_id(transactional_id, _clients(facts, past))
    return facts._replace(kept_out=refused_clients(known.services, meant))


def _clients(facts: ProducerFacts, past: TransactionPast) -> set[Client]:
    """Return the last client that used the id, as far as known."""
    client = facts.refused
    if facts.producer_id is not None and facts.producer_epoch is not None:
        client = past.client_of(facts.producer_id, facts.producer_epoch) or client
    if client is None or client.peer is None:
        return set()
    return {(client.client_id or "", host_of(client.peer))}


def _producer_facts(known: WhySources, transactional_id: str, past: TransactionPast) -> Steps[ProducerFacts]:
    services, now_ms = known.services, known.services.clock.now_ms()
    held = yield from held_requests(known, lambda held: transactional_id in held.transactional_ids)
    facts = ProducerFacts(transactional_id, held=held, has_history=known.ring.is_kept)
    try:
        txn = transaction_of(services, transactional_id)
    except KafkaError as error:
        return facts._replace(unavailable=_why_unavailable(error))
    refused = past.refused()
    facts = facts._replace(
        refused=refused,
        fenced=past.fenced(refused),
        timed_out=past.timed_out(),
    )
    if txn is None:
        near = nearest(transactional_id, (each.transactional_id for each in loaded_transactions(services)))
        return facts._replace(exists=False, near=near[0] if near else None, expired=past.expired())
    producer_id, producer_epoch = txn.holder
    return facts._replace(
        state=txn.state.value,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        timeout_ms=txn.timeout_ms,
        updated_ago_ms=now_ms - txn.last_update_timestamp_ms,
        partitions=tuple(f"{named(topic)}-{number}" for topic, number in sorted(txn.partitions)[:PARTITIONS_MAX]),
        partitions_count=len(txn.partitions),
        transaction=open_facts(known, txn) if txn.state.is_open else None,
    )


def _why_unavailable(error: KafkaError) -> str:
    if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return "it is loading the partition of __transaction_state that the id is in; ask again"
    return error.message or error.code.name
