"""/listeners: the addresses where clients connect, and the cluster id, for clients that know the HTTP port.

A host is null if clients should use the address by which they reached the page: one of this machine, as seen by them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.broker.http.served_node import ServedNode
    from barnabas.broker.network.bound_sockets import BoundAddress


def whereabouts(cluster_id: str, members: Iterable[ServedNode]) -> bytes:
    """Return the listeners of all nodes in JSON."""
    found = [_listener(bound) for member in members for bound in member.bound]
    return json.dumps({"cluster_id": cluster_id, "listeners": found}).encode()


def _listener(bound: BoundAddress) -> dict[str, Any]:
    address = bound.advertised or bound.listener
    host = None if address.is_every_interface else address.host
    return {"name": address.name, "protocol": bound.listener.protocol, "host": host, "port": bound.client_port}
