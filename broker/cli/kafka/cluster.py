"""kafka-broker-api-versions, kafka-cluster and kafka-metadata-quorum."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.broker.cli.kafka.flags import (
    ALONE,
    VALUE,
    CommandRefused,
    Options,
    cluster,
    error_text,
    need,
    read,
    says_version,
)
from barnabas.client.admin.quorum import describe_quorum
from barnabas.client.client import Client
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.describe_quorum import Node, ReplicaState
from barnabas.protocol.primitives import ZERO_UUID, uuid_text
from barnabas.protocol.registry import ApiKey

_PURPOSE = "This tool helps to retrieve broker version information."
_QUORUM_FLAGS = {
    **dict.fromkeys(["status", "replication", "human-readable", "re"], ALONE),
    "bootstrap-controller": VALUE,
}
_COLUMNS = (
    ("NodeId", "DirectoryId", "LogEndOffset", "Lag"),
    ("LastFetchTimestamp", "LastCaughtUpTimestamp", "Status"),
)


def kafka_broker_api_versions(arguments: Sequence[str]) -> int:
    """Print the versions of each API that each broker offers. Scripts use it to check whether a broker runs."""
    options = read({}, arguments)
    if says_version(options, arguments, _PURPOSE, {}):
        return 0
    need(options, "bootstrap-server")
    names = {int(key): key.api_name for key in ApiKey}
    with cluster(options) as client:
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
    """Print the cluster id."""
    if "cluster-id" not in arguments:
        raise CommandRefused("kafka-cluster: only `kafka-cluster cluster-id` is available here")
    options = read({"config": VALUE, "bootstrap-controller": VALUE}, arguments)
    if not options.has("bootstrap-server"):
        raise CommandRefused("You must specify either --bootstrap-controller or --bootstrap-server.")
    with cluster(options, "config" if options.has("config") else "command-config") as client:
        print(f"Cluster ID: {client.refresh([], client.deadline()).cluster_id}")
    return 0


# --- kafka-metadata-quorum ---


def kafka_metadata_quorum(arguments: Sequence[str]) -> int:
    """Print the leader of the metadata quorum, and the lag of the other replicas: health checks use it."""
    if "describe" not in arguments:
        raise CommandRefused("kafka-metadata-quorum: only `describe` is available here: the quorum has one voter")
    options = read(_QUORUM_FLAGS, arguments)
    if options.has("bootstrap-controller") or not options.has("bootstrap-server"):
        raise CommandRefused("There is no listener of a controller here: name a broker with --bootstrap-server.")
    if options.has("status") == (options.has("replication") or options.has("re")):
        if options.has("status"):
            raise CommandRefused("Only one of --status or --replication should be specified with describe sub-command")
        raise CommandRefused("One of --status or --replication must be specified with describe sub-command")
    try:
        with cluster(options) as client:
            _print_status(client) if options.has("status") else _print_replication(client, options)
    except KafkaError as error:
        raise CommandRefused(f"Error occurred: {error_text(error)}") from error
    return 0


def _print_status(client: Client) -> None:
    cluster_id = client.refresh([], client.deadline()).cluster_id
    quorum, nodes = describe_quorum(client)
    voters = quorum.current_voters
    leader = next(each for each in voters if each.replica_id == quorum.leader_id)
    last = min(voters, key=lambda each: each.log_end_offset)
    behind_ms = 0 if last is leader else leader.last_caught_up_timestamp - last.last_caught_up_timestamp
    for name, value in (
        ("ClusterId", cluster_id),
        ("LeaderId", quorum.leader_id),
        ("LeaderEpoch", quorum.leader_epoch),
        ("HighWatermark", quorum.high_watermark),
        ("MaxFollowerLag", leader.log_end_offset - last.log_end_offset),
        ("MaxFollowerLagTimeMs", behind_ms),
        ("CurrentVoters", _replicas(voters, nodes)),
        ("CurrentObservers", _replicas(quorum.observers, nodes)),
    ):
        print(f"{name + ':':23} {value}")


def _replicas(replicas: Sequence[ReplicaState], nodes: Sequence[Node]) -> str:
    endpoints = {
        node.node_id: [f'"{each.name}://{each.host}:{each.port}"' for each in node.listeners] for node in nodes
    }
    shown = []
    for each in replicas:
        directory = each.replica_directory_id
        known = "null" if directory == ZERO_UUID else f'"{uuid_text(directory)}"'
        where = endpoints.get(each.replica_id)
        more = f', "endpoints": [{", ".join(where)}]' if where else ""
        shown.append(f'{{"id": {each.replica_id}, "directoryId": {known}{more}}}')
    return f"[{', '.join(shown)}]"


def _print_replication(client: Client, options: Options) -> None:
    quorum, _ = describe_quorum(client)
    leader = next(each for each in quorum.current_voters if each.replica_id == quorum.leader_id)
    now = client.clock.now_ms() if options.has("human-readable") else None
    rows = [[column for half in _COLUMNS for column in half], _row(leader, leader, "Leader", now)]
    others = [each for each in quorum.current_voters if each is not leader]
    for status, replicas in (("Follower", others), ("Observer", quorum.observers)):
        rows += [_row(each, leader, status, now) for each in replicas]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        print("\t".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))


def _row(replica: ReplicaState, leader: ReplicaState, status: str, now_ms: int | None) -> list[str]:
    lag = leader.log_end_offset - replica.log_end_offset
    times = (_time(each, now_ms) for each in (replica.last_fetch_timestamp, replica.last_caught_up_timestamp))
    directory = uuid_text(replica.replica_directory_id)
    return [str(replica.replica_id), directory, str(replica.log_end_offset), str(lag), *times, status]


def _time(timestamp_ms: int, now_ms: int | None) -> str:
    return str(timestamp_ms) if now_ms is None or timestamp_ms < 0 else f"{now_ms - timestamp_ms} ms ago"
