"""Applying a seed through a client: everything passes the APIs, so every check of a broker holds for it.

Theory of operation: what can be checked is checked, and all records are encoded, before anything is created. Then come
schemas, topics, their records, transactions in their order, committed offsets, users and ACLs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from barnabas.broker.server.seeding.batching import PlacedRecord, SeedRecords, prepare
from barnabas.broker.server.seeding.checking import BrokerFacts, bindings, check
from barnabas.broker.server.seeding.document import GroupOffset, SeedTopic, SeedTransaction
from barnabas.broker.server.seeding.reading import SeedSource
from barnabas.broker.server.seeding.schemas import SchemaStore, check_schemas, register_schemas, use_schemas
from barnabas.client.admin.acls import create_acls
from barnabas.client.admin.configs import ResourceType, describe_configs
from barnabas.client.admin.scram import BY_NAME, NewPassword, alter_credentials
from barnabas.client.admin.topics import create_topic, list_topics
from barnabas.client.client import Client
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import EARLIEST, LATEST, commit_offsets, list_offsets
from barnabas.client.produce.batch_sender import DELIVERY_TIMEOUT_MS, BatchSender
from barnabas.client.produce.new_batch import NewBatch
from barnabas.client.produce.producer import request_producer_id
from barnabas.client.transactions.producer import TransactionalProducer
from barnabas.protocol.errors import KafkaError

_ITERATIONS = 4096  # of SCRAM, Kafka's default
_SALT_BYTES = 32


class Applied(NamedTuple):
    """How much of each kind a seed brought."""

    topics: int
    records: int
    transactions: int
    groups: int
    users: int
    acls: int
    schemas: int


def apply(client: Client, source: SeedSource, store: SchemaStore | None = None) -> Applied:
    """Apply the seed. Raises SeedError for what is wrong with it, or what the broker refuses.

    store: the registry of the seed's schemas, if there is one.
    """
    seed, facts = source.seed, _facts(client)
    check(source, facts)
    prepared = _prepared(client, source, facts, store)
    for validate_only in (True, False):
        for index, topic in enumerate(seed.topics):
            with _refusals(source, "topics", index, settings=topic.config):
                _create(client, topic, validate_only=validate_only)
    if prepared.batches:
        _produce(client, prepared.batches)
    for index, txn in enumerate(seed.transactions):
        with _refusals(source, "transactions", index):
            _run(client, txn, prepared.transactions[index])
    for index, group in enumerate(seed.groups):
        with _refusals(source, "groups", index):
            commit_offsets(client, group.group_id, _offsets(client, group.offsets))
    for index, user in enumerate(seed.users):
        with _refusals(source, "users", index):
            for mechanism in user.mechanisms or BY_NAME:  # one in a request: a user may stand in it once
                new = NewPassword(_ITERATIONS, user.password, os.urandom(_SALT_BYTES))
                alter_credentials(client, user.name, {BY_NAME[mechanism]: new})
    for index in range(len(seed.acls)):
        with _refusals(source, "acls", index):
            create_acls(client, bindings(source, index))
    return Applied(
        len(seed.topics),
        prepared.records_count,
        len(seed.transactions),
        len(seed.groups),
        len(seed.users),
        len(seed.acls),
        len(seed.schemas),
    )


def _prepared(client: Client, source: SeedSource, facts: BrokerFacts, store: SchemaStore | None) -> SeedRecords:
    """Return all records, once the schemas are registered, whose ids stand in some of them."""
    now_ms = client.clock.now_ms()
    check_schemas(source, store)
    if store is None or not source.seed.schemas:
        return prepare(source, facts, now_ms)
    use_schemas(source, [0] * len(source.seed.schemas))
    prepare(source, facts, now_ms)  # finds what is wrong with a record while nothing is applied yet
    use_schemas(source, register_schemas(source, store))
    return prepare(source, facts, now_ms)


@contextmanager
def _refusals(source: SeedSource, *path: str | int, settings: Iterable[str] = ()) -> Iterator[None]:
    """Turn a broker's refusal into an error about a field of the seed, or about a setting of it that is named."""
    try:
        yield
    except KafkaError as refusal:
        named = next((("config", name) for name in settings if name in str(refusal)), ())
        raise source.error((*path, *named), str(refusal)) from refusal


def _facts(client: Client) -> BrokerFacts:
    topics = {each.name: len(each.partitions) for each in list_topics(client)}
    node = min(client.cluster.brokers)
    names = ("num.partitions", "message.max.bytes", "transaction.max.timeout.ms")
    values = {each.name: each.value for each in describe_configs(client, ResourceType.BROKER, str(node), names)}
    return BrokerFacts(topics, *(int(values[name] or 0) for name in names))


def _create(client: Client, topic: SeedTopic, *, validate_only: bool) -> None:
    configs = {key: _text(value) for key, value in topic.config.items()}
    create_topic(client, topic.name, partitions=topic.partitions or -1, configs=configs, validate_only=validate_only)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(_text, value)) if isinstance(value, list) else str(value)


def _produce(client: Client, batches: Iterable[NewBatch]) -> None:
    identity = request_producer_id(client, DELIVERY_TIMEOUT_MS)
    sender = BatchSender(client, identity)
    try:
        sender.put_all(batches)
        sender.flush()
    finally:
        sender.close()


def _run(client: Client, txn: SeedTransaction, records: Iterable[PlacedRecord]) -> None:
    """Write a transaction, and end it, unless it is to be left open."""
    producer = TransactionalProducer(client, txn.transactional_id, timeout_ms=txn.timeout_ms)
    producer.init()
    producer.begin()
    for topic, partition, (key, value, headers, timestamp) in records:
        producer.send(topic, value, key=key, headers=headers, partition=partition, timestamp=timestamp)
    producer.flush()  # an abort would drop what was not sent
    by_group: dict[str, dict[TopicPartition, int]] = {}
    for each in txn.offsets:
        by_group.setdefault(each.group, {})[each.topic, each.partition] = each.offset
    for group, offsets in by_group.items():
        producer.send_offsets(offsets, group)
    if txn.outcome == "committed":
        producer.commit()
    elif txn.outcome == "aborted":
        producer.abort()


def _offsets(client: Client, given: Iterable[GroupOffset]) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    asked: dict[TopicPartition, int] = {}
    for each in given:
        if isinstance(each.offset, int):
            found[each.topic, each.partition] = each.offset
        else:
            asked[each.topic, each.partition] = EARLIEST if each.offset == "earliest" else LATEST
    if asked:
        found.update({where: each.offset for where, each in list_offsets(client, asked).items()})
    return found
