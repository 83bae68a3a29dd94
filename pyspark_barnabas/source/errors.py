"""The errors of a source, in sentences for people."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from barnabas.protocol.errors import ErrorCode, KafkaError
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.cluster.first_contact import advice
from pyspark_barnabas.reporting.user_errors import UserError

_RIGHTS = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: (
        "Reading a topic needs READ on it: have it granted. Or the topic's name is wrong: brokers send the same "
        "error for a topic that does not exist"
    ),
    ErrorCode.GROUP_AUTHORIZATION_FAILED: (
        "commitOffsets needs READ on the group kafka.group.id: have it granted, or turn commitOffsets off"
    ),
}
_LOG = logging.getLogger("pyspark_barnabas.source")


class SourceError(UserError):
    """A source cannot read something; the message has the reason."""


class DataLoss(SourceError):
    """Records that should have been read are gone."""

    def __init__(self, losses: Iterable[str]) -> None:
        super().__init__(
            f"{'; '.join(losses)}. Some records may have been lost. To continue with the remaining records, set "
            "failOnDataLoss to false"
        )


def lose(losses: list[str], *, fail: bool) -> None:
    """Raise DataLoss if anything is lost and the query has to fail then; otherwise log a line for each loss."""
    if losses and fail:
        raise DataLoss(losses)
    for loss in losses:
        _LOG.warning("%s. Some records may have been lost; the query continues, because failOnDataLoss is false", loss)


@contextmanager
def explaining(doing: str, connection: ConnectionSettings) -> Iterator[None]:
    """Turn a broker's error, while `doing` something, into a SourceError that says what to change."""
    try:
        yield
    except KafkaError as error:
        hint = _RIGHTS.get(error.code) or advice(error.code, connection)
        timeout_ms = connection.request_timeout_ms
        waited = f". It was retried for kafka.request.timeout.ms ({timeout_ms})" if error.code.retriable else ""
        raise SourceError(
            f"{doing} failed: {str(error).rstrip('.')}{waited}{'' if hint is None else f'. {hint}'}"
        ) from error
