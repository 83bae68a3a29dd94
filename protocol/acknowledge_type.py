"""The types of acknowledgements in ShareFetch and ShareAcknowledge (KIP-932)."""

from __future__ import annotations

from enum import IntEnum


class AcknowledgeType(IntEnum):
    """The outcome of a delivery, with Kafka's numbers."""

    GAP = 0
    """There is no record at this offset."""
    ACCEPT = 1
    RELEASE = 2
    """It is delivered again, unless it has been delivered too often."""
    REJECT = 3
    RENEW = 4
    """Its lock begins anew; it is still held."""
