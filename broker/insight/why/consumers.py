"""Facts about the partitions that a group reads: its subscription, and per partition position, lag and blockers.

Every partition is first checked cheaply; the most relevant ones are then examined. The batches behind a position are
read in steps, and for all partitions together no more of them than positions.py allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.group.decisions.share.group import ShareGroup
from barnabas.broker.insight.inspection.logs import ends
from barnabas.broker.insight.why.group_types.share_consumers import share_partition_facts
from barnabas.broker.insight.why.groups import clients_of, group_facts
from barnabas.broker.insight.why.held_requests import comes_from, held_requests
from barnabas.broker.insight.why.partitions import leaderless, missing, opened
from barnabas.broker.insight.why.positions import Budget, contents
from barnabas.broker.insight.why.reading import GroupTopics, Where
from barnabas.broker.insight.why.reading import reading as reading_of
from barnabas.broker.insight.why.rules.consumer import SHOWN_MAX, ConsumerFacts, PartitionFacts
from barnabas.broker.insight.why.sources.refused_clients import Client, of_group, refused_clients
from barnabas.broker.insight.why.sources.why_sources import WhySources
from barnabas.broker.insight.why.transactions import Holders, open_facts
from barnabas.client.near_names import nearest
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.insight.inspection.groups import FoundGroup
    from barnabas.broker.insight.why.rules.held_requests import HeldFacts, HeldRequests
    from barnabas.broker.services import Services

PARTITIONS_MAX = 100
"""Maximum number of partitions to examine."""
PASSED_MAX = 10_000
"""Maximum number of partitions to check cheaply."""
TOPICS_MAX = 100
_A_STEP = 50
_READS = ("Fetch", "ListOffsets", "OffsetForLeaderEpoch", "Metadata")
"""Requests of a consumer that do not name its group."""


def consumer_facts(known: WhySources, group_id: str, topic: str | None) -> Steps[ConsumerFacts]:
    """Collect the facts for `why consumer`."""
    services = known.services
    group, found = yield from group_facts(known, group_id)
    clients = yield from clients_of(found)
    held = yield from _held(known, group_id, topic, clients)
    refused = refused_clients(services, of_group(group_id, clients, topic))
    facts = ConsumerFacts(group._replace(held=None, kept_out=None), topic, held=held, kept_out=refused)
    if topic is not None and missing(services, topic, 0) is not None:
        return facts._replace(is_there=False, near_topics=_near([topic], services.catalogue.topics))
    if found is None:
        return facts
    reading = yield from reading_of(services, found.group)
    if reading.subscribed is not None:
        there = services.catalogue.topics
        absent = tuple(sorted(reading.subscribed - there.keys())[:TOPICS_MAX]) if topic is None else ()
        facts = facts._replace(
            is_subscribed=None if topic is None else topic in reading.subscribed,
            subscribed_topics=tuple(sorted(reading.subscribed)[:TOPICS_MAX]),
            missing_topics=absent,
            near_topics=_near(absent[:SHOWN_MAX], there),
        )
    if isinstance(found.group, ShareGroup):
        shared, left_out = yield from share_partition_facts(services, found.group, topic)
        return facts._replace(share_partitions=shared, partitions_left_out=left_out)
    chosen, left_out = yield from _chosen(services, found, reading, topic)
    holders, budget = Holders(known), Budget()
    partitions = []
    for where in chosen:
        partitions.append((yield from _partition(known, found, reading, where, holders, budget)))
        yield
    return facts._replace(
        partitions=tuple(partitions), partitions_left_out=left_out, full=tuple(services.disk_space.full_reasons)
    )


def _near(absent: Sequence[str], there: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return missing topics with the existing name that is nearest to each."""
    return tuple((name, near[0]) for name in absent if (near := nearest(name, there)))


def _held(known: WhySources, group_id: str, topic: str | None, clients: set[Client]) -> Steps[HeldRequests | None]:
    """Return the requests held up by faults: the group's own, and the read requests of its members' clients."""

    def is_meant(held: HeldFacts) -> bool:
        if held.groups:
            return group_id in held.groups
        return (
            held.api in _READS
            and comes_from(held, clients)
            and (topic is None or not held.topics or topic in held.topics)
        )

    return (yield from held_requests(known, is_meant))


def _chosen(
    services: Services, found: FoundGroup, reading: GroupTopics, topic: str | None
) -> Steps[tuple[list[Where], int]]:
    """Return the partitions to examine, the most relevant ones, sorted; and how many more the group reads."""
    ranks: list[tuple[int, int, Where]] = []
    count = 0
    for where in _read(services, found, reading, topic):
        if count < PASSED_MAX:
            ranks.append((*_in_passing(services, found, where), where))
        count += 1
        if count % _A_STEP == 0:
            yield
    chosen = sorted(where for *_, where in nsmallest(PARTITIONS_MAX, ranks))
    return chosen, count - len(chosen)


def _read(services: Services, found: FoundGroup, reading: GroupTopics, topic: str | None) -> Iterator[Where]:
    """Yield every partition that the group reads, as far as known, each once; or all partitions of one topic."""
    topics = services.catalogue.topics
    if topic is not None:
        there = topics.get(topic)
        yield from ((topic, number) for number in range(0 if there is None else len(there.partitions)))
        return
    for name, committed in list(found.offsets.items()):
        if name in topics:
            yield from ((name, number) for number in list(committed))
    for where in dict.fromkeys([*found.unstable, *reading.assigned]):
        if where[0] in topics and where[1] not in found.offsets.get(where[0], ()):
            yield where


def _in_passing(services: Services, found: FoundGroup, where: Where) -> tuple[int, int]:
    """Return the rank of a partition, the most relevant lowest, as known without opening its log."""
    if missing(services, *where) is not None or leaderless(services, *where) is not None:
        return 0, 0
    if where in found.unstable:
        return 1, 0
    reaches = ends(services, *where)
    if reaches is None:
        return 3, 0
    held_back = 0 if reaches.last_stable_offset is None else reaches.high_watermark - reaches.last_stable_offset
    committed = found.offsets.get(where[0], {}).get(where[1])
    lag = reaches.high_watermark - (0 if committed is None else committed.offset)
    return (2, -held_back) if held_back else (4, -abs(lag))


def _partition(
    known: WhySources,
    found: FoundGroup,
    reading: GroupTopics,
    where: Where,
    holders: Holders,
    budget: Budget,
) -> Steps[PartitionFacts]:
    services = known.services
    committed = found.offsets.get(where[0], {}).get(where[1])
    facts = PartitionFacts(
        *where,
        committed=None if committed is None else committed.offset,
        member_id=reading.assigned.get(where),
        is_assignment_known=reading.is_whole,
    )
    if where in found.unstable:
        facts = facts._replace(is_position_pending=True)
        for producer_id in list(found.pending_producers(*where))[:1]:
            txn = yield from holders.transaction(producer_id)
            if txn is not None and txn.state.is_open:
                facts = facts._replace(position_holder=open_facts(known, txn))
    log = opened(services, *where)
    if isinstance(log, str):
        return facts._replace(trouble=log)
    if log is None:
        return facts._replace(log_start_offset=0, last_stable_offset=0, high_watermark=0, lag=0, lag_read_committed=0)
    start = log.log_start_offset if committed is None else committed.offset
    facts = facts._replace(
        log_start_offset=log.log_start_offset,
        last_stable_offset=log.last_stable_offset,
        high_watermark=log.high_watermark,
        lag=log.high_watermark - start,
        lag_read_committed=max(0, log.last_stable_offset - start),
    )
    undecided = log.first_undecided
    if undecided is not None:
        holder = yield from holders.holder(undecided[1], where, undecided[0])
        facts = facts._replace(holder=holder)
    if log.log_start_offset <= start < log.high_watermark:
        facts = facts._replace(contents=(yield from contents(log, start, budget)))
    return facts
