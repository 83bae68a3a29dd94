"""Avro's own Java library and Apicurio's rules, asked about schemas: one JVM that answers line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.kafka.answering_jvm import AnsweringJvm
from tests.support.kafka.jars import schema_libs

GOLDEN = Path(__file__).parents[2] / "golden" / "schemas"
LANGUAGES = ("AVRO", "JSON", "PROTOBUF")


class SchemaPair(NamedTuple):
    """Two schemas of a family by their names, and what the table says of the change from one to the other."""

    family: str
    name: str
    original: str
    update: str


class JavaSchemas(AnsweringJvm):
    """A context manager around the process."""

    def __init__(self) -> None:
        super().__init__("SchemaPairs.java", libs=schema_libs())

    def compared(self, language: str, pair: SchemaPair) -> Any:
        """What is wrong with the change: for Avro a list of reasons, for the others whether it is taken."""
        return self._ask({"language": language, "original": pair.original, "update": pair.update})

    def printed(self, text: str, references: Sequence[str]) -> Any:
        """What Avro's Schema.toString returns, or the error."""
        return self._ask({"text": text, "references": references})


def pairs(language: str) -> Iterator[SchemaPair]:
    """Every schema of a family with every one of it, also with itself."""
    families = json.loads((GOLDEN / f"{language.lower()}.json").read_text())
    for family, schemas in families.items():
        texts = {name: each if language == "PROTOBUF" else json.dumps(each) for name, each in schemas.items()}
        for old, original in texts.items():
            for new, update in texts.items():
                yield SchemaPair(family, f"{old} -> {new}", original, update)


def answers(language: str) -> Any:
    """The recorded answers by family and name."""
    return json.loads((GOLDEN / f"{language.lower()}.answers.json").read_text())


def record(language: str, told: dict[str, dict[str, Any]]) -> None:
    """Write the answers, a line each."""
    families = []
    for family, each in told.items():
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(answer)}" for name, answer in each.items())
        families.append(f"{json.dumps(family)}: {{\n{lines}\n}}")
    (GOLDEN / f"{language.lower()}.answers.json").write_text("{\n" + ",\n".join(families) + "\n}\n")
