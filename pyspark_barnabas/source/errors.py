"""What a source fails with, in sentences for people."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from barnabas.protocol.errors import ErrorCode, KafkaError
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.cluster.reaching import advice
from pyspark_barnabas.telling.user_errors import UserError

_RIGHTS = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: (
        "To read a topic READ on it is needed: have it granted. Or the topic's name is wrong: of a topic that is not"
        " there brokers say the same"
    ),
    ErrorCode.GROUP_AUTHORIZATION_FAILED: (
        "READ on the group kafka.group.id is needed where commitOffsets is set: have it granted, or do without"
    ),
}
_LOG = logging.getLogger("pyspark_barnabas.source")


class SourceError(UserError):
    """Something cannot be read, and why."""


class DataLoss(SourceError):
    """Records that should have been read are gone."""

    def __init__(self, losses: Iterable[str]) -> None:
        super().__init__(
            f"{'; '.join(losses)}. Some records may have been lost. If the query is to go on all the same, with what is"
            " left, set failOnDataLoss to false"
        )


def lose(losses: list[str], *, fail: bool) -> None:
    """DataLoss if anything is lost and the query is to fail with it; else a line in the log for each."""
    if losses and fail:
        raise DataLoss(losses)
    for loss in losses:
        _LOG.warning("%s. Some records may have been lost; the query goes on, as failOnDataLoss is false", loss)


@contextmanager
def explaining(doing: str, connection: ConnectionSettings) -> Iterator[None]:
    """A broker's error, while `doing` something, becomes a SourceError that says what to change."""
    try:
        yield
    except KafkaError as error:
        told = _RIGHTS.get(error.code) or advice(error.code, connection)
        timeout_ms = connection.request_timeout_ms
        waited = f". It was tried for kafka.request.timeout.ms ({timeout_ms})" if error.code.retriable else ""
        raise SourceError(
            f"{doing} failed: {str(error).rstrip('.')}{waited}{'' if told is None else f'. {told}'}"
        ) from error
