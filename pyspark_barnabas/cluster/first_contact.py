"""The first contact with a cluster: if no broker answers, a warning comes within seconds, and an error at the end.

Later on, a cluster that does not answer is considered away for a while: requests are retried without a warning.
"""

from __future__ import annotations

from barnabas.client.client import Client
from barnabas.protocol.errors import ErrorCode, KafkaError
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.reporting.own_log import own_log

_FIRST_ATTEMPT_MS = 3_000  # an address that does not answer is reported after this time

_SECURITY = frozenset(
    {ErrorCode.SASL_AUTHENTICATION_FAILED, ErrorCode.UNSUPPORTED_SASL_MECHANISM, ErrorCode.ILLEGAL_SASL_STATE}
)


def wait_for_first_contact(client: Client, connection: ConnectionSettings, *, timeout_ms: int, option: str) -> None:
    """Return once any broker answers; at once if one did before. Raise KafkaError if none does in time.

    option: the option that sets timeout_ms.
    """
    if client.cluster.brokers:
        return
    deadline = client.deadline(timeout_ms)
    try:
        client.connect(min(_FIRST_ATTEMPT_MS, timeout_ms))
    except KafkaError as error:
        if not error.code.retriable:
            raise
        own_log().warning(
            "no broker answers at %s (kafka.bootstrap.servers): %s. Trying for %d ms (%s)",
            connection.bootstrap_servers,
            error,
            timeout_ms,
            option,
        )
        client.refresh([], deadline)


def advice(code: ErrorCode, connection: ConnectionSettings) -> str | None:
    """Return what to change if a cluster could not be reached; None for an error that has another cause."""
    if code in (ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT):
        return (
            f"Check that a broker runs and can be reached at {connection.bootstrap_servers} "
            "(kafka.bootstrap.servers, and the addresses that the brokers advertise)"
        )
    return "Check kafka.security.protocol, kafka.sasl.* and kafka.ssl.*" if code in _SECURITY else None
