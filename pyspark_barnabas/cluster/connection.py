"""How the cluster is reached: the settings with which a task, the driver and a source open a separate client.

Settings are sent to other processes (they are pickled); connections never are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.client.client import Client

if TYPE_CHECKING:
    from barnabas.client.security.settings import SecuritySettings


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """The brokers' addresses, and how long one call may take, with all its retries.

    bootstrap_servers: host:port, several separated by commas. request_timeout_ms: how long one call to a broker may
    take, its retries included. security: TLS and SASL; stores are read where a client is created, by their paths.
    """

    bootstrap_servers: str
    client_id: str = "barnabas-spark"
    request_timeout_ms: int = 30_000
    security: SecuritySettings | None = None

    def client(self) -> Client:
        """Create a separate client, which connects at its first use. Raise ValueError if the addresses are invalid.

        Raise SettingsError, a ValueError, for a store that cannot be read here.
        """
        return Client(
            self.bootstrap_servers,
            client_id=self.client_id,
            timeout_ms=self.request_timeout_ms,
            security=self.security,
        )
