"""The records of `_schemas`: ours are those that other registries write, and the registry goes on with theirs.

`PUBLISHED` has records as the tests and tools of other registries have them: Redpanda's, Karapace's, and an export of
Confluent's that Cloudera's registry imports.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.common.schema_registry_client import ConfigCompatibilityLevel, ServerConfig

from tests.compat.clients.confluent import Confluent
from tests.support.registry.servers import RegistryBroker
from tests.support.stack.compacted import make_topic

_TOPIC = "_schemas"
_NEWER = ("md5", "schemaType")  # fields of a SCHEMA that older registries do not write
_INIT = '{"type":"record","name":"init","fields":[{"name":"inner","type":["string","int"]}]}'
_HIPPO = '{"type":"record","name":"Hippopotamus","namespace":"com.cloudera","fields":[{"name":"model","type":"int"}]}'


def _value(**fields: object) -> str:
    return json.dumps(fields, separators=(",", ":"))


PUBLISHED: tuple[tuple[str, str | None], ...] = (
    ('{"keytype":"NOOP","magic":0}', None),
    ('{"keytype":"CONFIG","subject":null,"magic":0}', '{"compatibilityLevel":"FULL"}'),
    ('{"keytype":"CONFIG","subject":"subject_0","magic":0}', '{"compatibilityLevel":"BACKWARD"}'),
    (
        '{"keytype":"SCHEMA","subject":"subject_0","version":1,"magic":1}',
        _value(subject="subject_0", version=1, id=1, schema=_INIT, deleted=False),
    ),
    (
        '{"keytype":"SCHEMA","subject":"Hippopotamus","version":1,"magic":1}',
        _value(subject="Hippopotamus", version=1, id=25, schema=_HIPPO, deleted=False),
    ),
    (
        '{"keytype":"SCHEMA","subject":"gone","version":1,"magic":1}',
        _value(subject="gone", version=1, id=26, schema='"string"', deleted=False),
    ),
    ('{"keytype":"DELETE_SUBJECT","subject":"gone","magic":0}', '{"subject":"gone","version":1}'),
    ('{"keytype":"MODE","subject":"Hippopotamus","magic":0}', '{"mode":"READONLY"}'),
)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RegistryBroker]:
    with RegistryBroker(tmp_path / "data") as broker:
        yield broker


def _client(broker: RegistryBroker) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": broker.registry_url})


def _records(broker: RegistryBroker) -> list[tuple[str, Any]]:
    """Return the records but the NOOPs, each value without what only newer registries write."""
    found = []
    for record in Confluent().read(broker.address, _TOPIC):
        assert record.key is not None
        value = None if record.value is None else json.loads(record.value)
        if isinstance(value, dict):
            value = {key: each for key, each in value.items() if key not in _NEWER}
        if b"NOOP" not in record.key:
            found.append((record.key.decode(), value))
    return found


def test_the_records_are_those_that_other_registries_write(broker: RegistryBroker) -> None:
    with _client(broker) as client:
        client.set_config("subject_0", ServerConfig(compatibility=ConfigCompatibilityLevel.BACKWARD))
        client.register_schema("subject_0", Schema(_INIT, "AVRO"))
        client.register_schema("gone", Schema('"string"', "AVRO"))
        client.delete_subject("gone")
        client.delete_subject("gone", permanent=True)
    first, gone = '{"keytype":"SCHEMA","subject":"subject_0","version":1,"magic":1}', "gone"
    second = '{"keytype":"SCHEMA","subject":"gone","version":1,"magic":1}'
    records = _records(broker)
    [(_, config), *schemas] = records
    assert records[0][0] == '{"keytype":"CONFIG","subject":"subject_0","magic":0}'
    assert config["compatibilityLevel"] == "BACKWARD"
    assert schemas == [
        (first, {"subject": "subject_0", "version": 1, "id": 1, "schema": _INIT, "deleted": False}),
        (second, {"subject": gone, "version": 1, "id": 2, "schema": '"string"', "deleted": False}),
        ('{"keytype":"DELETE_SUBJECT","subject":"gone","magic":0}', {"subject": gone, "version": 1}),
        (second, None),
    ]


def test_the_registry_goes_on_with_the_records_of_others(broker: RegistryBroker) -> None:
    make_topic(broker.address, _TOPIC, 1, {"cleanup.policy": "compact"})
    producer = Producer({"bootstrap.servers": broker.address})
    for key, value in PUBLISHED:
        producer.produce(_TOPIC, key=key, value=value, partition=0)
    assert producer.flush(60) == 0
    broker.kill()
    broker.start()
    with _client(broker) as client:
        assert client.get_subjects() == ["Hippopotamus", "subject_0"]
        assert client.get_subjects(deleted=True) == ["Hippopotamus", "gone", "subject_0"]
        assert client.get_schema(25).schema_str == _HIPPO
        assert client.get_config("subject_0").compatibility_level == ConfigCompatibilityLevel.BACKWARD
        assert client.get_config().compatibility_level == ConfigCompatibilityLevel.FULL
        assert client.register_schema("subject_0", Schema(_INIT, "AVRO")) == 1
        assert client.register_schema("newer", Schema('"long"', "AVRO")) == 27
