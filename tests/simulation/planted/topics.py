"""Bugs of topics: what is created, changed, deleted, and what is left of it."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug("a catalogue that is not synced", "Changes of topics are answered before the disk has them.").at(
        "MetadataLog.append", "self._file.sync()"
    ),
    Bug("a deletion that is not written", "A topic is deleted until the next start.").at(
        "Journal.commit",
        "self._log.append(seal_records(area, len(records), self._now_ms(), **self._place()))",
        "if type(records[0].record).__name__ != 'RemoveTopicRecord':\n"
        "    self._log.append(seal_records(area, len(records), self._now_ms(), **self._place()))",
    ),
    Bug("settings that are not written", "A topic has its new settings until the next start.").at(
        "Journal.commit",
        "self._log.append(seal_records(area, len(records), self._now_ms(), **self._place()))",
        "if type(records[0].record).__name__ != 'ConfigRecord':\n"
        "    self._log.append(seal_records(area, len(records), self._now_ms(), **self._place()))",
    ),
    Bug("records that are not deleted", "DeleteRecords tells a log start that the log does not have.").at(
        "Retention.start_at",
        "self._move_start(wanted)\nreturn self._watermarks.log_start_offset",
        "return max(wanted, self._watermarks.log_start_offset)",
    ),
    Bug("the log of a deleted topic", "A topic that is created again has the files of the one before.").at(
        "Partitions.on_topic_deleted", "len(topic.partitions)", "0"
    ),
    Bug(
        "the log start of a deleted topic", "A topic that is created again starts where the one before did.", seeds=300
    ).at("LogCheckpoints.forget", "{key: None}", "{}"),
)
