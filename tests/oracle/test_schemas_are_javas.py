"""The recorded answers about schemas are those of Java's Avro and Apicurio's rules; `--record kafka` writes them.

tests/registry/schemas compares ours with the recorded ones.
"""

import json
from collections.abc import Iterator

import pytest

from tests.support.kafka.schema_pairs import GOLDEN, LANGUAGES, JavaSchemas, answers, pairs, record


@pytest.fixture(scope="module")
def java() -> Iterator[JavaSchemas]:
    with JavaSchemas() as java:
        yield java


@pytest.mark.parametrize("language", LANGUAGES)
def test_java_tells_the_recorded_answers(java: JavaSchemas, language: str, request: pytest.FixtureRequest) -> None:
    told: dict[str, dict[str, object]] = {}
    for pair in pairs(language):
        told.setdefault(pair.family, {})[pair.name] = java.compared(language, pair)
    if request.config.getoption("--record"):
        record(language, told)
    assert told == answers(language)


def test_java_prints_the_recorded_texts(java: JavaSchemas, request: pytest.FixtureRequest) -> None:
    path = GOLDEN / "avro_texts.json"
    cases = json.loads(path.read_text())
    told = [{**case, "java": java.printed(case["text"], case.get("references", []))} for case in cases]
    if request.config.getoption("--record"):
        lines = (f"  {json.dumps(case, ensure_ascii=False)}" for case in told)
        path.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    assert told == json.loads(path.read_text())
