"""What of an event is looked at for its size, and what need not be."""

from barnabas.broker.insight.history.trace_event import SMALL, TEXT_MAX, bounded, bounded_event
from barnabas.broker.runtime.events import KINDS
from barnabas.broker.runtime.events.kinds import SEGMENT_ROLLED, TRANSACTION_PARTITIONS_ADDED
from tests.broker.runtime.events import test_stories


async def test_facts_that_nobody_looks_at_are_small_in_every_story() -> None:
    looked_at = set()
    for story in test_stories.STORIES:
        for event in (await story()).events:
            for name in SMALL & set(event.facts):
                value = event.facts[name]
                assert value is None or isinstance(value, bool | int | float | str), (event.name, name, value)
                assert len(str(value)) <= 64, (event.name, name, value)
                looked_at.add(name)
    assert len(looked_at) > 30
    assert set().union(*(kind.facts for kind in KINDS.values())) >= SMALL


def test_an_event_without_long_texts_is_kept_as_it_is() -> None:
    facts = {"topic": "t" * TEXT_MAX, "partition": 0, "base_offset": 7}
    kept, size = bounded_event(SEGMENT_ROLLED, facts)
    assert kept is facts
    assert size > TEXT_MAX
    assert bounded_event(SEGMENT_ROLLED, {**facts, "topic": "t"})[1] == size - TEXT_MAX + 1


def test_long_texts_are_cut_also_in_lists() -> None:
    partitions = ["t-0", "u" * 5_000]
    facts = {"transactional_id": "x", "partitions": partitions, "partitions_count": 2}
    kept, size = bounded_event(TRANSACTION_PARTITIONS_ADDED, facts)
    assert kept == bounded(facts)[0]
    assert [len(each) for each in kept["partitions"]] == [3, TEXT_MAX]
    assert len(partitions[1]) == 5_000
    assert TEXT_MAX < size < 1_000
