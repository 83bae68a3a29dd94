"""Seeding a new broker before its first client: over private connections, which no network can reach.

Theory of operation: a thread has the blocking client. Each of its connections is one end of a socket pair; the other
end is a connection of the node that the address belongs to, as the principal INTERNAL, which may do everything. So a
seed passes the same APIs as every client, and no client sees a part of it.

Invariant: a directory with the file SEED_INCOMPLETE has a part of a seed, and was never served. It is not started.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.api.dispatch import Dispatcher
from barnabas.broker.network.connection import Connection
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.security.session.principal import INTERNAL
from barnabas.broker.security.session.session import Session
from barnabas.broker.server.seeding.applying import Applied, apply
from barnabas.client.addresses import Address
from barnabas.client.client import Client
from barnabas.client.network import SystemNetwork
from barnabas.protocol.files.names import SEED_INCOMPLETE

if TYPE_CHECKING:
    from barnabas.broker.server.nodes.broker_node import BrokerNode
    from barnabas.broker.server.seeding.reading import SeedSource
    from barnabas.broker.server.seeding.schemas import SchemaStore
    from barnabas.broker.services import Services
    from barnabas.storage.directories.log_directories import LogDirectories

_LISTENER = "SEED"
_TIMEOUT_MS = 60_000
_log = logger("seed")


async def seed_new(
    nodes: Sequence[BrokerNode], directory: LogDirectories, source: SeedSource, services: Services
) -> None:
    """Apply the seed to a new directory, and do nothing to an old one. Raises SeedError, KafkaError, StorageError.

    services: those of the whole broker, on which its schema registry stands.
    """
    if not all(each.is_new for each in directory.every):
        _log.info(line("seed skipped: the data directory is not new", seed=source.name))
        return
    directory.root.write_atomically(SEED_INCOMPLETE, b"")
    directory.root.sync()
    loop = asyncio.get_running_loop()
    store = _own_registry(services, loop) if source.has_registry and source.seed.schemas else None
    applied = await asyncio.to_thread(_apply, _PrivateNetwork(nodes, loop), source, store)
    directory.root.remove(SEED_INCOMPLETE)
    directory.root.sync()
    _log.info(line("seed applied", seed=source.name, **applied._asdict()))


def _own_registry(services: Services, loop: asyncio.AbstractEventLoop) -> SchemaStore:
    from barnabas.broker.server.seeding.own_registry import OwnRegistry

    return OwnRegistry(services, loop)


def _apply(network: _PrivateNetwork, source: SeedSource, store: SchemaStore | None) -> Applied:
    with Client(network.addresses(), client_id="barnabas-seed", timeout_ms=_TIMEOUT_MS, network=network) as client:
        return apply(client, source, store)


class _PrivateNetwork(SystemNetwork):
    """A client's network that leads to the nodes of this process, over socket pairs."""

    def __init__(self, nodes: Sequence[BrokerNode], loop: asyncio.AbstractEventLoop) -> None:
        self._nodes = {Address(each.services.node.host, each.services.node.port): each for each in nodes}
        self._dispatchers = {each.node_id: Dispatcher(each.services, sasl_listeners={}) for each in nodes}
        self._loop = loop

    def addresses(self) -> list[Address]:
        """Return the addresses of the nodes, as in Metadata."""
        return list(self._nodes)

    def connect(self, address: tuple[str, int], timeout_s: float) -> socket.socket:
        """Connect to the node with this address."""
        ours, theirs = socket.socketpair()
        try:
            node = self._nodes[Address(*address)]
            accepted = partial(self._connection, node)
            accepting = self._loop.connect_accepted_socket(accepted, theirs)
            asyncio.run_coroutine_threadsafe(accepting, self._loop).result(timeout_s)
        except BaseException:
            ours.close()
            theirs.close()
            raise
        ours.settimeout(timeout_s)
        return ours

    def _connection(self, node: BrokerNode) -> Connection:
        session = Session(_LISTENER)
        session.authenticated(INTERNAL)
        return Connection(node.listener, self._dispatchers[node.node_id], None, session)
