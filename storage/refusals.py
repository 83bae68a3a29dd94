"""Refusals: errors of a partition that a client gets, with their code. Nothing has changed when one is raised.

A disk error is not a refusal: see barnabas.storage.errors.
"""

from __future__ import annotations

from barnabas.protocol.errors import ErrorCode, KafkaError

RecordError = tuple[int, str]  # index of the record inside its batch, and what is wrong with it


class AppendRefused(KafkaError):
    """A batch that is not appended. `record_errors` names the invalid records, if single ones are (Produce v8+)."""

    def __init__(self, code: ErrorCode, message: str = "", record_errors: list[RecordError] | None = None) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors or []


class OffsetOutOfRange(KafkaError):
    """An offset below the log's start or above its end."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, message)
