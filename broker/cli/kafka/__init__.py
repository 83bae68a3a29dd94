"""Kafka's command-line tools as scripts call them: `/opt/kafka/bin/kafka-topics.sh …` in the container.

Each tool takes the flags of Kafka's own tool, prints the same, and has its exit status (tests/golden/tools); only
kafka-dump-log prints as `barnabas log dump`. `TOOLS` is the only list of the existing tools. A missing tool reports
that in one line, with a replacement if there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from barnabas.client.near_names import did_you_mean

TOOLS = {
    "kafka-acls": "acls",
    "kafka-broker-api-versions": "cluster",
    "kafka-cluster": "cluster",
    "kafka-configs": "configs",
    "kafka-console-consumer": "console_consumer",
    "kafka-console-producer": "console_producer",
    "kafka-console-share-consumer": "console_share_consumer",
    "kafka-consumer-groups": "group.groups",
    "kafka-delete-records": "offsets",
    "kafka-dump-log": "server",
    "kafka-get-offsets": "offsets",
    "kafka-groups": "group.groups",
    "kafka-metadata-quorum": "cluster",
    "kafka-server-start": "server",
    "kafka-share-groups": "group.share_groups",
    "kafka-storage": "server",
    "kafka-streams-groups": "group.streams_groups",
    "kafka-topics": "topics",
    "zookeeper-server-start": "server",
}
"""Tool -> the module with a function of its name (`-` as `_`), which takes the arguments and returns the status."""

_ELSEWHERE = "run the tool of Apache Kafka against this broker"
MISSING = {
    "connect-distributed": "Kafka Connect is not part of this image",
    "connect-mirror-maker": "Kafka Connect is not part of this image",
    "connect-plugin-path": "Kafka Connect is not part of this image",
    "connect-standalone": "Kafka Connect is not part of this image",
    **dict.fromkeys(["kafka-client-metrics", "kafka-delegation-tokens", "kafka-replica-verification"], _ELSEWHERE),
    **dict.fromkeys(["kafka-consumer-perf-test", "kafka-producer-perf-test", "kafka-e2e-latency"], _ELSEWHERE),
    **dict.fromkeys(["kafka-share-consumer-perf-test", "kafka-verifiable-share-consumer", "trogdor"], _ELSEWHERE),
    "kafka-streams-application-reset": f"use kafka-streams-groups, or {_ELSEWHERE}",
    **dict.fromkeys(["kafka-verifiable-consumer", "kafka-verifiable-producer"], _ELSEWHERE),
    "kafka-features": "give `barnabas serve --feature NAME=LEVEL`",
    "kafka-jmx": "there is no Java here: GET /metrics has the figures",
    "kafka-leader-election": "one node leads every partition",
    "kafka-log-dirs": "`barnabas topics describe --offsets` shows the offsets of each partition",
    "kafka-metadata-shell": "there is no log of a quorum here",
    "kafka-reassign-partitions": "one node has every partition",
    "kafka-run-class": "there is no Java here",
    "kafka-server-stop": "stop the container",
    "kafka-transactions": "`barnabas txn` does it",
}
"""Tool -> why it is missing, or what to use instead."""


def main(arguments: Sequence[str]) -> int:
    """Run the tool named first, with the arguments that follow; return the exit status."""
    from barnabas.broker.cli import guarded
    from barnabas.broker.cli.terminal.failures import FAILURE

    name, given = arguments[0], list(arguments[1:])
    module = TOOLS.get(name)
    if module is not None:
        tool = getattr(import_module(f"barnabas.broker.cli.kafka.{module}"), name.replace("-", "_"))
        return guarded(lambda: _status(tool, given))
    why = MISSING.get(name) or f"this image has no such tool{did_you_mean(name, TOOLS)}"
    print(f"barnabas: {name} is not available here: {why}", file=sys.stderr)
    return FAILURE


def _status(tool: Callable[[list[str]], int], given: list[str]) -> int:
    """Return a tool's exit status; a refusal is a line on stderr, and status 1 as from Kafka's tools."""
    from barnabas.broker.cli.kafka.flags import CommandRefused
    from barnabas.broker.cli.terminal.failures import FAILURE, UsageError

    try:
        return tool(given)
    except (CommandRefused, UsageError) as error:
        print(error, file=sys.stderr)
        return FAILURE
