"""Rules about topics: those that were created are there, those that were deleted never come back, nor their records."""

from collections.abc import Iterator

from tests.simulation.history.history import History
from tests.simulation.history.topics import TopicLife, TopicView


def lost_topics(history: History) -> Iterator[str]:
    """A topic whose creation was acknowledged is there, with all its partitions, until its deletion is asked for."""
    for view in history.views:
        for life in history.lives:
            if not _is_there(life, view):
                continue
            count = max(count for answered_us, count in life.counts if answered_us <= view.began_us)
            if view.topic_id != life.topic_id:
                yield f"{view.line()}, though there is {life.line()}"
            elif view.partitions < count:
                yield f"{view.line()}, though it has {count}"


def _is_there(life: TopicLife, view: TopicView) -> bool:
    return (
        life.name == view.name
        and life.created_us is not None
        and life.created_us <= view.began_us
        and (life.deleting_us is None or life.deleting_us > view.ended_us)
    )


def revived_topics(history: History) -> Iterator[str]:
    """A topic whose deletion was acknowledged never comes back."""
    deleted = {life.full_name: life.deleted_us for life in history.lives if life.deleted_us is not None}
    for view in history.views:
        name = f"{view.name}#{view.topic_id}"
        if name in deleted and deleted[name] < view.began_us:
            yield f"{view.line()}, though it was deleted before"
    for poll in [*history.polls, *history.final]:
        if poll.at[0] in deleted and deleted[poll.at[0]] < poll.began_us:
            yield f"{poll.line()}, though the topic was deleted before"


def old_records(history: History) -> Iterator[str]:
    """Readers of a topic see the records that were written to it, and none of an earlier topic of its name."""
    written = {send.value: send.at for send in history.sends}
    for poll in [*history.polls, *history.final]:
        for offset, value in poll.records:
            if written.get(value, poll.at) != poll.at:
                yield f"{poll.client} saw {value.decode()} at {offset} of {poll.at[0]}, written to {written[value][0]}"


def deleted_records(history: History) -> Iterator[str]:
    """Records that DeleteRecords deleted do not come back, and the log starts behind them, while the broker lives.

    A death may bring them back for as long as the log's start has not been written: as in Kafka the answer does not
    wait for that (log.flush.start.offset.checkpoint.interval.ms, broker/api/handlers/delete_records.py).
    """
    for deletion in history.deletions:
        for poll in [*history.polls, *history.final]:
            if poll.at != deletion.at or poll.began_us <= deletion.ended_us or poll.boot != deletion.boot:
                continue
            if poll.log_start_offset < deletion.offset:
                yield f"{deletion.line()}, and then it starts at {poll.log_start_offset}"
            elif poll.records and poll.records[0][0] < deletion.offset:
                yield f"{deletion.line()}, and then {poll.line()}"


def lost_configs(history: History) -> Iterator[str]:
    """A topic's config is what was set last, and acknowledged."""
    for view in history.config_views:
        for name, value in view.life.configs.items():
            if view.values.get(name) != value:
                yield f"{view.line()}, though {name}={value} was set"
