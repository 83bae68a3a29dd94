"""kafka-server-start, kafka-storage and kafka-dump-log, and a stub for scripts that still start ZooKeeper."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from barnabas.broker.cli.kafka.flags import ALONE, VALUE, need, read
from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import name_of
from barnabas.protocol.primitives import random_uuid, uuid_text

_DUMP_FLAGS = {
    "files": VALUE,
    **dict.fromkeys(["print-data-log", "deep-iteration", "verify-index-only", "index-sanity-check"], ALONE),
    **dict.fromkeys(["offsets-decoder", "transaction-log-decoder", "cluster-metadata-decoder"], ALONE),
    "share-group-state-decoder": ALONE,
}
"""Only the first two have an effect: the type of a file is known by its name, and all of it is read."""


def kafka_server_start(arguments: Sequence[str]) -> int:
    """Run `kafka-server-start FILE [--override KEY=VALUE]…` as `barnabas serve --config FILE --set KEY=VALUE…`."""
    from barnabas.broker.cli.serving.serve import run

    if not arguments or arguments[0].startswith("-"):
        raise UsageError("kafka-server-start: the first argument is a server.properties; -daemon is not available here")
    words = ["--config", arguments[0]]
    left = iter(arguments[1:])
    for word in left:
        name, equals, value = word.partition("=")
        if name != "--override":
            raise UsageError(f"kafka-server-start: {name_of(word)} is not --override KEY=VALUE")
        words += ["--set", value if equals else next(left, "")]
    return run(words)


def kafka_storage(arguments: Sequence[str]) -> int:
    """Print a random cluster id (`random-uuid`); `format` does nothing: the broker creates its directory itself."""
    command = arguments[0] if arguments else ""
    if command == "random-uuid":
        print(uuid_text(random_uuid(os.urandom)))
        return 0
    if command == "format":
        print("nothing to format: the broker creates its directory when it starts, for the cluster in CLUSTER_ID")
        return 0
    raise UsageError("kafka-storage: only `kafka-storage random-uuid` and `kafka-storage format` are available here")


def zookeeper_server_start(arguments: Sequence[str]) -> int:
    """Print that ZooKeeper is not needed: test libraries for older images start it beside the broker."""
    print("there is no ZooKeeper here, and none is needed", file=sys.stderr)
    return 0


def kafka_dump_log(arguments: Sequence[str]) -> int:
    """Print the contents of files of a data directory, as `barnabas log dump`, which knows each by its name."""
    from barnabas.broker.cli.log import run

    options = read(_DUMP_FLAGS, arguments)
    need(options, "files")
    files = (options.value("files") or "").split(",")
    return run(["dump", *files, *(["--records"] if options.has("print-data-log") else [])])
