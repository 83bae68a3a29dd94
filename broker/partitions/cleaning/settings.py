"""The current configuration of the log cleaner: the keys `log.cleaner.…`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig

_UNLIMITED: Final = 1 << 62


class CleanerSettings:
    """The values of Kafka's keys. Memory and throttle apply to all jobs together, and are shared equally."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config

    @property
    def is_enabled(self) -> bool:
        """Whether the cleaner runs in the background."""
        return self._config.boolean("log.cleaner.enable")

    @property
    def jobs_max(self) -> int:
        """The number of logs that are cleaned at a time."""
        return self._config.integer("log.cleaner.threads")

    @property
    def backoff_ms(self) -> int:
        """The delay between two checks when there is nothing to do, in milliseconds."""
        return self._config.integer("log.cleaner.backoff.ms")

    @property
    def sweep_ms(self) -> int:
        """The interval at which partitions that were not opened are checked, in milliseconds."""
        return self._config.integer("log.retention.check.interval.ms")

    @property
    def dedupe_buffer_bytes(self) -> int:
        """The size of the dedupe buffer of one job."""
        return self._config.integer("log.cleaner.dedupe.buffer.size") // self._shares

    @property
    def load_factor(self) -> float:
        """The highest fill level of the dedupe buffer, 0 to 1."""
        return self._number("log.cleaner.io.buffer.load.factor")

    @property
    def io_buffer_bytes(self) -> int:
        """The size of the I/O buffer of one job."""
        return self._config.integer("log.cleaner.io.buffer.size") // self._shares

    @property
    def bytes_per_s(self) -> int:
        """The number of bytes per second that one job may read and write; 0 for no limit."""
        rate = self._number("log.cleaner.io.max.bytes.per.second")
        return 0 if rate >= _UNLIMITED else max(1, int(rate / self._shares))

    @property
    def _shares(self) -> int:
        return max(1, self.jobs_max)

    def _number(self, name: str) -> float:
        value = self._config.value(name)
        assert isinstance(value, (int, float)), name
        return float(value)
