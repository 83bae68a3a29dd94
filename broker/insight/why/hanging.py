"""All that hangs: directories that accept no records, requests held up by faults, open transactions, groups that
rebalance or wait for a transaction; then the recent refusals of clients.

Used in the report of a failed test, and for a broker under load: a transaction counts after one second. Some of each
kind are reported, the oldest first, with the number of the others; all are examined, in steps.
"""

from __future__ import annotations

from heapq import nsmallest
from sys import maxsize
from typing import TYPE_CHECKING

from barnabas.broker.insight.inspection.groups import every_loaded_group
from barnabas.broker.insight.inspection.transactions import loaded_transactions
from barnabas.broker.insight.why.consumers import consumer_facts
from barnabas.broker.insight.why.groups import group_facts
from barnabas.broker.insight.why.held_requests import held_by_fault
from barnabas.broker.insight.why.producers import producer_facts
from barnabas.broker.insight.why.reading import PARTITIONS_MAX, held_back
from barnabas.broker.insight.why.rules import consumer, group, held_requests, producer, refused_clients, transaction
from barnabas.broker.insight.why.rules.answer import STANDS, WhyAnswer
from barnabas.broker.insight.why.rules.formatting import counted
from barnabas.broker.insight.why.sources.refused_clients import ALL_CLIENTS
from barnabas.broker.insight.why.sources.refused_clients import refused_clients as kept_out_lately
from barnabas.broker.insight.why.transactions import Holders
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.insight.why.sources.why_sources import WhySources
    from barnabas.broker.services import Services

EACH_MAX = 5
LONGER_THAN_MS = 1_000
"""Under load, a younger transaction is normal. While the clock is frozen, no transaction is too young."""
_A_STEP = 200
"""Transactions, groups and logs that are checked in a step."""


class _Oldest:
    """The names that wait longest, and the total count."""

    def __init__(self) -> None:
        self.count = 0
        self._kept: list[tuple[int, str]] = []

    def add(self, since_ms: int, name: str) -> None:
        self.count += 1
        self._kept.append((since_ms, name))
        if len(self._kept) > 2 * EACH_MAX:
            self._kept = nsmallest(EACH_MAX, self._kept)

    @property
    def names(self) -> list[str]:
        return [name for _, name in nsmallest(EACH_MAX, self._kept)]

    @property
    def folded(self) -> int:
        """How many are not reported one by one."""
        return max(0, self.count - EACH_MAX)


def hanging(known: WhySources, longer_than_ms: int = LONGER_THAN_MS) -> Steps[dict[str, WhyAnswer]]:
    """Return, in steps, the answers by subject: "disk", "fault f", "transactional id tx", "hanging transaction t-0",
    "group g", "consumer g", "more" (of these, folded), and "clients": their recent refusals and throttles.

    longer_than_ms: how long a transaction has to be open.
    """
    begun_by_ms = maxsize if known.services.clock.is_frozen else known.services.clock.now_ms() - longer_than_ms
    found: dict[str, WhyAnswer] = _disk(known.services)
    by_fault = yield from held_by_fault(known, EACH_MAX)
    for fault, requests in by_fault.items():
        found[f"fault {fault}"] = held_requests.explain(requests)
    open_ones, began_ms = yield from _open_transactions(known.services, begun_by_ms)
    for transactional_id in open_ones.names:
        of_producer = yield from producer_facts(known, transactional_id)
        found[f"transactional id {transactional_id}"] = producer.explain(of_producer)
        yield
    found |= yield from _without_coordinator(known, began_ms)
    rebalancing, held_up = yield from _waiting_groups(known.services, began_ms, begun_by_ms)
    for group_id in rebalancing.names:
        facts, _ = yield from group_facts(known, group_id)
        if group.is_rebalancing(facts):
            found[f"group {group_id}"] = group.explain(facts)
        yield
    for group_id in held_up.names:
        read = yield from consumer_facts(known, group_id, None)
        found[f"consumer {group_id}"] = consumer.explain(read)
        yield
    found |= _folded(open_ones.folded, rebalancing.folded, held_up.folded)
    refused = kept_out_lately(known.services, ALL_CLIENTS)
    if refused is not None:
        found["clients"] = refused_clients.explain(refused)
    if found and known.services.clock.is_frozen:
        found["clock"] = WhyAnswer((STANDS,), {"clock_is_frozen": True})
    return found


def _folded(transactions: int, rebalancing: int, held_up: int) -> dict[str, WhyAnswer]:
    kinds = (
        (transactions, "open transaction", ": `barnabas txn list`"),
        (rebalancing, "group", " that rebalance: `barnabas groups list`"),
        (held_up, "group", " that transactions hold back: `barnabas why consumer GROUP`"),
    )
    sentences = [f"{counted(count, f'more {what}')}{where}." for count, what, where in kinds if count]
    evidence = {"transactions": transactions, "rebalancing": rebalancing, "held_back": held_up}
    return {"more": WhyAnswer(tuple(sentences), evidence)} if sentences else {}


def _disk(services: Services) -> dict[str, WhyAnswer]:
    """Return why producers wait or are refused for every partition."""
    full = services.disk_space.full_reasons
    directories = services.partitions.directory.every
    offline = {each.path: each.offline_reason for each in directories if each.offline_reason is not None}
    sentences = [f"{each[:1].upper()}{each[1:]}. Producers wait until there is room again." for each in full]
    sentences += [
        f"The data directory {path} is not used until the next start: {why}." for path, why in offline.items()
    ]
    return {"disk": WhyAnswer(tuple(sentences), {"full": full, "offline": offline})} if sentences else {}


def _open_transactions(services: Services, begun_by_ms: int) -> Steps[tuple[_Oldest, dict[int, int]]]:
    """Return the transactions open longest, and the start time of each open transaction, by producer id."""
    oldest, began_ms = _Oldest(), dict[int, int]()
    for number, txn in enumerate(loaded_transactions(services)):
        if txn.state.is_open:
            began_ms[txn.producer_id] = txn.start_timestamp_ms
            if txn.start_timestamp_ms <= begun_by_ms:
                oldest.add(txn.start_timestamp_ms, txn.transactional_id)
        if number % _A_STEP == _A_STEP - 1:
            yield
    return oldest, began_ms


def _without_coordinator(known: WhySources, began_ms: dict[int, int]) -> Steps[dict[str, WhyAnswer]]:
    """Return what Kafka calls hanging transactions, in open logs: no coordinator will end them."""
    holders, found = Holders(known), dict[str, WhyAnswer]()
    for number, log in enumerate(list(known.services.partitions.open_logs())):
        undecided = log.first_undecided
        if undecided is not None and undecided[1] not in began_ms and len(found) < EACH_MAX:
            holder = yield from holders.holder(undecided[1], (log.topic, log.partition), undecided[0])
            if holder.age_ms is None and log.first_undecided == undecided:
                found[f"hanging transaction {log.topic}-{log.partition}"] = transaction.explain(holder)
        if number % _A_STEP == _A_STEP - 1:
            yield
    return found


def _waiting_groups(services: Services, began_ms: dict[int, int], begun_by_ms: int) -> Steps[tuple[_Oldest, _Oldest]]:
    """Return the groups that rebalance, and those held back by a transaction that is old enough, by its start time."""
    rebalancing, held_up = _Oldest(), _Oldest()
    looked_at = 0
    for each in every_loaded_group(services):
        looked_at += 1
        summary = each.summary()
        if summary is not None and summary.state.value in group.REBALANCING:
            rebalancing.add(0, each.group_id)
        else:
            # A transaction unknown to every coordinator hangs already.
            committed = {(at.topic, at.partition): at.offset for at in each.some_committed(PARTITIONS_MAX)}
            looked_at += len(committed) + (0 if summary is None else summary.members_count)
            places = yield from held_back(services, each.whole(), committed)
            sinces = [began_ms.get(at.producer_id, 0) for at in places]
            if sinces and min(sinces) <= begun_by_ms:
                held_up.add(min(sinces), each.group_id)
        if looked_at >= _A_STEP:
            looked_at = 0
            yield
    return rebalancing, held_up
