"""All that hangs: directories that take no records, requests that faults hold up, groups that rebalance or wait for a
transaction, and open transactions.

For the report of a test that failed. Some of each are told, the oldest transactions first; all are looked at, in steps,
however many there are.
"""

from __future__ import annotations

from heapq import nsmallest
from typing import TYPE_CHECKING

from barnabas.broker.inspection.groups import every_loaded_group
from barnabas.broker.inspection.logs import ends
from barnabas.broker.inspection.transactions import loaded_transactions
from barnabas.broker.why.consumers import consumer_facts
from barnabas.broker.why.groups import group_facts
from barnabas.broker.why.held import held_by_fault
from barnabas.broker.why.producers import producer_facts
from barnabas.broker.why.rules import consumer, group, held, kept_out, producer
from barnabas.broker.why.rules.answer import STANDS, Answer
from barnabas.broker.why.sources.kept_out import EVERYBODY
from barnabas.broker.why.sources.kept_out import kept_out as kept_out_lately
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.context import Services
    from barnabas.broker.coordinator.transaction.model import Transaction
    from barnabas.broker.inspection.groups import LoadedGroup
    from barnabas.broker.why.sources.known import Known

EACH_MAX = 5
_PARTITIONS_MAX = 100
"""Of a group that are looked at."""
_A_STEP = 200
"""Transactions, groups and partitions that are passed over."""


def hanging(known: Known) -> Steps[dict[str, Answer]]:
    """The answers, by what they are about: "disk", "clients" (that are refused or throttled), "fault f", "group g",
    "consumer g", "transactional id tx"."""
    found: dict[str, Answer] = _disk(known.services)
    refused = kept_out_lately(known.services, EVERYBODY)
    if refused is not None:
        found["clients"] = kept_out.explain(refused)
    by_fault = yield from held_by_fault(known, EACH_MAX)
    for fault, requests in by_fault.items():
        found[f"fault {fault}"] = held.explain(requests)
    for transactional_id in (yield from _open_transactions(known.services)):
        of_producer = yield from producer_facts(known, transactional_id)
        found[f"transactional id {transactional_id}"] = producer.explain(of_producer)
        yield
    rebalancing, held_back = yield from _waiting_groups(known.services)
    for group_id in rebalancing:
        facts, _ = yield from group_facts(known, group_id)
        if group.is_rebalancing(facts):
            found[f"group {group_id}"] = group.explain(facts)
        yield
    for group_id in held_back:
        read = yield from consumer_facts(known, group_id, None)
        found[f"consumer {group_id}"] = consumer.explain(read)
        yield
    if found and known.services.clock.is_frozen:
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


def _open_transactions(services: Services) -> Steps[list[str]]:
    """The transactional ids of those that are open for longest."""
    oldest: list[Transaction] = []
    for number, txn in enumerate(loaded_transactions(services)):
        if txn.state.is_open:
            oldest.append(txn)
        if number % _A_STEP == _A_STEP - 1:
            oldest = _oldest(oldest)
            yield
    return [txn.transactional_id for txn in _oldest(oldest)]


def _oldest(transactions: list[Transaction]) -> list[Transaction]:
    return nsmallest(EACH_MAX, transactions, key=lambda txn: txn.start_timestamp_ms)


def _waiting_groups(services: Services) -> Steps[tuple[list[str], list[str]]]:
    """Groups that rebalance, and others that are held back by a transaction: the first of each that are found."""
    rebalancing: list[str] = []
    held_back: list[str] = []
    looked_at = 0
    for each in every_loaded_group(services):
        looked_at += 1
        summary = each.summary()
        if summary is not None and summary.state.value in group.REBALANCING:
            if len(rebalancing) < EACH_MAX:
                rebalancing.append(each.group_id)
        elif len(held_back) < EACH_MAX:
            is_held_back, partitions = _is_held_back(services, each)
            looked_at += partitions
            if is_held_back:
                held_back.append(each.group_id)
        if len(rebalancing) == len(held_back) == EACH_MAX:
            break
        if looked_at >= _A_STEP:
            looked_at = 0
            yield
    return sorted(rebalancing), sorted(held_back)


def _is_held_back(services: Services, group: LoadedGroup) -> tuple[bool, int]:
    """Whether a transaction keeps readers of committed records away from something behind the group's position; and at
    how many partitions was looked to tell."""
    number = 0
    for number, committed in enumerate(group.some_committed(_PARTITIONS_MAX), 1):
        reaches = ends(services, committed.topic, committed.partition)
        stable = None if reaches is None else reaches.last_stable_offset
        if reaches is not None and stable is not None and max(stable, committed.offset) < reaches.high_watermark:
            return True, number
    return False, number
