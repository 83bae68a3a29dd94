"""One client for each cluster and thread of this process: Spark keeps its Python workers, so connections last, too."""

from __future__ import annotations

import os
import threading

from barnabas.client.client import Client
from pyspark_barnabas.connection import ConnectionSettings
from pyspark_barnabas.user_errors import UserError

_kept = threading.local()


def client_for(connection: ConnectionSettings) -> Client:
    """The client that this thread has for these settings. A process that was forked makes its own.

    UserError where none can be made: a store that this machine does not have, or that the password does not open.
    """
    clients: dict[tuple[int, ConnectionSettings], Client] = _kept.__dict__.setdefault("clients", {})
    found = clients.get((os.getpid(), connection))
    if found is None:
        try:
            found = clients[os.getpid(), connection] = connection.client()
        except ValueError as error:
            raise UserError(f"of the options that begin with kafka.: {error}") from error
    return found


def close_clients() -> None:
    """Close what this thread keeps, and begin anew with the next call."""
    for client in _kept.__dict__.pop("clients", {}).values():
        client.close()
