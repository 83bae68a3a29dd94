"""Bugs of retention and compaction: what goes of a log, and when."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug(
        "retention past an open transaction",
        "A transaction may lose its beginning before it ends, as in Kafka.",
        seeds=200,
    ).at("deletable_segments", "bound <= last_stable_offset", "bound <= high_watermark"),
    Bug("retention too soon", "A segment goes when half of its time is over.", seeds=200).at(
        "_too_old", "age_ms > retention_ms", "age_ms > retention_ms // 2"
    ),
    Bug(
        "a compacted tombstone too soon",
        "A tombstone goes in the first round, before readers may have seen it.",
        seeds=200,
    ).at(
        "keeps_tombstones",
        "not header.has_delete_horizon or now_ms < header.base_timestamp",
        "header.has_delete_horizon and now_ms < header.base_timestamp",
    ),
    Bug(
        "an aborted record kept by compaction",
        "The data of an aborted transaction stays, and its marker goes.",
        seeds=200,
    ).at("CleanedTransactions._is_aborted_data", "aborted.has_data = True\nreturn True", "return False"),
    Bug(
        "aborts behind what is compacted forgotten",
        "A transaction whose marker lies in a later segment counts as committed.",
        seeds=300,
    ).at("CleaningRound._job", "tuple(aborted)", "()"),
    Bug("open transactions compacted", "What is not decided yet takes the place of what was committed.", seeds=300).at(
        "dirtiness", "watermarks.last_stable_offset", "watermarks.high_watermark"
    ),
    Bug(
        "a map of keys that is off by one", "Of each key that was written again the last record goes, too.", seeds=200
    ).at("RecordFilter._retained", "row[0] < offset_map.get(key)", "row[0] <= offset_map.get(key)"),
    Bug(
        "aborted values in the map of keys",
        "A value that was aborted takes the place of the one that was committed before it.",
        seeds=200,
    ).at("MapBuilding._take", "if is_skipped: ...", "if is_skipped and header.records_count < 0: ..."),
    Bug(
        "a swap that is not synced",
        "Files that were compacted are given up before what replaces them has its name on the disk.",
        is_missed=True,
    ).at(
        "Replacer._replace",
        "yield self._synced_names()\ngone = self._mark_deleted(swap)\nyield self._synced_names()",
        "gone = self._mark_deleted(swap)",
    ),
    Bug(
        "compacted segments that are not synced",
        "What compaction wrote is not on the disk when it takes the place of what was.",
        seeds=300,
    ).at("CleanedSegment.finish", "yield self._log.sync"),
    Bug(
        "a first dirty offset that runs ahead", "The next round begins behind what nobody has looked at yet.", seeds=300
    ).at(
        "CleaningRound._put_in_place",
        "home.checkpoints.note_cleaned(self.key, end_offset)",
        "home.checkpoints.note_cleaned(self.key, log.log_end_offset)",
    ),
    Bug(
        "the last batch of a producer compacted",
        "What its sequences are told by goes with its keys.",
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
