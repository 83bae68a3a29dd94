"""Records of consumer groups in words, for stories."""

from collections.abc import Callable, Iterable
from typing import Any

from barnabas.broker.coordinator.group.decisions.consumer.model import MemberState
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord


def record_text(record: KeyedRecord) -> str:
    """One line; topics are shown by the first byte of their id."""
    name = type(record.key).__name__.removeprefix("ConsumerGroup").removesuffix("Key")
    key: Any = record.key
    whose = getattr(key, "member_id", None) or getattr(key, "regular_expression", None)
    head = name if whose is None else f"{name} {whose}"
    return f"{head} deleted" if record.value is None else f"{head}: {_TELL[name](record.value)}"


def partitions_text(topics: Iterable[tuple[bytes, Iterable[object]]]) -> str:
    parts = (f"{topic_id[0]}:{','.join(map(str, partitions))}" for topic_id, partitions in topics)
    return " ".join(parts) or "nothing"


def _member(value: Any) -> str:
    parts = [f"names={','.join(value.subscribed_topic_names)}", f"rebalance={value.rebalance_timeout_ms}"]
    for name in ("instance_id", "rack_id", "subscribed_topic_regex", "server_assignor"):
        if getattr(value, name):
            parts.append(f"{name}={getattr(value, name)}")
    classic = value.classic_member_metadata
    if classic is not None:
        names = ",".join(each.name for each in classic.supported_protocols)
        parts.append(f"classic={names} session={classic.session_timeout_ms}")
    return " ".join(parts)


def _current(value: Any) -> str:
    parts = f"epoch={value.member_epoch} before={value.previous_member_epoch} {MemberState(value.state).name}"
    parts += f" has {_with_epochs(value.assigned_partitions)}"
    if value.partitions_pending_revocation:
        parts += f" revokes {_with_epochs(value.partitions_pending_revocation)}"
    return parts


def _with_epochs(topics: Any) -> str:
    return partitions_text(
        (
            each.topic_id,
            [f"{number}@{epoch}" for number, epoch in zip(each.partitions, each.assignment_epochs, strict=True)],
        )
        for each in topics
    )


_TELL: dict[str, Callable[[Any], str]] = {
    "Metadata": lambda value: f"epoch={value.epoch}" + (" hash" if value.metadata_hash else ""),
    "MemberMetadata": _member,
    "TargetAssignmentMetadata": lambda value: f"epoch={value.assignment_epoch} at={value.assignment_timestamp}",
    "TargetAssignmentMember": lambda value: partitions_text(
        (each.topic_id, each.partitions) for each in value.topic_partitions
    ),
    "CurrentMemberAssignment": _current,
    "RegularExpression": lambda value: f"{','.join(value.topics) or 'nothing'} version={value.version}",
    "PartitionMetadata": lambda value: "of Kafka 4.0",
}
