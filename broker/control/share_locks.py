"""The acquisition locks of a share group (KIP-932), ended by a test as if their time were over. The clock stays.

Each end is logged. Waits for the group's coordinator while it loads, and for nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.coordinator.group.decisions.modern.members import known_member
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.coordinator.group.decisions.share.group import ShareGroup
    from barnabas.broker.services import Services

_log = logger("control")


async def end_locks(services: Services, group_id: str, member_id: str | None) -> int:
    """End the locks of a member now, or of all members without `member_id`; return the number of records.

    Raise GROUP_ID_NOT_FOUND, and UNKNOWN_MEMBER_ID for a member that neither is in the group nor holds records.
    """
    _, group = await coordinated_share_group(services, group_id)
    count = 0
    for node in services.every_node:
        manager = node.deferred_share_partitions.built
        for led in () if manager is None else manager.every_led():
            if led.key.group_id == group_id:
                count += led.end_locks(member_id)
    if member_id is not None and not count:
        known_member(group, member_id)
    _log.info(line("share locks ended", group=group_id, member=member_id, records=count))
    return count


async def coordinated_share_group(services: Services, group_id: str) -> tuple[Services, ShareGroup]:
    """Return the node that coordinates the group, and the group, once it is loaded. Raises KafkaError."""
    if not services.offers_share_groups:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "there are no share groups: the feature share.version is at 0")
    refusal = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    for node in services.every_node:
        while True:
            try:
                return node, node.groups.share.describe(group_id)
            except KafkaError as error:
                refusal = error
                if error.code is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                    break
            await services.upkeep.next_turn()
        if refusal.code is not ErrorCode.NOT_COORDINATOR:
            break
    raise refusal
