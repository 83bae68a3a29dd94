"""How failures of the disk are reported: a log line for the operator, an error for the client.

Knows partitions by name. A failing disk refuses every append, so equal failures are logged once a minute; a full disk
is logged elsewhere (broker/partitions/disk_space/disk_space_watch.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.runtime.log_lines import Seldom, logger
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.errors import DirectoryFull

if TYPE_CHECKING:
    from barnabas.broker.runtime.clock import Clock
    from barnabas.storage.errors import StorageError

_log = logger("storage")


class StorageFailures:
    """The storage failures of one broker's partitions."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lines = Seldom(_log.error)

    def note(self, topic: str, partition: int, action: str, error: StorageError) -> KafkaError:
        """Log the failure, and return KAFKA_STORAGE_ERROR for the request. `action`: what failed, a verb."""
        if not isinstance(error, DirectoryFull):
            self._lines.line(
                (action, error.errno),
                self._clock.now_ms(),
                f"could not {action} partition",
                topic=topic,
                partition=partition,
                reason=error,
            )
        refusal = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))
        refusal.__cause__ = error  # compiled, `raise … from` does not set it, and the writer of markers reads it
        return refusal
