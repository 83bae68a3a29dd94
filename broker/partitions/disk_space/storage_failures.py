"""How failures of the disk are reported: a line in the log for whoever runs the broker, an error for the client.

Knows partitions by name. A failing disk refuses every append there is, so what is alike is logged once a minute; of a
full one there is a line already (broker/partitions/disk_space/disk_space_watch.py).
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
    """Those of one broker's partitions."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lines = Seldom(_log.error)

    def note(self, topic: str, partition: int, action: str, error: StorageError) -> KafkaError:
        """Log it, and return KAFKA_STORAGE_ERROR for the request. `action`: what could not be done, a verb."""
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
        refusal.__cause__ = error  # compiled, `raise … from` does not set it, and who writes markers asks for it
        return refusal
