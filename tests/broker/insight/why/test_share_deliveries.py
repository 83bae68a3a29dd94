"""Why a record of a queue is where it is: how often it was delivered, to whom, and how that ended."""

import re

import pytest

from barnabas.broker.insight.history.history import History
from barnabas.broker.insight.why.rules.deliveries import DeliveryStatus, DeliveryStep, GroupDelivery, delivery_sentences
from barnabas.broker.insight.why.rules.record import OffsetContent, RecordFacts, explain
from barnabas.broker.insight.why.sources.trace_history import TraceHistory
from barnabas.broker.partitions.share.share_sessions import SessionPartition
from tests.support.source_tree import ROOT
from tests.support.why import Asked, RememberedEvents
from tests.support.worlds.broker import settle
from tests.support.worlds.share_world import ShareWorld

ACCEPT, RELEASE, REJECT = 1, 2, 3


class Queue:
    """A share group with three records, and the question about them."""

    def __init__(self) -> None:
        self.world = ShareWorld()
        self.world.append("t", b"a", b"b", b"c")
        self.asked = Asked(self.world.services, RememberedEvents(self.world))

    async def why(self, offset: int) -> list[str]:
        """The sentences about the share group, without the times in them."""
        told = await self.asked.record("t", 0, offset)
        at = next((n for n, each in enumerate(told.sentences) if "share group" in each), len(told.sentences))
        return [_timeless(each) for each in told.sentences[at:]]


def _timeless(sentence: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", sentence)


async def test_a_record_of_no_share_group_has_no_sentence_about_one() -> None:
    queue = Queue()
    assert await queue.why(0) == []
    assert "share_groups" not in (await queue.asked.record("t", 0, 0)).evidence
    await queue.world.close()


async def test_a_record_that_a_member_holds_names_it_and_the_time_left() -> None:
    queue = Queue()
    await queue.world.member().fetch()
    await queue.world.advance(12_000)
    assert await queue.why(1) == [
        "In share group g member m (client test) holds it, for 18 s more: delivery 1 of at most 5."
    ]
    await queue.world.close()


async def test_the_example_in_the_documentation_is_true() -> None:
    queue = Queue()
    await queue.world.member().fetch()
    await queue.world.advance(12_000)
    told = str(await queue.asked.record("t", 0, 1))
    for ours, shown in (("t-0", "jobs-0"), ("group g", "group workers"), ("client test", "client app")):
        told = told.replace(ours, shown)
    page = (ROOT / "docs" / "queues.md").read_text(encoding="utf-8")
    assert f"$ barnabas why record jobs:0:1\n{told}\n```" in page
    await queue.world.close()


async def test_a_record_that_was_given_back_says_how() -> None:
    queue = Queue()
    member = queue.world.member()
    await member.fetch()
    await member.acknowledge((0, 0, [RELEASE]))
    again = "In share group g it can be delivered again, after 1 of at most 5 deliveries: any member can acquire it."
    acquired = "It was acquired last at TIME, by member m (client test)."
    assert await queue.why(0) == [again, acquired, "Member m (client test) released it at TIME."]
    await queue.world.advance(30_000)
    assert await queue.why(1) == [again, acquired, "The lock of member m ended at TIME."]
    await queue.world.close()


async def test_a_record_that_is_done_says_how_it_ended() -> None:
    queue = Queue()
    member = queue.world.member()
    await member.fetch()
    await member.acknowledge((1, 2, [ACCEPT, REJECT]))
    done = "In share group g it is done, and is not delivered again: "
    acquired = "It was acquired last at TIME, by member m (client test)."
    assert await queue.why(1) == [
        f"{done}it was accepted after 1 delivery.",
        acquired,
        "Member m (client test) accepted it at TIME.",
    ]
    rejected = ["Member m (client test) rejected it at TIME.", "It was archived at TIME: rejected by a member."]
    assert await queue.why(2) == [f"{done}it was archived after 1 delivery.", acquired, *rejected]
    await member.acknowledge((0, 0, [ACCEPT]))
    assert (await queue.why(0))[0] == "In share group g it is done, and is not delivered again."
    queue.world.append("t", b"d")
    assert await queue.why(3) == ["In share group g it was not delivered yet. The group is at offset 3."]
    await queue.world.close()


async def test_a_rejected_record_has_its_dead_letter() -> None:
    queue = Queue()
    queue.world.services.catalogue.create_topic("dlq.t", 1, {"errors.deadletterqueue.group.enable": "true"})
    queue.world.configure("errors.deadletterqueue.topic.name", "dlq.t")
    queue.world.append("dlq.t", b"another")
    member = queue.world.member()
    await member.fetch()
    await member.acknowledge((0, 2, [REJECT, ACCEPT, REJECT]))
    await queue.world.settle()
    assert await queue.why(2) == [
        "In share group g it is done, and is not delivered again.",
        "It was acquired last at TIME, by member m (client test).",
        "Member m (client test) rejected it at TIME.",
        "It was archived at TIME: rejected by a member.",
        "Its dead letter is dlq.t:0:2.",
    ]
    assert (await queue.why(0))[-1] == "Its dead letter is dlq.t:0:1."
    assert "dead letter" not in " ".join(await queue.why(1))
    await queue.world.close()


async def test_a_record_whose_dead_letter_was_lost_has_the_reason() -> None:
    queue = Queue()
    queue.world.configure("errors.deadletterqueue.topic.name", "t")
    member = queue.world.member()
    await member.fetch()
    await member.acknowledge((0, 2, [ACCEPT, REJECT, ACCEPT]))
    reason = "errors.deadletterqueue.group.enable is not set for the topic"
    assert (await queue.why(1))[-1] == f"Its dead letter was lost at TIME: {reason}."
    assert "dead letter" not in " ".join(await queue.why(2))
    await queue.world.close()


async def test_a_session_that_ended_is_named_and_a_change_that_is_not_stored() -> None:
    queue = Queue()
    member = queue.world.member()
    await member.fetch()
    queue.world.persister.held = []
    member.peer.ask(member.request(0, acks=((0, 0, [ACCEPT]),)))
    await settle()
    assert (await queue.why(0))[0].endswith("That is being stored, and fetches do not see it yet.")
    queue.world.persister.let_go()
    queue.world.persister.held = None
    await settle()
    member.peer.answer()
    await member.acknowledge(epoch=-1)
    assert (await queue.why(1))[-1] == "The session of member m (client test) ended at TIME."
    await queue.world.close()


async def test_without_members_the_stored_state_is_read() -> None:
    world = ShareWorld(in_memory=False)
    world.append("t", b"a", b"b", b"c")
    key = (world.topic_id, 0)
    world.services.groups.share.alter("g", {key: 0})
    await world.settle()
    await world.advance(1_000)
    world.services.share_partitions.get("g", SessionPartition(*key))
    await world.settle()
    member = world.member()
    await member.fetch()
    await member.acknowledge((0, 2, [ACCEPT, RELEASE, ACCEPT]))
    world.append("t", b"d")
    world.services.deferred_share_partitions.built = None
    asked = Asked(world.services)
    told = {offset: (await asked.record("t", 0, offset)).sentences[-1] for offset in range(4)}
    assert told == {
        0: "In share group g it is done, and is not delivered again: it was accepted after 1 delivery.",
        1: "In share group g it can be delivered again, after 1 of at most 5 deliveries: no member fetches from the "
        "partition now.",
        2: "In share group g it is done, and is not delivered again: it was accepted after 1 delivery.",
        3: "In share group g it was not delivered yet. The group is at offset 1.",
    }


async def test_a_reset_says_why_a_record_comes_again_or_is_skipped() -> None:
    world = ShareWorld(in_memory=False)
    world.append("t", b"a", b"b", b"c")
    key = (world.topic_id, 0)
    asked = Asked(world.services, RememberedEvents(world))

    async def reset(offset: int) -> None:
        world.services.groups.share.alter("g", {key: offset})
        await world.settle()
        await world.advance(1_000)

    async def told(offset: int) -> list[str]:
        sentences = (await asked.record("t", 0, offset)).sentences
        return [_timeless(each) for each in sentences[2:]]

    await reset(0)
    world.services.share_partitions.get("g", SessionPartition(*key))
    await world.settle()
    member = world.member()
    await member.fetch()
    await member.acknowledge((0, 2, [ACCEPT, RELEASE, ACCEPT]))
    world.services.deferred_share_partitions.built = None
    await reset(0)
    history = [
        "The group's offset was reset at TIME, to 0.",
        "It was acquired last at TIME, by member m (client test).",
        "Member m (client test) accepted it at TIME.",
        "The group's offset was reset at TIME, to 0.",
    ]
    again = "In share group g it was not delivered since a reset of the group's offsets. The group is at offset 0."
    assert await told(0) == [again, *history]
    await reset(2)
    assert (await told(0))[0] == "In share group g it is done, and is not delivered again."
    assert await told(1) == [
        "In share group g it was skipped by a reset of the group's offsets, and is not delivered.",
        "It was acquired last at TIME, by member m (client test).",
        "Member m (client test) released it at TIME.",
        "The group's offset was reset at TIME, to 0.",
        "The group's offset was reset at TIME, to 2.",
    ]


@pytest.mark.parametrize(
    ("start_offset", "sentence"),
    [
        (None, "The group's offset was deleted at TIME by client app: the group began again where its settings say."),
        (-1, "The group's offset was reset at TIME by client app, to where its settings say."),
        (7, "The group's offset was reset at TIME by client app, to 7."),
    ],
)
def test_a_reset_names_its_client_and_where_the_group_begins(start_offset: int | None, sentence: str) -> None:
    step = DeliveryStep("reset", 0, client_id="app", start_offset=start_offset)
    reached = GroupDelivery("g", DeliveryStatus.AVAILABLE, is_used=True, steps=(step,))
    assert _timeless(delivery_sentences((reached,))[-1]) == sentence


async def test_after_a_restart_the_first_question_loads_the_stored_states() -> None:
    before = ShareWorld(in_memory=False)
    before.append("t", b"a", b"b")
    before.services.groups.share.alter("g", {(before.topic_id, 0): 1})
    await before.settle()
    await before.advance(1_000)
    await before.close()
    world = ShareWorld(in_memory=False, after=before)
    asked = Asked(world.services)
    assert (await asked.record("t", 0, 0)).sentences[-1] == "In share group g it is done, and is not delivered again."


def test_an_answer_without_all_stored_states_says_so() -> None:
    known = RecordFacts("t", 0, 0, place=OffsetContent.RECORD, high_watermark=1, last_stable_offset=1)
    loading = "Stored states of share groups are being loaded: ask again for groups that are missing here."
    assert explain(known._replace(share_states_are_loading=True)).sentences == (*explain(known).sentences, loading)


@pytest.mark.parametrize(
    ("is_used", "when"), [(True, "now"), (False, "when a member fetches from the partition again")]
)
def test_a_dead_letter_that_is_not_written_yet_is_announced(is_used: bool, when: str) -> None:
    given_up = GroupDelivery("g", DeliveryStatus.ARCHIVING, is_used, delivery_count=2, delivery_count_limit=5)
    (sentence,) = delivery_sentences((given_up,))
    given_up_so = "In share group g it is not delivered again: it was given up after 2 deliveries"
    assert sentence == f"{given_up_so}, and its dead letter is written {when}."


async def test_a_state_that_is_being_loaded_is_unknown() -> None:
    world = ShareWorld()
    world.append("t", b"a")
    world.services.share_partitions.get("g", SessionPartition(world.topic_id, 0))
    told = await Asked(world.services).record("t", 0, 0)
    assert told.sentences[-1] == "In share group g its state is being loaded."


@pytest.mark.parametrize(("count", "more"), [(5, None), (7, "2 more share groups read the partition.")])
def test_of_many_groups_some_are_shown(count: int, more: str | None) -> None:
    groups = tuple(GroupDelivery(f"g{each}", DeliveryStatus.LOADING, is_used=True) for each in range(count))
    told = delivery_sentences(groups)
    assert told[5:] == ([] if more is None else [more])


async def test_the_stored_trace_has_the_events_of_a_share_partition() -> None:
    queue = Queue()
    events, clock = queue.world.services.events, queue.world.clock
    history = History(events, now_ms=clock.now_ms, machine_now_ms=clock.now_ms, events_max=100)
    await queue.world.member().fetch()
    source = TraceHistory(history)
    kinds = ("share.acquired", "share.archived")
    assert [each.kind for each in source.of_share_partition("g", "t", 0, kinds)] == ["share.acquired"]
    assert source.of_share_partition("g", "t", 1, kinds) == []
    assert source.of_share_partition("other", "t", 0, kinds) == []
    history.close()
    await queue.world.close()
