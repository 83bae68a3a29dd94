"""How the clients of a load connect: without protection, over TLS, or over TLS with SASL/PLAIN.

Both brokers get the same certificate and key (ECDSA P-256, with which both sign quickly) and the same user, on a
separate listener beside the plain one, over which topics are created and deleted.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.support.certificates import authority

USER, PASSWORD = "bench", "bench-secret"
_LISTENER = "SECURED"


class Entrance(NamedTuple):
    """One way to connect. `protocol` is Kafka's name of it."""

    protocol: str
    blast: Mapping[str, float | str]
    """Options of the C client."""
    librdkafka: Mapping[str, str]

    @property
    def is_plain(self) -> bool:
        return self.protocol == "PLAINTEXT"

    def broker_settings(self, ports: Mapping[str, int], certificate: Path) -> dict[str, object]:
        """Return settings of a broker with a plain listener and this one. `ports`: of PLAINTEXT, of this one under its
        protocol's name, and of the broker's other listeners.
        """
        listeners = {(_LISTENER if name == self.protocol else name): port for name, port in ports.items()}
        protocols = {name: self.protocol if name == _LISTENER else "PLAINTEXT" for name in listeners}
        addresses = {name: f"{name}://127.0.0.1:{port}" for name, port in listeners.items()}
        login = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
        with_sasl = {
            "sasl.enabled.mechanisms": "PLAIN",
            f"listener.name.{_LISTENER.lower()}.plain.sasl.jaas.config": login,
        }
        return {
            "listeners": ",".join(addresses.values()),
            "advertised.listeners": ",".join(a for name, a in addresses.items() if name != "CONTROLLER"),
            "listener.security.protocol.map": ",".join(f"{name}:{spoken}" for name, spoken in protocols.items()),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": certificate,
            **(with_sasl if self.protocol.startswith("SASL_") else {}),
        }


_CLIENT = {"ssl.endpoint.identification.algorithm": "none", "enable.ssl.certificate.verification": "false"}
_LOGIN = {"sasl.mechanism": "PLAIN", "sasl.username": USER, "sasl.password": PASSWORD}
ENTRANCES = {
    "plain": Entrance("PLAINTEXT", {}, {}),
    "tls": Entrance("SSL", {"tls": 1}, {"security.protocol": "SSL", **_CLIENT}),
    "sasl_ssl": Entrance(
        "SASL_SSL",
        {"tls": 1, "user": f"{USER}:{PASSWORD}"},
        {"security.protocol": "SASL_SSL", **_CLIENT, **_LOGIN},
    ),
}


def rdkafka_option(entrance: Entrance) -> dict[str, str]:
    """Return the options for the command line of `rdkafka.py`."""
    return {} if entrance.is_plain else {"client_settings": json.dumps(dict(entrance.librdkafka))}


def write_certificate(path: Path) -> Path:
    """Write a key and a certificate for localhost to one PEM file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return authority().issue("localhost").write_pem(path)
