"""The log cleaner, under the names of Kafka's LogCleaner and LogCleanerManager."""

from __future__ import annotations

from barnabas.broker.http.metrics.sources import Readings, Sources
from barnabas.broker.insight.inspection.cleaning import cleaner, data_directories, uncleanable


def read_cleaner(sources: Sources, readings: Readings) -> None:
    """Add the results of the cleaner's last run, and the partitions that it excludes."""
    found = cleaner(sources.services)
    readings.add("kafka_log_logcleaner_max_buffer_utilization_percent", int(100 * found.max_buffer_utilization))
    readings.add("kafka_log_logcleaner_cleaner_recopy_percent", int(100 * found.recopied))
    readings.add("kafka_log_logcleaner_max_clean_time_secs", int(found.clean_seconds))
    readings.add("kafka_log_logcleaner_max_compaction_delay_secs", found.max_compaction_delay_ms // 1000)
    readings.add("kafka_log_logcleaner_deadthreadcount", 0)
    readings.add("kafka_log_logcleanermanager_max_dirty_percent", int(100 * found.max_dirty_ratio))
    readings.add("kafka_log_logcleanermanager_time_since_last_run_ms", found.since_last_look_ms)
    aside = uncleanable(sources.services)
    for directory in data_directories(sources.services):
        sizes = [each.size for each in aside if each.directory == directory]
        readings.add("kafka_log_logcleanermanager_uncleanable_partitions_count", len(sizes), directory)
        readings.add("kafka_log_logcleanermanager_uncleanable_bytes", sum(sizes), directory)
    readings.add("barnabas_log_cleanings_total", found.cleanings)
    readings.add("barnabas_log_cleaned_bytes_total", found.bytes_removed)
    readings.add("barnabas_log_cleanings_under_way", found.under_way)
