"""One address of a broker from its other one: the client address by HTTP, or the HTTP address by a client request.

The address found must belong to the same cluster: a mapped port, or a name, may lead to another broker. If it does
not, or if none is found, the error says which option to give.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.cli.terminal.http_connection import answered
from barnabas.client.addresses import Address
from barnabas.client.errors import ConnectionFailed
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.security.listener_protocols import PLAINTEXT

if TYPE_CHECKING:
    from barnabas.broker.cli.terminal.client_settings import ClientSettings
    from barnabas.client.client import Client

HTTP_ADDRESS = "barnabas.http.address"
"""The key of the broker's configuration."""
_PATH = "/listeners"
_TIMEOUT_S = 10.0
_EVERY_INTERFACE = ("", "0.0.0.0", "::")  # nosec B104 - nothing listens here


class BrokerAddresses(NamedTuple):
    """The client addresses of a broker, by protocol, and the id of its cluster."""

    cluster_id: str
    addresses: dict[str, list[Address]]


def bootstrap_of(http: str, settings: ClientSettings | None) -> list[Address]:
    """Return the addresses for a client with these security settings. OSError, UsageError."""
    wanted = PLAINTEXT if settings is None else settings.security.protocol
    found = _listening(http, settings).addresses
    if wanted not in found:
        by = " or ".join(sorted(found))
        add = f"give --command-config FILE, a client.properties with security.protocol={sorted(found)[0]}"
        raise OSError(f"{http}: clients connect to this broker with {by}, not {wanted}: {add}")
    return found[wanted]


def connect_to(client: Client, http: str, settings: ClientSettings | None) -> None:
    """Connect to a broker that was found by its HTTP address. OSError if it is not the same one."""
    try:
        client.connect()
    except ConnectionFailed as failed:
        add = "give --bootstrap-server HOST:PORT"
        raise OSError(
            f"{http}: no broker answers at the address that this broker reports for clients: {add} ({failed})"
        ) from failed
    if client.cluster.cluster_id != _listening(http, settings).cluster_id:
        raise OSError(
            f"{http}: its address for clients leads to another cluster from this machine: give --bootstrap-server"
        )


def http_of(client: Client, settings: ClientSettings | None, token: str | None) -> str:
    """Return the HTTP address of the broker that the client has reached. OSError, UsageError."""
    from barnabas.client.admin.configs import ResourceType, describe_configs

    node_id, address = min(client.cluster.brokers.items())
    add = "give --http HOST:PORT"
    try:
        found = describe_configs(client, ResourceType.BROKER, str(node_id), [HTTP_ADDRESS])
    except KafkaError as refused:
        raise OSError(f"{address}: the broker does not report where it serves HTTP: {add} ({refused})") from refused
    if not found or not found[0].value:
        raise OSError(f"{address}: the broker there serves no HTTP: start it with --http HOST:PORT --control")
    host, _, port = found[0].value.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    http = str(Address(address.host if host in _EVERY_INTERFACE else host, int(port)))
    try:
        cluster = _listening(http, settings, token)
    except OSError as failed:
        raise OSError(
            f"{address}: its HTTP cannot be reached at {http} from this machine: {add} ({failed})"
        ) from failed
    if cluster.cluster_id != client.cluster.cluster_id:
        raise OSError(f"{address}: its HTTP address {http} leads to another cluster from this machine: {add}")
    return http


def _listening(http: str, settings: ClientSettings | None, token: str | None = None) -> BrokerAddresses:
    """Return the client addresses of the broker that serves HTTP there. OSError, UsageError."""
    with answered(http, settings, _PATH, token=token, timeout_s=_TIMEOUT_S) as answer:
        status, text = answer.status, answer.read()
    try:
        cluster = json.loads(text) if status == 200 else {}
        cluster_id, listeners = cluster["cluster_id"], cluster["listeners"]
    except (ValueError, KeyError):
        why = text.decode(errors="replace").strip() if status in (401, 403) else "this broker is not Barnabas"
        raise OSError(f"{http}: {why}") from None
    addresses: dict[str, list[Address]] = {}
    own_host = http.rpartition(":")[0].removeprefix("[").removesuffix("]")
    for each in listeners:
        address = Address(each["host"] or own_host, each["port"])
        addresses.setdefault(each["protocol"], []).append(address)
    return BrokerAddresses(cluster_id, addresses)
