"""kafka-broker-api-versions and kafka-cluster."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.broker.cli.kafka.flags import parse, tool
from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import connected
from barnabas.protocol.registry import ApiKey


def kafka_broker_api_versions(arguments: Sequence[str]) -> int:
    """Which versions of which APIs each broker offers. Scripts use it to see whether there is one."""
    options = parse(tool("kafka-broker-api-versions"), arguments)
    options.request_timeout_ms = 10_000
    names = {int(key): key.api_name for key in ApiKey}
    with connected(options) as client:
        for node_id, address in client.refresh([], client.deadline()).brokers.items():
            versions = client.node(node_id, client.deadline()).versions
            rows = [
                f"\t{names.get(key, 'UNKNOWN')}({key}): {offered.low} to {offered.high} [usable: {offered.high}]"
                for key, offered in sorted(versions.items())
            ]
            print(f"{address.host}:{address.port} (id: {node_id} rack: null isFenced: false) -> (")
            print(",\n".join(rows) + "\n)")
    return 0


def kafka_cluster(arguments: Sequence[str]) -> int:
    """The cluster's id."""
    if not arguments or arguments[0] != "cluster-id":
        raise UsageError("kafka-cluster: only `kafka-cluster cluster-id` is here")
    options = parse(tool("kafka-cluster"), arguments[1:])
    options.request_timeout_ms = 10_000
    with connected(options) as client:
        print(f"Cluster ID: {client.refresh([], client.deadline()).cluster_id}")
    return 0
