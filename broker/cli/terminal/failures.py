"""From an exception to the user's message and the exit status. Any other exception is a bug and keeps its traceback."""

from __future__ import annotations

import os

USAGE_ERROR = 2
FAILURE = 1
INTERRUPTED = 130


class UsageError(Exception):
    """A wrong command line; the message says what is wrong with it."""


def describe(error: Exception) -> tuple[str | None, int]:
    """Return (the sentence, the exit status); None as the sentence of an unexpected exception."""
    from barnabas.broker.config import ConfigError
    from barnabas.broker.metadata.catalogue import CatalogueError
    from barnabas.broker.server.seeding.errors import SeedError
    from barnabas.client.errors import AuthenticationFailed, ConnectionFailed
    from barnabas.protocol.errors import DecodeError, KafkaError
    from barnabas.storage.errors import StorageError

    if isinstance(error, UsageError):
        return str(error), USAGE_ERROR
    if isinstance(error, ConnectionFailed | AuthenticationFailed):
        return f"{error}{_hint(error.message)}", FAILURE
    if isinstance(error, CatalogueError | ConfigError | KafkaError | SeedError | StorageError | DecodeError):
        return str(error), FAILURE
    if isinstance(error, OSError):
        what = error.strerror.lower() if error.strerror else str(error)
        return (f"{os.fspath(error.filename)}: {what}" if error.filename else what), FAILURE
    return None, FAILURE


def _hint(message: str) -> str:
    if "connection refused" in message:
        return " (is a broker running there?)"
    return " in a file, and name it with --command-config" if "set security.protocol" in message else ""
