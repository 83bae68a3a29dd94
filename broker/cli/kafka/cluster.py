"""kafka-broker-api-versions, kafka-cluster and kafka-metadata-quorum."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
from barnabas.client.admin.nodes import list_nodes, unregister_broker, unregister_controller
from barnabas.client.admin.quorum import describe_quorum
from barnabas.client.client import Client
from barnabas.client.errors import UnsupportedByBroker
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
    with cluster(options) as client:
        _print_versions(client, options)
    return 0


def _print_versions(client: Client, options: Options) -> None:
    names = {int(key): key.api_name for key in ApiKey}
    for node_id, address in client.refresh([], client.deadline()).brokers.items():
        versions = client.node(node_id, client.deadline()).versions
        rows = [
            f"\t{names.get(key, 'UNKNOWN')}({key}): {offered.low} to {offered.high} [usable: {offered.high}]"
            for key, offered in sorted(versions.items())
        ]
        print(f"{address.host}:{address.port} (id: {node_id} rack: null isFenced: false) -> (")
        print(",\n".join(rows) + "\n)")


# --- kafka-cluster ---


def kafka_cluster(arguments: Sequence[str]) -> int:
    """Print the cluster's id, its endpoints or the versions of its APIs, or unregister a node that is gone."""
    words = [_SHORT.get(word, word) for word in arguments]
    command = next((word for word in words if word in _COMMANDS), None)
    if command is None:
        raise CommandRefused(f"kafka-cluster: name one of the commands {', '.join(_COMMANDS)}")
    options = read(_CLUSTER_FLAGS, words)
    if options.has("bootstrap-controller"):
        raise CommandRefused("There is no listener of a controller here: name a broker with --bootstrap-server.")
    if not options.has("bootstrap-server"):
        raise CommandRefused("kafka-cluster: error: one of the arguments --bootstrap-server/-b is required")
    if options.has("config") and options.has("command-config"):
        raise CommandRefused("--config and --command-config cannot be specified together.")
    if command.startswith("unregister") and not options.has("id"):
        raise CommandRefused("kafka-cluster: error: argument --id/-i is required")
    with cluster(options, "config" if options.has("config") else "command-config") as client:
        _COMMANDS[command](client, options)
    return 0


def _print_cluster_id(client: Client, options: Options) -> None:
    print(f"Cluster ID: {client.refresh([], client.deadline()).cluster_id}")


def _unregister_broker(client: Client, options: Options) -> None:
    _unregister(client, options, "broker", unregister_broker)


def _unregister_controller(client: Client, options: Options) -> None:
    _unregister(client, options, "controller", unregister_controller)


def _unregister(client: Client, options: Options, kind: str, forget: Callable[[Client, int], None]) -> None:
    node_id = options.number("id") or 0
    try:
        forget(client, node_id)
    except UnsupportedByBroker:
        print(f"The target cluster does not support the {kind} unregistration API.")
    except KafkaError as error:
        raise CommandRefused(error_text(error)) from error
    else:
        print(f"{kind.capitalize()} {node_id} is no longer registered.")


def _list_endpoints(client: Client, options: Options) -> None:
    nodes = [each for each in list_nodes(client) if options.has("include-fenced-brokers") or not each.is_stopped]
    rows = [("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")]
    for each in nodes:
        state = "fenced" if each.is_stopped else "unfenced"
        rows.append((str(each.node_id), each.host, str(each.port), each.rack or "null", state, "broker"))
    hosts = max((len(each.host) for each in nodes), default=100)
    racks = max((len(each.rack) for each in nodes if each.rack), default=10)
    for node_id, host, port, rack, state, kind in rows:
        print(f"{node_id:10} {host:{hosts}} {port:10} {rack:{racks}} {state:10} {kind:15}")


_SHORT = {"-b": "--bootstrap-server", "-C": "--bootstrap-controller", "-c": "--command-config", "-i": "--id"}
_CLUSTER_FLAGS = {
    **dict.fromkeys(["config", "bootstrap-controller", "id"], VALUE),
    "include-fenced-brokers": ALONE,
}
_COMMANDS = {
    "cluster-id": _print_cluster_id,
    "unregister": _unregister_broker,
    "unregister-controller": _unregister_controller,
    "list-endpoints": _list_endpoints,
    "api-versions": _print_versions,
}


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
