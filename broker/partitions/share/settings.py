"""The settings of a share group that share partitions use."""

from __future__ import annotations

from typing import NamedTuple


class SharePartitionSettings(NamedTuple):
    """The settings of one group, with the broker's values where it has none of its own."""

    auto_offset_reset: str = "latest"
    """`latest`, `earliest` or `by_duration:` and a duration of ISO 8601."""
    isolation_level: str = "read_uncommitted"
    renew_acknowledge_enable: bool = True
    delivery_count_limit: int = 5
    partition_max_record_locks: int = 2_000
    record_lock_duration_ms: int = 30_000

    @property
    def throttled_from(self) -> int:
        """The delivery count from which a batch is taken apart, to find the record that cannot be processed."""
        return max(2, (self.delivery_count_limit + 1) // 2)
