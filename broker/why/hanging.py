"""All that hangs: directories that take no records, groups that rebalance or wait for a transaction, open transactions.

For the report of a test that failed. Bounded: some of each, the oldest transactions first.
"""

from __future__ import annotations

from heapq import nsmallest
from typing import TYPE_CHECKING

from barnabas.broker.inspection.groups import loaded_groups
from barnabas.broker.inspection.logs import ends
from barnabas.broker.inspection.transactions import loaded_transactions
from barnabas.broker.why.consumers import consumer_facts
from barnabas.broker.why.groups import group_facts
from barnabas.broker.why.producers import producer_facts
from barnabas.broker.why.rules import consumer, group, producer
from barnabas.broker.why.rules.answer import STANDS, Answer
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.context import Services
    from barnabas.broker.inspection.groups import LoadedGroup
    from barnabas.broker.why.ring import Ring

EACH_MAX = 5
GROUPS_MAX = 1_000
"""Groups that are looked at."""
_PARTITIONS_MAX = 100
_A_STEP = 200


def hanging(services: Services, ring: Ring) -> Steps[dict[str, Answer]]:
    """The answers, by what they are about: "disk", "group g", "consumer g", "transactional id tx"."""
    found: dict[str, Answer] = _disk(services)
    open_ones = []
    for number, each_txn in enumerate(loaded_transactions(services)):
        if each_txn.state.is_open:
            open_ones.append(each_txn)
        if number % _A_STEP == _A_STEP - 1:
            yield
    for txn in nsmallest(EACH_MAX, open_ones, key=lambda txn: txn.start_timestamp_ms):
        answer = producer.explain(producer_facts(services, ring, txn.transactional_id))
        found[f"transactional id {txn.transactional_id}"] = answer
    groups = 0
    for each in loaded_groups(services)[:GROUPS_MAX]:
        yield
        facts, _ = yield from group_facts(services, each.group_id)
        if group.is_rebalancing(facts):
            found[f"group {each.group_id}"] = group.explain(facts)
        elif _is_held_back(services, each):
            read = yield from consumer_facts(services, ring, each.group_id, None)
            found[f"consumer {each.group_id}"] = consumer.explain(read)
        else:
            continue
        groups += 1
        if groups == EACH_MAX:
            break
    if found and services.clock.is_frozen:
        found["clock"] = Answer((STANDS,), {"clock_is_frozen": True})
    return found


def _disk(services: Services) -> dict[str, Answer]:
    """Why producers wait, or are refused, whatever they write."""
    full = services.room.full_reasons
    directories = services.partitions.directory.every
    offline = {each.path: each.offline_reason for each in directories if each.offline_reason is not None}
    told = [f"{each[:1].upper()}{each[1:]}. Producers wait until there is room again." for each in full]
    told += [f"The data directory {path} is not used until the next start: {why}." for path, why in offline.items()]
    return {"disk": Answer(tuple(told), {"full": full, "offline": offline})} if told else {}


def _is_held_back(services: Services, group: LoadedGroup) -> bool:
    """Whether a transaction keeps readers of committed records away from something behind the group's position."""
    for number, committed in enumerate(group.committed()):
        reaches = ends(services, committed.topic, committed.partition)
        stable = None if reaches is None else reaches.last_stable_offset
        if reaches is not None and stable is not None and max(stable, committed.offset) < reaches.high_watermark:
            return True
        if number == _PARTITIONS_MAX:
            break
    return False
