"""What a broker holds, as a seed: through a client, so of Apache Kafka, too.

The records of committed transactions become plain records, those of aborted ones are left out, and open transactions
stay open. A committed offset is counted in the records that the seed has, because markers and what was compacted are
not in it. Passwords of users cannot be read.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TextIO

from barnabas.broker.security.acl.acl import PatternType, Permission
from barnabas.broker.security.session.operations import Operation, Resource, camel_case
from barnabas.broker.server.seeding.checking import RESOURCES
from barnabas.broker.server.seeding.errors import SeedError
from barnabas.client.admin.acls import AclBinding, AclBindingFilter, describe_acls
from barnabas.client.admin.configs import ConfigSource, ResourceType, describe_configs
from barnabas.client.admin.groups import list_groups
from barnabas.client.admin.scram import describe_credentials
from barnabas.client.admin.topics import list_topics
from barnabas.client.admin.transactions import describe_transactions, list_transactions
from barnabas.client.client import Client
from barnabas.client.consume.log_batches import read_batches
from barnabas.client.metadata import TopicInfo, TopicPartition
from barnabas.client.offsets import EARLIEST, LATEST, committed_offsets, list_offsets
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.control import read_marker
from barnabas.protocol.records.record import BatchRecord, iter_records

SHARE = "Share"
_ONGOING = "Ongoing"
_SURROGATE = re.compile("[\ud800-\udfff]")


class SnapshotSummary(NamedTuple):
    """The numbers of what a snapshot has, and what it leaves out: users, and groups that are not of consumers."""

    topics: int
    records: int
    transactions: int
    groups: int
    acls: int
    users_left_out: list[str]
    groups_left_out: list[str]


class _Log:
    """The records of one partition: those that are visible, in order, and those of each open transaction."""

    def __init__(self, where: TopicPartition, records_max: int) -> None:
        self.where = where
        self.visible: list[BatchRecord] = []
        self.open: dict[int, list[BatchRecord]] = {}  # by producer id
        self._records_max = records_max
        self._count = 0

    def read(self, client: Client, start: int, end: int) -> None:
        """Read the log. Raises SeedError."""
        for header, data in read_batches(client, self.where, start, end):
            if header.is_control:
                marker = read_marker(data)
                ended = self.open.pop(header.producer_id, [])
                if marker is not None and marker.commit:
                    self.visible += ended
                continue
            records = [each for each in iter_records(data) if start <= each.offset < end]
            self._count += len(records)
            if self._count > self._records_max:
                name = f"{self.where[0]}-{self.where[1]}"
                raise SeedError(f"{name} has more than {self._records_max:,} records: raise --max-records")
            if header.is_transactional:
                self.open.setdefault(header.producer_id, []).extend(records)
            else:
                self.visible += records
        self.visible.sort()

    def position_of(self, offset: int) -> int:
        """Return how many records of the seed lie before the offset: the visible ones, and then those that are open."""
        before = sum(record.offset < offset for record in self.visible)
        if before < len(self.visible):
            return before
        return before + sum(record.offset < offset for records in self.open.values() for record in records)


class _Gathered:
    """The contribution of the logs of topics to the parts of the document behind the topics."""

    def __init__(self, committed: Mapping[str, Mapping[TopicPartition, int]]) -> None:
        """Start with nothing. committed: the offsets of each group."""
        self._committed = committed
        self.records_count = 0
        self.open_records: dict[int, list[dict[str, Any]]] = {}
        """The records of open transactions, by producer id."""
        self.positions: dict[TopicPartition, dict[int, int]] = {}
        """How many records of the seed lie before each committed offset."""

    def add(self, log: _Log) -> None:
        """Add what was read of a partition."""
        topic, partition = log.where
        for producer_id, records in log.open.items():
            described = ({"topic": topic, **_record(each, partition)} for each in records)
            self.open_records.setdefault(producer_id, []).extend(described)
        asked = {offsets[log.where] for offsets in self._committed.values() if log.where in offsets}
        self.positions[log.where] = {offset: log.position_of(offset) for offset in asked}
        self.records_count += len(log.visible)


def describe(client: Client, out: TextIO, records_max: int) -> SnapshotSummary:
    """Write what the broker holds as a seed in JSON, a record on each line. KafkaError, SeedError.

    records_max: of a partition.
    """
    topics = [each for each in list_topics(client) if not each.is_internal]
    every_group = list_groups(client)
    groups = [each.group_id for each in every_group if each.type != SHARE]
    committed = {each: committed_offsets(client, each, require_stable=False) for each in groups}
    gathered = _Gathered(committed)
    out.write('{"version": 1, "topics": [')
    for index, topic in enumerate(topics):
        out.write("," * bool(index))
        _write_topic(client, out, topic, records_max, gathered)
    transactions = _transactions(client, gathered.open_records)
    described_groups = [found for each in groups if (found := _group(each, committed[each], gathered.positions))]
    acls = _acls(client)
    for name, values in (("transactions", transactions), ("groups", described_groups), ("acls", acls)):
        lines = ",".join(f"\n{_json(each)}" for each in values)
        out.write(f'],\n"{name}": [{lines}')
    out.write("]}\n")
    return SnapshotSummary(
        topics=len(topics),
        records=gathered.records_count + sum(len(each["records"]) for each in transactions),
        transactions=len(transactions),
        groups=len(described_groups),
        acls=len(acls),
        users_left_out=sorted(describe_credentials(client)),
        groups_left_out=[each.group_id for each in every_group if each.type == SHARE],
    )


def _write_topic(client: Client, out: TextIO, topic: TopicInfo, records_max: int, gathered: _Gathered) -> None:
    places = [(topic.name, number) for number in range(len(topic.partitions))]
    starts = list_offsets(client, dict.fromkeys(places, EARLIEST))
    ends = list_offsets(client, dict.fromkeys(places, LATEST))
    head = {"name": topic.name, "partitions": len(topic.partitions), "config": _config(client, topic.name)}
    out.write(f'\n{_json(head)[:-1]}, "records": [')
    separator = ""
    for where in places:
        log = _Log(where, records_max)
        log.read(client, starts[where].offset, ends[where].offset)
        for record in log.visible:
            out.write(f"{separator}\n  {_json(_record(record, where[1]))}")
            separator = ","
        gathered.add(log)
    out.write("]}")


def _json(value: object) -> str:
    """Return the value as JSON, readable; bytes of a header's name that are not UTF-8 are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if _SURROGATE.search(text) else text


def _config(client: Client, topic: str) -> dict[str, str]:
    values = describe_configs(client, ResourceType.TOPIC, topic)
    return {each.name: each.value for each in values if each.source == ConfigSource.TOPIC and each.value is not None}


def _record(record: BatchRecord, partition: int) -> dict[str, Any]:
    described: dict[str, Any] = {} if record.key is None else _content("key", record.key)
    described |= {"value": None} if record.value is None else _content("value", record.value)
    if record.headers:
        described["headers"] = [
            {"name": name, **({"value": None} if value is None else _content("value", value))}
            for name, value in record.headers
        ]
    described["partition"] = partition
    if record.timestamp >= 0:
        described["timestamp"] = record.timestamp
    return described


def _content(field: str, content: bytes) -> dict[str, Any]:
    """Return the content in the form that is best to read, and gives the same bytes again."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return {f"{field}_base64": b64encode(content).decode()}
    if text[:1] in ("{", "["):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return {field: text}
        if json.dumps(value, ensure_ascii=False, separators=(",", ":")) == text:
            return {f"{field}_json": value}
    return {field: text}


def _transactions(client: Client, records: Mapping[int, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the open transactions that have records. Those of groups' offsets alone cannot be seen by a client."""
    ids = [each.transactional_id for each in list_transactions(client, states=[_ONGOING])]
    return [
        {
            "transactional_id": each.transactional_id,
            "outcome": "open",
            "timeout_ms": each.timeout_ms,
            "records": records[each.producer_id],
        }
        for each in describe_transactions(client, ids)
        if each.producer_id in records
    ]


def _group(
    group_id: str, offsets: Mapping[TopicPartition, int], positions: Mapping[TopicPartition, Mapping[int, int]]
) -> dict[str, Any] | None:
    described = [
        {"topic": where[0], "partition": where[1], "offset": positions[where][offset]}
        for where, offset in sorted(offsets.items())
        if where in positions
    ]
    return {"group_id": group_id, "offsets": described} if described else None


def _acls(client: Client) -> list[dict[str, Any]]:
    try:
        entries: Iterable[AclBinding] = describe_acls(client, AclBindingFilter())
    except KafkaError as error:
        if error.code is ErrorCode.SECURITY_DISABLED:
            return []
        raise
    fields = {resource: field for field, resource in RESOURCES.items()}
    merged: dict[tuple[object, ...], dict[str, Any]] = {}
    for each in entries:
        resource = Resource(each.resource_type)
        described: dict[str, Any] = {
            "principal": each.principal,
            "operations": [],
            fields[resource]: True if resource is Resource.CLUSTER else each.resource_name,
            "pattern": "prefixed" if each.pattern_type == PatternType.PREFIXED else "literal",
            "permission": "allow" if each.permission_type == Permission.ALLOW else "deny",
            "host": each.host,
        }
        one = merged.setdefault(each._replace(operation=0), described)
        one["operations"].append(camel_case(Operation(each.operation).name))
    return list(merged.values())
