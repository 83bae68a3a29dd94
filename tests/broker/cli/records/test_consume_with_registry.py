"""`barnabas consume --registry`: this broker's own registry, and what others may answer."""

import json
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import Request, urlopen

import pytest

from barnabas import Barnabas as Broker
from barnabas.broker.cli.records.consume import parser as consume_parser
from barnabas.broker.cli.records.seed import parser as seed_parser
from barnabas.broker.cli.terminal.options import DEFAULT_REGISTRY, take_word_of_registry
from barnabas.client.client import Client
from barnabas.client.produce.producer import Producer
from tests.support.command_line import Barnabas

GUID_HEADER = "__value_schema_id"
LINE = '{"type": "record", "name": "Line", "fields": [{"name": "sku", "type": "string"}]}'
ORDER = (
    '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, {"name": "line", "type": "Line"}]}'
)
PROTO = 'syntax = "proto3"; message Paid { int32 cents = 1; }'
READ = ("--from-beginning", "--exit-at-end", "--print-key", "--separator", "|")


@pytest.fixture(scope="module")
def registry_broker() -> Iterator[Broker]:
    with Broker(registry=True) as running:
        yield running


@pytest.fixture
def name(registry_broker: Broker) -> str:
    """A topic of one partition."""
    name = f"topic-{len(registry_broker.topics())}"
    registry_broker.create_topic(name, 1)
    return name


@pytest.fixture
def consume(registry_broker: Broker, offline: Barnabas, name: str) -> Barnabas:
    return lambda *arguments: offline(
        "consume", name, *READ, *arguments, "--bootstrap-server", registry_broker.bootstrap_servers
    )


def registered(url: str, subject: str, **schema: object) -> dict[str, object]:
    """The id and the guid of a schema."""
    headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
    with urlopen(Request(f"{url}/subjects/{subject}/versions", json.dumps(schema).encode(), headers)) as response:
        answer: dict[str, object] = json.load(response)
    return answer


def produce(broker: Broker, topic: str, *records: tuple[bytes | None, bytes, tuple[tuple[str, bytes], ...]]) -> None:
    with Client(broker.bootstrap_servers) as client, Producer(client) as producer:
        for key, value, headers in records:
            producer.send(topic, value, key=key, headers=headers, partition=0)
        producer.flush()


def with_id(answer: dict[str, object], payload: bytes) -> bytes:
    schema_id = answer["id"]
    assert isinstance(schema_id, int)
    return b"\0" + schema_id.to_bytes(4) + payload


def test_keys_and_values_are_decoded_by_their_schemas(registry_broker: Broker, consume: Barnabas, name: str) -> None:
    url = registry_broker.registry_url
    registered(url, "line", schema=LINE)
    order = registered(url, "order", schema=ORDER, references=[{"name": "Line", "subject": "line", "version": 1}])
    paid = registered(url, "paid", schema=PROTO, schemaType="PROTOBUF")
    key = registered(url, "key", schema='{"type": "string"}', schemaType="JSON")
    guid = b"\1" + bytes.fromhex(str(paid["guid"]).replace("-", ""))
    produce(
        registry_broker,
        name,
        (with_id(key, '"ü"'.encode()), with_id(order, b"\x54\x02a"), ()),
        (b"text", with_id(paid, b"\0\x08\x05"), ()),
        (None, b"\x08\x06", ((GUID_HEADER, guid + b"\0"),)),
        (None, b"plain", ()),
        (None, b"\0\0\0\x27\x0fraw", ()),
        (None, b"\0\0\0\x27\x0fmore", ()),
        (None, with_id(order, b"\x54"), ()),
    )
    lines = [
        '"ü"|{"id": 42, "line": {"sku": "a"}}',
        'text|{"cents": 5}',
        'null|{"cents": 6}',
        "null|plain",
        "null|\0\0\0'\x0fraw",
        "null|\0\0\0'\x0fmore",
        f"null|{with_id(order, b'T').decode()}",
    ]
    told = (
        f"barnabas: {name}-0 at offset 4: the value is printed as it is: the registry has no schema with the id 9999\n"
        f"barnabas: {name}-0 at offset 6: the value, with the schema id {order['id']}, is printed as it is: "
        "the message ends early\n"
    )
    assert consume("--registry", url) == (0, "".join(f"{line}\n" for line in lines), told)

    first, _, third, fourth, *_ = map(json.loads, consume("--json", "--registry", url).stdout.splitlines())
    assert (first["key"], first["key_schema"], first["value_schema"]) == ("ü", key["id"], order["id"])
    assert (third["value"], third["value_schema"]) == ({"cents": 6}, paid["guid"])
    assert (fourth["value"], "value_schema" in fourth) == ("plain", False)


def test_a_seed_brings_its_schemas_to_a_running_registry(
    registry_broker: Broker, consume: Barnabas, offline: Barnabas, name: str, tmp_path: Path
) -> None:
    url, topic = registry_broker.registry_url, f"seeded-{name}"
    schemas = [
        {"subject": "an item/1", "schema": LINE.replace("Line", "Item"), "compatibility": "NONE"},
        {
            "subject": "basket",
            "schema": ORDER.replace("Line", "Item"),
            "references": [{"name": "Item", "subject": "an item/1"}],
        },
    ]
    records = [{"value_schema": "basket", "value_json": {"id": 7, "line": {"sku": "b"}}}]
    seed = tmp_path / "seed.json"
    seed.write_text(json.dumps({"schemas": schemas, "topics": [{"name": topic, "records": records}]}))
    words = ("seed", str(seed), "--bootstrap-server", registry_broker.bootstrap_servers, "--registry")
    refused = offline(*words, "http://127.0.0.1:1")
    sentence = "127.0.0.1:1: connection refused (is a broker running with --registry there?)"
    assert refused == (1, "", f"barnabas: {sentence}\n")
    assert offline(*words, url) == (0, f"{seed}: applied 1 topic, 1 record, 2 schemas\n", "")
    printed = offline(
        "consume", topic, *READ, "--registry", url, "--bootstrap-server", registry_broker.bootstrap_servers
    )
    assert printed == (0, 'null|{"id": 7, "line": {"sku": "b"}}\n', "")

    seed.write_text(json.dumps({"schemas": [{"subject": "basket", "schema": "{"}]}))
    told = offline(*words, url)
    assert told.status == 1
    assert f"{seed}, line 1: schemas[0].schema: {url[7:]}: the registry answered 422: " in told.stderr


CIRCLE = {"schema": '"A"', "references": [{"name": "A", "subject": "a", "version": 1}]}


@pytest.mark.parametrize(
    ("status", "answer", "expected"),
    [
        (200, {"schema": '"string"'}, (0, 'null|"x"\n', "")),
        (200, CIRCLE, (0, "null|\0\0\0\0\x01\x02x\n", "the references of a lead in a circle")),
        (200, {"schema": "{"}, (0, "null|\0\0\0\0\x01\x02x\n", "the schema with the id 1 cannot be used: ")),
        (200, {"schema": 1}, (0, "null|\0\0\0\0\x01\x02x\n", "what the registry answers for the schema with the id 1")),
        (404, {"error_code": 40403}, (0, "null|\0\0\0\0\x01\x02x\n", "the registry has no schema with the id 1")),
        (401, {"message": "Unauthorized"}, (1, "", "the registry answered 401: Unauthorized")),
        (404, "a page", (1, "", "the registry answered 404: which is no answer of a registry")),
    ],
)
def test_what_another_registry_may_answer(
    registry_broker: Broker, consume: Barnabas, name: str, status: int, answer: object, expected: tuple[int, str, str]
) -> None:
    asked = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers["Authorization"]))
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    produce(registry_broker, name, (None, b"\0\0\0\0\1\2x", ()))
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        outcome = consume("--registry", f"http://me:p%40ss@127.0.0.1:{server.server_port}/apis/ccompat/v7/")
        server.shutdown()
    assert asked[0] == ("/apis/ccompat/v7/schemas/ids/1", f"Basic {b64encode(b'me:p@ss').decode()}")
    assert (outcome.status, outcome.stdout) == expected[:2]
    assert expected[2] in outcome.stderr
    assert len(outcome.stderr.splitlines()) == bool(expected[2])


@pytest.mark.parametrize(
    ("url", "named"),
    [("orders", " orders"), ("ftp://host", ""), ("http://host:port", ""), ("http://me:secret@host:x", "")],
)
def test_what_is_no_address_is_refused(offline: Barnabas, url: str, named: str) -> None:
    sentence = f"barnabas: --registry{named}: give HOST:PORT or a URL, such as http://127.0.0.1:8081\n"
    assert offline("consume", "orders", "--registry", url) == (2, "", sentence)


def test_a_topic_or_a_file_may_stand_behind_the_registry_without_an_address() -> None:
    consumes = consume_parser().parse_args(["--from-beginning", "--registry", "orders", "--json"])
    take_word_of_registry(consumes, "topic")
    assert (consumes.topic, consumes.registry) == ("orders", DEFAULT_REGISTRY)
    seeds = seed_parser().parse_args(["--registry", "shop.yaml"])
    take_word_of_registry(seeds, "file")
    assert (seeds.file, seeds.registry) == ("shop.yaml", DEFAULT_REGISTRY)


@pytest.mark.parametrize("words", [[], ["--registry"], ["--registry", "127.0.0.1:8081"]])
def test_a_topic_must_be_named(offline: Barnabas, words: list[str]) -> None:
    assert offline("consume", *words) == (2, "", "barnabas: consume: name the topic\n")


def test_an_address_stands_for_its_url(registry_broker: Broker, consume: Barnabas, name: str) -> None:
    url = registry_broker.registry_url
    produce(registry_broker, name, (None, with_id(registered(url, "line", schema=LINE), b"\x02a"), ()))
    assert consume("--registry", url.removeprefix("http://")).stdout == 'null|{"sku": "a"}\n'
