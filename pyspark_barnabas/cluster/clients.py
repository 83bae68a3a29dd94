"""One client for each cluster and thread of this process: Spark keeps its Python workers, so connections last, too."""

from __future__ import annotations

import os
import threading

from barnabas.client.client import Client
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.telling.user_errors import UserError

_kept = threading.local()


def new_client(connection: ConnectionSettings) -> Client:
    """A client of one's own. UserError where there can be none: a store is not there, or the password does not fit."""
    try:
        return connection.client()
    except ValueError as error:
        raise UserError(f"of the options that begin with kafka.: {error}") from error


def client_for(connection: ConnectionSettings) -> Client:
    """The client that this thread has for these settings; a process that was forked makes its own. UserError."""
    clients: dict[tuple[int, ConnectionSettings], Client] = _kept.__dict__.setdefault("clients", {})
    found = clients.get((os.getpid(), connection))
    if found is None:
        found = clients[os.getpid(), connection] = new_client(connection)
    return found


def close_clients() -> None:
    """Close what this thread keeps, and begin anew with the next call."""
    for client in _kept.__dict__.pop("clients", {}).values():
        client.close()
