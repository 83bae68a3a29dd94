"""One client for each cluster and thread of this process: Spark reuses its Python workers, so connections last, too."""

from __future__ import annotations

import os
import threading

from barnabas.client.client import Client
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.reporting.user_errors import UserError

_kept = threading.local()


def new_client(connection: ConnectionSettings) -> Client:
    """Create a separate client. Raise UserError if that fails: a store does not exist, or its password is wrong."""
    try:
        return connection.client()
    except ValueError as error:
        raise UserError(f"of the options that begin with kafka.: {error}") from error


def client_for(connection: ConnectionSettings) -> Client:
    """Return this thread's client for these settings; a forked process creates its own. Raise UserError likewise."""
    clients: dict[tuple[int, ConnectionSettings], Client] = _kept.__dict__.setdefault("clients", {})
    found = clients.get((os.getpid(), connection))
    if found is None:
        found = clients[os.getpid(), connection] = new_client(connection)
    return found


def close_clients() -> None:
    """Close the clients of this thread; the next call creates new ones."""
    for client in _kept.__dict__.pop("clients", {}).values():
        client.close()
