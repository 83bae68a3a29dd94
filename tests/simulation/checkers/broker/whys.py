"""What `why` says of groups and records, against logs and history: a false sentence is worse than none.

Asked in one instant, of what is in memory: it changes nothing, and the run is the same as without.
"""

from collections.abc import Iterator

from barnabas.broker.coordinator.group.decisions.classic.model import Group
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.insight.inspection.groups import LoadedGroup, every_loaded_group
from barnabas.broker.insight.why.consumers import consumer_facts
from barnabas.broker.insight.why.groups import waiting_facts
from barnabas.broker.insight.why.hanging import hanging
from barnabas.broker.insight.why.records import record_facts
from barnabas.broker.insight.why.rules import consumer, group, record
from barnabas.broker.insight.why.rules.answer import WhyAnswer
from barnabas.broker.insight.why.rules.record import Fate
from barnabas.broker.insight.why.sources.why_sources import WhySources
from barnabas.broker.server.broker import Broker
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.log_records.consumer_protocol import decode_assignment
from barnabas.storage.log.log import PartitionLog
from barnabas.storage.steps import finish
from tests.simulation.history.history import History

_NOTHING = "Nothing holds group"
_NOW = "nothing in the broker holds them back"
_HELD = "holds readers of committed records back"


def false_sentences(broker: Broker) -> Iterator[str]:
    """Each that the logs refute, and each that they demand and is missing."""
    known = WhySources(broker.services)
    told = finish(hanging(known, 0))
    waiting = [log for log in broker.services.partitions.open_logs() if log.last_stable_offset < log.high_watermark]
    if waiting and not any("transaction" in about or about == "more" for about in told):
        yield f"{waiting[0].topic}-{waiting[0].partition} waits for a transaction, and that is not among what hangs"
    for each in every_loaded_group(broker.services):
        logs = _logs(broker, each)
        if logs is None or each.whole() is None:
            continue
        answer = consumer.explain(finish(consumer_facts(known, each.group_id, None)))
        waits = group.explain(finish(waiting_facts(known, each.group_id)))
        held = [log for log, position in logs if max(position, log.last_stable_offset) < log.high_watermark]
        behind = [log for log, position in logs if position < log.high_watermark]
        for sentence in _false(answer, waits, held=held, behind=behind):
            yield f"{each.group_id}: {sentence}"
        if held and not {f"group {each.group_id}", f"consumer {each.group_id}", "more"} & told.keys():
            yield f"{each.group_id}: a transaction holds it back, and it is not among what hangs"


def false_fates(broker: Broker, history: History) -> Iterator[str]:
    """What is told of records whose transaction is certainly over, where it is not what their producer was told."""
    known = WhySources(broker.services)
    for each in history.sends:
        txn = each.transaction
        if each.offset is None or txn is None or not (txn.is_committed or txn.is_aborted):
            continue
        if not broker.services.partitions.is_open(*each.at):
            continue
        told = record.explain(finish(record_facts(known, *each.at, each.offset)))
        fate = told.evidence.get("fate")
        if fate is not None and fate != (Fate.COMMITTED if txn.is_committed else Fate.ABORTED):
            yield f"{each.line()}, its {txn.line()}, and it is told: {told}"


def _logs(broker: Broker, group: LoadedGroup) -> list[tuple[PartitionLog, int]] | None:
    """What it reads, and its positions; None where something of it is not in memory, or out of range."""
    partitions, found = broker.services.partitions, []
    positions: dict[tuple[str, int], int | None] = dict.fromkeys(_assigned(broker, group))
    positions |= {(at.topic, at.partition): at.offset for at in group.committed()}
    for at, offset in positions.items():
        if not partitions.is_open(*at):
            return None
        try:
            log = partitions.get(*at)
        except KafkaError:
            return None
        position = log.log_start_offset if offset is None else offset
        if not log.log_start_offset <= position <= log.high_watermark:
            return None
        found.append((log, position))
    return found


def _assigned(broker: Broker, group: LoadedGroup) -> Iterator[tuple[str, int]]:
    whole, names = group.whole(), broker.services.catalogue.topics_by_id
    if isinstance(whole, ConsumerGroup):
        for member in whole.members.values():
            yield from ((names[each].name, number) for each, of in member.assigned.items() for number in of)
    elif isinstance(whole, Group):
        given = [decode_assignment(each.assignment) for each in whole.members.values() if each.assignment]
        yield from ((of.topic, number) for each in given for of in each.assigned_partitions for number in of.partitions)


def _false(
    answer: WhyAnswer, waits: WhyAnswer, *, held: list[PartitionLog], behind: list[PartitionLog]
) -> Iterator[str]:
    said, of_group = str(answer), str(waits)
    if (held or behind) and _NOTHING in said:
        yield f"it has a lag, and is told: {said}"
    if held and "Stable" in of_group and _HELD not in of_group:
        yield f"a transaction holds it back, and it is told: {of_group}"
    for facts in answer.evidence.get("partitions", ()):
        where = f"{facts['topic']}-{facts['partition']}"
        contents = facts.get("contents")
        if contents is not None and f"{where}: nothing" not in said and contents["readable_records"] > facts["lag"]:
            yield f"more records than offsets in {where}: {contents}"
    if _NOW in said and not behind and not answer.evidence["group"].get("members_count"):
        yield f"it has read everything, and is told: {said}"
    if "was not looked at" not in said and "offsets whose records are gone, as far as was looked" in said:
        for facts in answer.evidence["partitions"]:
            if (seen := facts.get("contents")) is not None and seen["looked_to"] <= seen["looked_from"]:
                yield f"nothing was looked at, and it is told: {said}"
