"""Bugs of retention and compaction: which records are removed, and when."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug(
        "retention past an open transaction",
        "Retention may delete the beginning of an open transaction, as in Kafka.",
        seeds=200,
    ).at("deletable_segments", "bound <= last_stable_offset", "bound <= high_watermark"),
    Bug("retention too early", "A segment is deleted after half of `retention.ms`.", seeds=200).at(
        "_too_old", "age_ms > retention_ms", "age_ms > retention_ms // 2"
    ),
    Bug(
        "tombstone removed too early",
        "The first cleaning removes a tombstone before consumers can have read it.",
        seeds=200,
    ).at(
        "keeps_tombstones",
        "not header.has_delete_horizon or now_ms < header.base_timestamp",
        "header.has_delete_horizon and now_ms < header.base_timestamp",
    ),
    Bug(
        "aborted records not removed by compaction",
        "Compaction removes the marker of an aborted transaction, but not its records.",
        seeds=200,
    ).at("CleanedTransactions._is_aborted_data", "aborted.has_data = True\nreturn True", "return False"),
    Bug(
        "aborts behind the cleaned range ignored",
        "Compaction treats an aborted transaction as committed if its marker is in a later segment.",
        seeds=300,
    ).at("CleaningRound._job", "tuple(aborted)", "()"),
    Bug(
        "open transactions compacted",
        "A record of an open transaction replaces the committed value of its key.",
        seeds=300,
    ).at("dirtiness", "watermarks.last_stable_offset", "watermarks.high_watermark"),
    Bug(
        "offset map off by one", "Compaction also removes the last record of a key that was written again.", seeds=200
    ).at("MapBuilding._put", "records.note(previous, SUPERSEDED)", "records.note(offset, SUPERSEDED)"),
    Bug(
        "aborted records in the offset map",
        "An aborted record replaces the committed value of its key.",
        seeds=200,
    ).at("MapBuilding._take", "if is_skipped: ...", "if is_skipped and header.records_count < 0: ..."),
    Bug(
        "segment swap not synced",
        "Compaction deletes the old files before the names of the new files are on disk.",
        is_missed=True,
    ).at(
        "Replacer._replace",
        "yield self._synced_names()\ngone = self._mark_deleted(swap)\nyield self._synced_names()",
        "gone = self._mark_deleted(swap)",
    ),
    Bug(
        "compacted segment not synced",
        "A compacted segment replaces the old one before its content is on disk.",
        seeds=300,
    ).at("CleanedSegment.finish", "yield self._log.sync"),
    Bug("first dirty offset too high", "The next cleaning skips records that are not cleaned yet.", seeds=300).at(
        "CleaningRound._put_in_place",
        "home.checkpoints.note_cleaned(self.key, end_offset)",
        "home.checkpoints.note_cleaned(self.key, log.log_end_offset)",
    ),
    Bug(
        "last batch of a producer compacted",
        "Compaction removes the batch with a producer's last sequence number.",
        seeds=300,
        is_missed=True,
    ).at(
        "_RETENTIONS",
        "{(False, False): BatchRetention.DELETE_EMPTY, (False, True): BatchRetention.DELETE,"
        " (True, False): BatchRetention.RETAIN_EMPTY, (True, True): BatchRetention.RETAIN_EMPTY}",
        "{(False, False): BatchRetention.DELETE_EMPTY, (False, True): BatchRetention.DELETE,"
        " (True, False): BatchRetention.DELETE_EMPTY, (True, True): BatchRetention.RETAIN_EMPTY}",
    ),
)
