"""The settings of a topic that its partitions use, with Kafka's defaults.

Names are Kafka's with underscores. Where the text forms come from and how they are checked: broker/config/.
"""

from __future__ import annotations

from typing import NamedTuple

LONG_MAX = (1 << 63) - 1  # Kafka's "never" and "no limit"


class LogConfig(NamedTuple):
    """Settings of one topic. Immutable: a change of settings is a new one."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    retention_ms: int = 604_800_000  # -1: for ever
    retention_bytes: int = -1  # -1: any size
    max_message_bytes: int = 1_048_588  # of a whole batch
    max_decompressed_message_bytes: int = 2_147_483_639  # of a record in a compressed batch
    cleanup_policy: frozenset[str] = frozenset({"delete"})  # of "delete", "compact"
    compression_type: str = "producer"
    message_timestamp_type: str = "CreateTime"  # or "LogAppendTime"
    message_timestamp_before_max_ms: int = LONG_MAX
    message_timestamp_after_max_ms: int = 3_600_000
    flush_messages: int = LONG_MAX
    flush_ms: int = LONG_MAX
    file_delete_delay_ms: int = 60_000
    min_insync_replicas: int = 1
    delete_retention_ms: int = 86_400_000
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = LONG_MAX
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    preallocate: bool = False
    unclean_leader_election_enable: bool = False

    @property
    def is_compacted(self) -> bool:
        """Whether cleanup.policy contains `compact`: every record then needs a key."""
        return "compact" in self.cleanup_policy

    @property
    def is_deleted_by_age_or_size(self) -> bool:
        """Whether cleanup.policy contains `delete`: retention.ms and retention.bytes then apply."""
        return "delete" in self.cleanup_policy

    @property
    def roll_ms(self) -> int:
        """How long a segment stays active. The cleaner sees sealed segments only, so its lag counts too."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.is_compacted else self.segment_ms
