"""quixstreams_copier ADDRESS SOURCE TARGET GROUP GUARANTEE DIRECTORY: copy a topic into another until SIGTERM.

GUARANTEE: at-least-once or exactly-once, as Quix Streams understands them. Each record goes out with the number of
those of its key so far, which is kept in a store under DIRECTORY and in a changelog topic.
"""

from __future__ import annotations

import sys
from typing import Any

from quixstreams import Application, State

KEEPS_ITS_BROKERS = {"metadata.recovery.strategy": "none"}
"""Else librdkafka may send no offsets for minutes after its only broker was away: docs/clients-under-faults.md."""
SESSION_MS = 6000  # the shortest that a broker allows: a member that was killed is missed so long
TRANSACTION_MS = 10_000  # the open transaction of a copy that was killed holds up whoever takes over for so long


def copy(address: str, source: str, target: str, group: str, guarantee: Any, directory: str) -> None:
    application = Application(
        address,
        consumer_group=group,
        auto_offset_reset="earliest",
        processing_guarantee=guarantee,
        commit_every=20,
        commit_interval=0.5,
        consumer_poll_timeout=0.2,
        state_dir=directory,
        producer_extra_config=KEEPS_ITS_BROKERS | {"transaction.timeout.ms": TRANSACTION_MS},
        consumer_extra_config=KEEPS_ITS_BROKERS | {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": 500},
        loglevel="WARNING",
    )
    records = application.dataframe(application.topic(source, key_deserializer="bytes", value_deserializer="bytes"))
    records = records.apply(_numbered, stateful=True)
    records.to_topic(application.topic(target, key_serializer="bytes", value_serializer="bytes"))
    application.run()


def _numbered(value: bytes, state: State) -> bytes:
    number = state.get("number", 0) + 1
    state.set("number", number)
    return b"%b %d" % (value, number)


if __name__ == "__main__":
    copy(*sys.argv[1:])
