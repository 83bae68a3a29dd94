"""The protocols of listeners, by Kafka's names (SecurityProtocol): with TLS or without, with SASL or without."""

from __future__ import annotations

from typing import Final

PLAINTEXT: Final = "PLAINTEXT"
SSL: Final = "SSL"
SASL_PLAINTEXT: Final = "SASL_PLAINTEXT"
SASL_SSL: Final = "SASL_SSL"
PROTOCOLS: Final = (PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL)
"""The index of each is its number in Kafka's records."""
