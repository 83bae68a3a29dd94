"""What the configuration says of cleaning, as it is now: `log.cleaner.…`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig

_UNLIMITED: Final = 1 << 62


class CleanerSettings:
    """Kafka's keys. Memory and throttle are for all jobs together, and shared equally."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config

    @property
    def is_enabled(self) -> bool:
        """Whether anything is cleaned by itself."""
        return self._config.boolean("log.cleaner.enable")

    @property
    def jobs_max(self) -> int:
        """How many logs are cleaned at a time."""
        return self._config.integer("log.cleaner.threads")

    @property
    def backoff_ms(self) -> int:
        """How long to wait when there is nothing to do."""
        return self._config.integer("log.cleaner.backoff.ms")

    @property
    def sweep_ms(self) -> int:
        """How often to look at partitions that nobody has opened."""
        return self._config.integer("log.retention.check.interval.ms")

    @property
    def dedupe_buffer_bytes(self) -> int:
        """Of one job."""
        return self._config.integer("log.cleaner.dedupe.buffer.size") // self._shares

    @property
    def load_factor(self) -> float:
        """How full it may become, 0 to 1."""
        return self._number("log.cleaner.io.buffer.load.factor")

    @property
    def io_buffer_bytes(self) -> int:
        """Of one job."""
        return self._config.integer("log.cleaner.io.buffer.size") // self._shares

    @property
    def bytes_per_s(self) -> int:
        """How much one job may read and write; 0 for any amount."""
        rate = self._number("log.cleaner.io.max.bytes.per.second")
        return 0 if rate >= _UNLIMITED else max(1, int(rate / self._shares))

    @property
    def _shares(self) -> int:
        return max(1, self.jobs_max)

    def _number(self, name: str) -> float:
        value = self._config.value(name)
        assert isinstance(value, (int, float)), name
        return float(value)
