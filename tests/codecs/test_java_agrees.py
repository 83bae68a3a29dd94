"""Kafka's own classes read what we write and write the same bytes: messages, log records; and the error codes."""

from pathlib import Path
from random import Random

from barnabas.protocol.codec.compile import codec
from barnabas.protocol.codec.schema import Request, Response, Stored, Struct
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.log_records import catalogue, group, share_group, share_state, streams_group, transaction
from tests.support.clients.java import run_program
from tests.support.records.messages import make, our_messages, our_stored

PROGRAM = Path(__file__).with_name("Reread.java")
EXAMPLES = 8
PACKAGES = {
    catalogue.__name__: "org.apache.kafka.common.metadata",
    **dict.fromkeys(
        (module.__name__ for module in (group, share_group, streams_group)),
        "org.apache.kafka.coordinator.group.generated",
    ),
    share_state.__name__: "org.apache.kafka.coordinator.share.generated",
    transaction.__name__: "org.apache.kafka.coordinator.transaction.generated",
}


def java_class(struct: type[Struct]) -> str:
    package = PACKAGES.get(struct.__module__, "org.apache.kafka.common.message")
    return f"{package}.{struct.__name__}{'Data' if issubclass(struct, (Request, Response)) else ''}"


def assert_java_rewrites(encodings: list[tuple[type[Struct], int, bytes]]) -> None:
    lines = [f"{java_class(struct)} {version} {encoded.hex()}" for struct, version, encoded in encodings]
    answers = run_program(PROGRAM, stdin="\n".join(lines) + "\n").splitlines()
    assert len(answers) == len(encodings)
    differing = [
        (struct.__name__, version, encoded.hex(), answer)
        for (struct, version, encoded), answer in zip(encodings, answers, strict=True)
        if answer != encoded.hex()
    ]
    assert not differing


def test_java_reads_and_rewrites_every_message_in_every_version() -> None:
    rng = Random(1)
    assert_java_rewrites(
        [
            (struct, version, codec(struct, version).encode(make(struct, version, rng)))
            for struct in [*our_messages(), *our_stored()]
            for version in struct.__schema__.valid_versions
            for _ in range(EXAMPLES)
        ]
    )


def test_java_keeps_the_unknown_tags_of_log_records_as_we_do() -> None:
    rng = Random(2)
    encodings: list[tuple[type[Struct], int, bytes]] = []
    for struct in our_stored():
        for version in struct.__schema__.valid_versions:
            if struct.__schema__.is_flexible(version):
                message = with_unknown_tags(make(struct, version, rng))
                encodings.append((struct, version, codec(struct, version).encode(message)))
    assert_java_rewrites(encodings)


def with_unknown_tags(message: Stored) -> Stored:
    message.unknown_tags = ((57, b"of a newer release"), (1000, b""))
    return message


def test_error_codes_are_javas() -> None:
    javas = {}
    for line in run_program(PROGRAM, "errors").splitlines():
        code, name, retriable, refresh = line.split()
        javas[int(code)] = (name, retriable == "true", refresh == "true")
    assert {int(code): (code.name, code.retriable, code.refresh_metadata) for code in ErrorCode} == javas
