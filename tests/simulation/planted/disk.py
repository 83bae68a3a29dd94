"""Bugs of files: what is on the disk when, and what a start makes of what it finds."""

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
        "a snapshot without coordinators",
        "A snapshot does not say which coordinator ended a producer's transaction last.",
        "storage/producers/producer.py",
        "            coordinator_epoch=self.coordinator_epoch,\n",
        "            coordinator_epoch=-1,\n",
    ),
    bug(
        "a high watermark that stays behind",
        "Its checkpoint says where the log of a clean stop begins, not where it ends.",
        "storage/log_checkpoints.py",
        "{key: log.high_watermark for key, log in logs.items()}",
        "{key: log.log_start_offset for key, log in logs.items()}",
    ),
    bug(
        "a batch judged by nobody",
        "What could not be judged as the disk failed is appended if the disk is well a moment later.",
        "broker/handlers/produce.py",
        "        return _append_all(request, context, failed, producer)\n",
        "        return _append_all(request, context, producer=producer)\n",
        seeds=400,
        is_missed=True,
    ),
    bug(
        "a checkpoint renamed before it is written",
        "A small file gets its name before its content is on the disk.",
        "storage/disk/full_io.py",
        "            raise\n        sync_file(file, path)\n",
        "            raise\n",
        seeds=300,
    ),
    bug(
        "a cut that is not synced",
        "What a failed append left is cut off until the power goes.",
        "storage/segment/segment.py",
        "                self.log.truncate(size)\n                self._sync_state.cut()\n",
        "                self.log.truncate(size)\n",
        is_missed=True,
    ),
    bug(
        "deleted segments that come back",
        "Retention does not sync the directory, and the log start that says so is not on the disk yet.",
        "storage/log/retention.py",
        "            self._directory.sync()  # or a power cut",
        "            pass  # or a power cut",
        is_missed=True,
    ),
    bug(
        "a sync that counts what was written meanwhile",
        "What is appended while a sync is under way is acknowledged with it.",
        "storage/log/flush.py",
        "        self._watermarks.synced(plan.end_offset)\n",
        "        self._watermarks.synced(self._watermarks.log_end_offset)\n",
        is_missed=True,
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
