"""Bugs of topics: what is created, changed, deleted, and what is left of it."""

from tests.simulation.planted.planting import bug

BUGS = (
    bug(
        "a catalogue that is not synced",
        "Changes of topics are answered before the disk has them.",
        "broker/catalogue/metadata_log.py",
        "            self._file.sync()\n            if not self._name_is_safe:\n",
        "            if not self._name_is_safe:\n",
    ),
    bug(
        "a deletion that is not written",
        "A topic is deleted until the next start.",
        "broker/catalogue/journal.py",
        "        self._log.append(build_batch(rows, **self._place()))\n"
        "        for (record, _), value in zip(records, values, strict=True):\n",
        '        if type(records[0].record).__name__ != "RemoveTopicRecord":\n'
        "            self._log.append(build_batch(rows, **self._place()))\n"
        "        for (record, _), value in zip(records, values, strict=True):\n",
    ),
    bug(
        "settings that are not written",
        "A topic has its new settings until the next start.",
        "broker/catalogue/journal.py",
        "        self._log.append(build_batch(rows, **self._place()))\n"
        "        for (record, _), value in zip(records, values, strict=True):\n",
        '        if type(records[0].record).__name__ != "ConfigRecord":\n'
        "            self._log.append(build_batch(rows, **self._place()))\n"
        "        for (record, _), value in zip(records, values, strict=True):\n",
    ),
    bug(
        "records that are not deleted",
        "DeleteRecords tells a log start that the log does not have.",
        "storage/log/retention.py",
        "        self._move_start(wanted)\n        return self._watermarks.log_start_offset\n",
        "        return max(wanted, self._watermarks.log_start_offset)\n",
    ),
    bug(
        "the log of a deleted topic",
        "A topic that is created again has the files of the one before.",
        "broker/partitions/partitions.py",
        "        for partition in range(len(topic.partitions)):\n            self._forget(topic.name, partition)\n",
        "        for partition in range(0):\n            self._forget(topic.name, partition)\n",
    ),
    bug(
        "the log start of a deleted topic",
        "A topic that is created again starts where the one before did.",
        "storage/log_checkpoints.py",
        "        for checkpoint in self._all:\n            checkpoint.update({key: None})\n",
        "        for checkpoint in self._all:\n            checkpoint.update({})\n",
        seeds=300,
    ),
)
