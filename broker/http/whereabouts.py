"""/listeners: where clients connect to the broker, for whoever has found its HTTP port; and of which cluster it is.

A host is null where clients are to take the address by which they came: one of this machine, as they know it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.broker.http.served_node import ServedNode
    from barnabas.broker.network.bound import BoundAddress


def whereabouts(cluster_id: str, members: Iterable[ServedNode]) -> bytes:
    """In JSON, of all nodes."""
    found = [_listener(bound) for member in members for bound in member.bound]
    return json.dumps({"cluster_id": cluster_id, "listeners": found}).encode()


def _listener(bound: BoundAddress) -> dict[str, Any]:
    told = bound.advertised or bound.listener
    host = None if told.is_every_interface else told.host
    return {"name": told.name, "protocol": bound.listener.protocol, "host": host, "port": bound.client_port}
