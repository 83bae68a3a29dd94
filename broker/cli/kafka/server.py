"""kafka-server-start, kafka-storage and kafka-dump-log, and a place for those who still start ZooKeeper."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from barnabas.broker.cli.kafka.flags import ALONE, VALUE, need, read
from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import name_of
from barnabas.protocol.primitives import uuid_text

_DUMP_FLAGS = {
    "files": VALUE,
    **dict.fromkeys(["print-data-log", "deep-iteration", "verify-index-only", "index-sanity-check"], ALONE),
    **dict.fromkeys(["offsets-decoder", "transaction-log-decoder", "cluster-metadata-decoder"], ALONE),
    "share-group-state-decoder": ALONE,
}
"""Of these only the first two have an effect: files are known by their names, and looked through."""


def kafka_server_start(arguments: Sequence[str]) -> int:
    """`kafka-server-start FILE [--override KEY=VALUE]…` is `barnabas serve --config FILE --set KEY=VALUE…`."""
    from barnabas.broker.cli.serving.serve import run

    if not arguments or arguments[0].startswith("-"):
        raise UsageError("kafka-server-start: the first argument is a server.properties; -daemon is not here")
    words = ["--config", arguments[0]]
    left = iter(arguments[1:])
    for word in left:
        name, equals, value = word.partition("=")
        if name != "--override":
            raise UsageError(f"kafka-server-start: {name_of(word)} is not --override KEY=VALUE")
        words += ["--set", value if equals else next(left, "")]
    return run(words)


def kafka_storage(arguments: Sequence[str]) -> int:
    """`random-uuid` draws an id for a cluster; `format` has nothing to do: the broker makes its directory itself."""
    command = arguments[0] if arguments else ""
    if command == "random-uuid":
        print(uuid_text(_random_uuid()))
        return 0
    if command == "format":
        print("nothing to format: the broker makes its directory when it starts, for the cluster CLUSTER_ID names")
        return 0
    raise UsageError("kafka-storage: only `kafka-storage random-uuid` and `kafka-storage format` are here")


def _random_uuid() -> bytes:
    """As Kafka draws them: version 4, and no leading `-`, which a command line would take for a flag."""
    while True:
        drawn = bytearray(os.urandom(16))
        drawn[6] = drawn[6] & 0x0F | 0x40
        drawn[8] = drawn[8] & 0x3F | 0x80
        if not uuid_text(bytes(drawn)).startswith("-"):
            return bytes(drawn)


def zookeeper_server_start(arguments: Sequence[str]) -> int:
    """Test libraries for older images start one beside the broker. It is not needed."""
    print("there is no ZooKeeper here, and none is needed", file=sys.stderr)
    return 0


def kafka_dump_log(arguments: Sequence[str]) -> int:
    """What files of a data directory say: `barnabas log dump`, which knows each by its name."""
    from barnabas.broker.cli.log import run

    options = read(_DUMP_FLAGS, arguments)
    need(options, "files")
    files = (options.value("files") or "").split(",")
    return run(["dump", *files, *(["--records"] if options.has("print-data-log") else [])])
