"""Mutated frames are made for all that ApiVersions offers, and of values that mean something to the broker.

A field that only ever has values at the edges of its type is refused at the first look, and what lies behind is not
reached. So each field of a request either has words (tests/support/fuzz/words.py), or is named here with those for
which any value does.
"""

from collections.abc import Iterator
from random import Random

from barnabas.protocol.codec.schema import Field, Struct
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.registry import spec
from tests.fuzz.test_mutated_frames import EVERY_VERSION
from tests.support.fuzz.arena import Arena
from tests.support.fuzz.offered import TABLE
from tests.support.fuzz.stage import Facts, Member, Producer, Pusher
from tests.support.fuzz.words import Focus, words

ANY_VALUE = {
    "assignment": "it is passed on",
    "metadata": "it is passed on",
    "metrics": "tests/support/fuzz/pushes.py makes them",
    "reason": "it is logged",
    "committed_metadata": "it is stored",
    "client_software_name": "it is counted",
    "client_software_version": "it is counted",
    "host": "nobody connects to it",
    "port": "nobody connects to it",
    "rack_id": "there is one replica",
    "replica_epoch": "there is one replica",
    "replica_directory_id": "there is one replica",
    "log_start_offset": "of a replica",
    "high_watermark": "of a replica",
    "retention_time_ms": "it is read by nobody",
}
PRODUCE_BELOW_3 = [(0, 0), (0, 1), (0, 2)]  # advertised for old clients, and not answered
MEMBER = Member("group", "member", 1, None)
PRODUCER = Producer(1, 0, "transaction")
FACTS = Facts({"topic": bytes(16)}, [MEMBER], [PRODUCER], "cluster", bytes(16), 0, Pusher(bytes(16), 1))
WORDS = words(FACTS, Focus("topic", bytes(16), MEMBER, PRODUCER, 0))


def fields(struct: type[Struct]) -> Iterator[tuple[type[Struct], Field]]:
    """Every field of a request that is no struct, at any depth."""
    for field in struct.__schema__.fields:
        kind = field.type
        while kind.element is not None:
            kind = kind.element
        if kind.struct is not None:
            yield from fields(kind.struct)
        elif kind.name not in ("bool", "records"):
            yield struct, field


def is_known(struct: type[Struct], field: Field) -> bool:
    return field.name in WORDS or f"{struct.__name__}.{field.name}" in WORDS


async def test_every_version_that_is_offered_is_fuzzed() -> None:
    async with Arena(Random(0), 1) as arena:
        offered = await arena.ask(ApiVersionsRequest(), 3)
    fuzzed = {tuple(parameters.values) for parameters in EVERY_VERSION}
    missing = [
        (each.api_key, version)
        for each in offered.api_keys
        for version in range(each.min_version, each.max_version + 1)
        if (each.api_key, version) not in fuzzed and (each.api_key, version) not in PRODUCE_BELOW_3
    ]
    assert not missing


def test_every_field_of_a_request_has_words() -> None:
    wordless = {
        f"{row.key.name}: {struct.__name__}.{field.name}"
        for row in TABLE
        for struct, field in fields(spec(row.key).request)
        if not is_known(struct, field) and field.name not in ANY_VALUE
    }
    assert not wordless


def test_every_word_is_of_a_field() -> None:
    there = {name for row in TABLE for struct, field in fields(spec(row.key).request) for name in _names(struct, field)}
    assert sorted((WORDS.keys() | ANY_VALUE.keys()) - there) == []


def _names(struct: type[Struct], field: Field) -> tuple[str, str]:
    return field.name, f"{struct.__name__}.{field.name}"
