"""Bugs of files: what is on the disk when, and what a start makes of what it finds."""

from __future__ import annotations

from tests.simulation.planted.planting import bug

BUGS = (
    bug(
        "a torn batch taken for a whole one",
        "The check of a recovered batch leaves its CRC out.",
        "storage/recovery/segment.py",
        "        if not verify_crc(batch):\n",
        "        if len(batch) == 0:\n",
        seeds=200,
    ),
    bug(
        "a transaction index that is not cut",
        "What was aborted behind the end of a cut log is still in its index.",
        "storage/recovery/loader.py",
        "        self._directory.remove(segment.txn_index.name)\n        segment.reset_indexes()\n",
        "        kept = list(segment.txn_index.entries)\n"
        "        segment.reset_indexes()\n"
        "        segment.txn_index._entries = kept\n",
        seeds=300,
    ),
    bug(
        "indexes that are not cut",
        "The indexes of a log that was cut are trusted by the next start.",
        "storage/recovery/cases.py",
        "False, False, ANY,   Trust.REREAD, ",
        "False, False, ANY,   Trust.AS_IT_IS, ",
        seeds=300,
    ),
    bug(
        "a failed sync forgotten",
        "The next sync succeeds, so the broker goes on; what the failed one should have written is nowhere.",
        "storage/disk/sync_job.py",
        "            self._disk.go_offline(str(error))\n",
        "            pass\n",
        seeds=300,
    ),
    bug(
        "a segment whose name is not synced",
        "A power cut takes a segment with all that was acknowledged of it.",
        "storage/log/flush.py",
        "            directories=[self._directory] if self._directory.is_dirty else [],\n",
        "            directories=[],\n",
        seeds=300,
    ),
)
