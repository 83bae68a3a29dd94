"""One client to a thread of a worker, kept from task to task: connecting costs more than a small task does."""

from __future__ import annotations

import os
import threading

from client.client import Client
from pyspark_barnabas.connection import ConnectionSettings

_own = threading.local()


def own_client(settings: ConnectionSettings) -> Client:
    """This thread's client for a cluster. None is inherited by a fork: its sockets are the parent's."""
    if getattr(_own, "pid", None) != os.getpid():
        _own.pid, _own.clients = os.getpid(), {}
    clients: dict[ConnectionSettings, Client] = _own.clients
    if settings not in clients:
        clients[settings] = settings.client()
    return clients[settings]
