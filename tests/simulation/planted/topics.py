"""Bugs of topics: creation, deletion and config."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug("metadata log not synced", "Changes of topics are answered before they are on disk.").at(
        "MetadataLog.append", "self._file.sync()"
    ),
    Bug("topic deletion not written", "A deleted topic exists again after a restart.").at(
        "Journal.commit",
        "self._log.append(seal_records(area, len(records), self._now_ms(), **self._place()))",
        "if type(records[0]).__name__ != 'RemoveTopicRecord':\n"
        "    self._log.append(seal_records(area, len(records), self._now_ms(), **self._place()))",
    ),
    Bug("topic config not written", "A changed topic config is lost by a restart.").at(
        "Journal.commit",
        "self._log.append(seal_records(area, len(records), self._now_ms(), **self._place()))",
        "if type(records[0]).__name__ != 'ConfigRecord':\n"
        "    self._log.append(seal_records(area, len(records), self._now_ms(), **self._place()))",
    ),
    Bug(
        "log start not moved by DeleteRecords", "DeleteRecords returns a log start offset that the log does not have."
    ).at(
        "Retention.start_at",
        "self._move_start(wanted)\nreturn self._watermarks.log_start_offset",
        "return max(wanted, self._watermarks.log_start_offset)",
    ),
    Bug("files of a deleted topic not removed", "A topic that is created again has the files of the deleted topic.").at(
        "Partitions.on_topic_deleted", "len(topic.partitions)", "0"
    ),
    Bug(
        "log start of a deleted topic not removed",
        "A topic that is created again has the log start offset of the deleted topic.",
        seeds=300,
    ).at("LogCheckpoints.forget", "{key: None}", "{}"),
)
