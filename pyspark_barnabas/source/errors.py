"""What a source fails with, in sentences for people. Errors of brokers stay KafkaErrors."""

from __future__ import annotations

import logging
from collections.abc import Iterable

_LOG = logging.getLogger("pyspark_barnabas.source")


class SourceError(Exception):
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
