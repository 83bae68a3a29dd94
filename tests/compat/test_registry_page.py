"""docs/registry.md, done block by block, and its table of clients beside the locks."""

import json
import re
from pathlib import Path
from typing import NoReturn

from tests.compat.serializers.test_serializers import CLIENTS
from tests.support.clients.go import SOURCES
from tests.support.clients.npm import JS
from tests.support.kafka.jars import CONFLUENT_VERSION, FLINK_VERSION
from tests.support.pages.blocks import blocks_of
from tests.support.pages.reader import Reader
from tests.support.processes.server import ROOT

PAGE = ROOT / "docs" / "registry.md"
_ROW = re.compile(r"\| `?([@\w/-]+)(?:'s `\w+`)?[^|]*\| ([\d.]+) \| ([^|]+) \|")
_LANGUAGES = {"Avro": "AVRO", "JSON Schema": "JSON", "Protobuf": "PROTOBUF"}


def _no_tools(*_words: object, **_given: object) -> NoReturn:
    raise AssertionError("the page needs none of Kafka's own tools")


def test_the_page_shows_what_it_says(tmp_path: Path) -> None:
    with Reader(tmp_path, _no_tools) as reader:
        for block in blocks_of(PAGE):
            if block.needs is None:
                reader.do(block)


def _locked() -> dict[str, str]:
    """Return the versions of clients by their names."""
    python = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    go = (SOURCES / "serializers" / "go.mod").read_text(encoding="utf-8")
    packages = json.loads((JS / "serializers" / "package.json").read_text(encoding="utf-8"))["dependencies"]
    return {
        **dict(re.findall(r"^([\w-]+)==([\d.]+)", python, re.MULTILINE)),
        "franz-go": re.findall(r"franz-go/pkg/sr v([\d.]+)", go)[0],
        "hamba/avro": re.findall(r"hamba/avro/v2 v([\d.]+)", go)[0],
        "confluent-kafka-go": re.findall(r"confluent-kafka-go/v2 v([\d.]+)", go)[0],
        **dict.fromkeys(("kafka-avro-serializer", "kafka-protobuf-serializer"), CONFLUENT_VERSION),
        "flink-sql-avro-confluent-registry": FLINK_VERSION,
        **packages,
    }


def test_the_table_has_the_clients_that_are_run_in_their_versions() -> None:
    rows = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    locked = _locked()
    assert {name: version for name, version, _ in rows} == {client.name: locked[client.name] for client in CLIENTS}
    told = {(name, _LANGUAGES[each]) for name, _, languages in rows for each in languages.split(", ")}
    assert told == {(client.name, client.language) for client in CLIENTS}
