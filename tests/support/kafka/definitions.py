"""Kafka's own message definitions, read out of its jars.

A definition is the JSON Kafka generates its classes from: `common/message/FetchRequest.json` and the like. Comments in
them are whole lines starting with `//`.
"""

import json
import zipfile
from functools import cache
from typing import Any

from tests.support.kafka.jars import kafka_libs

JARS = (
    "kafka-clients",
    "kafka-metadata",
    "kafka-group-coordinator",
    "kafka-share-coordinator",
    "kafka-transaction-coordinator",
)


@cache
def definitions() -> dict[str, dict[str, Any]]:
    """All definitions by the name of the message."""
    found = {}
    for jar in JARS:
        (path,) = kafka_libs().glob(f"{jar}-[0-9]*.jar")
        with zipfile.ZipFile(path) as archive:
            for entry in archive.namelist():
                if entry.startswith("common/") and entry.endswith(".json"):
                    definition = _parse(archive.read(entry).decode())
                    found[definition["name"]] = definition
    return found


def _parse(text: str) -> Any:
    return json.loads("\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//")))


def broker_apis() -> dict[int, tuple[str, str]]:
    """Key of each API of the broker's listener, and the names of its request and its response."""
    requests, responses = {}, {}
    for definition in definitions().values():
        if definition["type"] == "request" and "broker" in definition.get("listeners", ()):
            requests[definition["apiKey"]] = definition["name"]
        elif definition["type"] == "response":
            responses[definition["apiKey"]] = definition["name"]
    return {key: (name, responses[key]) for key, name in requests.items()}
