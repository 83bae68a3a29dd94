"""How the cluster is reached: what a task, the driver and a source need in order to open a client of their own.

Settings travel to other processes (they are pickled); connections never do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.client.client import Client

if TYPE_CHECKING:
    from barnabas.client.security.settings import SecuritySettings


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Where the brokers are, and how long one call may take, with everything that is tried again inside of it.

    bootstrap_servers: host:port, several separated by commas. request_timeout_ms: how long one call to a broker may
    take, its retries included. security: TLS and SASL; stores are read where a client is made, by their paths.
    """

    bootstrap_servers: str
    client_id: str = "barnabas-spark"
    request_timeout_ms: int = 30_000
    security: SecuritySettings | None = None

    def client(self) -> Client:
        """A client of one's own; nothing is connected before it is used. ValueError if the addresses are none.

        SettingsError, which is one, for a store that cannot be read here.
        """
        return Client(
            self.bootstrap_servers,
            client_id=self.client_id,
            timeout_ms=self.request_timeout_ms,
            security=self.security,
        )
