"""Bugs of retention and compaction: what goes of a log, and when."""

from __future__ import annotations

from tests.simulation.planted.planting import bug

BUGS = (
    bug(
        "retention past an open transaction",
        "A transaction may lose its beginning before it ends, as in Kafka.",
        "storage/log/retention.py",
        "        decided = [(segment, bound) for segment, bound in candidates if bound <= last_stable_offset]\n",
        "        decided = [(segment, bound) for segment, bound in candidates if bound <= high_watermark]\n",
        seeds=200,
    ),
    bug(
        "retention too soon",
        "A segment goes when half of its time is over.",
        "storage/log/retention.py",
        "if age_ms > retention_ms else None\n",
        "if age_ms > retention_ms // 2 else None\n",
        seeds=200,
    ),
    bug(
        "a compacted tombstone too soon",
        "A tombstone goes in the first round, before readers may have seen it.",
        "storage/cleaner/decisions.py",
        "    return not header.has_delete_horizon or now_ms < header.base_timestamp\n",
        "    return header.has_delete_horizon and now_ms < header.base_timestamp\n",
        seeds=200,
    ),
    bug(
        "an aborted record kept by compaction",
        "The data of an aborted transaction stays, and its marker goes.",
        "storage/cleaner/transactions.py",
        "        aborted.has_data = True\n        return True\n",
        "        return False\n",
        seeds=200,
    ),
    bug(
        "aborts behind what is compacted forgotten",
        "A transaction whose marker lies in a later segment counts as committed.",
        "broker/partitions/cleaning/round.py",
        "            aborted_later=tuple(aborted),\n",
        "            aborted_later=(),\n",
        seeds=300,
    ),
    bug(
        "open transactions compacted",
        "What is not decided yet takes the place of what was committed.",
        "storage/log/to_clean.py",
        "    bounds = [watermarks.last_stable_offset, segments",
        "    bounds = [watermarks.high_watermark, segments",
        seeds=300,
    ),
    bug(
        "a map of keys that is off by one",
        "Of each key that was written again the last record goes, too.",
        "storage/cleaner/filtering.py",
        "                    if row[0] < offset_map.get(key) or not",
        "                    if row[0] <= offset_map.get(key) or not",
        seeds=200,
    ),
    bug(
        "aborted values in the map of keys",
        "A value that was aborted takes the place of the one that was committed before it.",
        "storage/cleaner/mapping.py",
        "        if is_skipped:\n",
        "        if is_skipped and header.records_count < 0:\n",
        seeds=200,
    ),
    bug(
        "a swap that is not synced",
        "Files that were compacted are given up before what replaces them has its name on the disk.",
        "storage/log/replacing.py",
        "            yield self._synced_names()\n"
        "            gone = self._mark_deleted(group)\n"
        "            yield self._synced_names()\n",
        "            gone = self._mark_deleted(group)\n",
        is_missed=True,
    ),
    bug(
        "compacted segments that are not synced",
        "What compaction wrote is not on the disk when it takes the place of what was.",
        "storage/cleaner/writing.py",
        "        yield self._log.sync\n",
        "",
        seeds=300,
    ),
    bug(
        "a first dirty offset that runs ahead",
        "The next round begins behind what nobody has looked at yet.",
        "broker/partitions/cleaning/round.py",
        "        home.checkpoints.note_cleaned(self.key, end_offset)\n",
        "        home.checkpoints.note_cleaned(self.key, log.log_end_offset)\n",
        seeds=300,
    ),
    bug(
        "the last batch of a producer compacted",
        "What its sequences are told by goes with its keys.",
        "storage/cleaner/decisions.py",
        "    (True, False): Retention.RETAIN_EMPTY,\n",
        "    (True, False): Retention.DELETE_EMPTY,\n",
        seeds=300,
        is_missed=True,
    ),
)
