"""From facts to sentences: golden stories, one for each thing that an answer can say."""

from typing import Any

import pytest

from barnabas.broker.insight.why.rules import consumer, formatting, producer, record
from barnabas.broker.insight.why.rules.consumer import ConsumerFacts, Contents, PartitionFacts
from barnabas.broker.insight.why.rules.group import GroupFacts
from barnabas.broker.insight.why.rules.held_requests import HeldFacts
from barnabas.broker.insight.why.rules.producer import ProducerFacts, RecordedEvent
from barnabas.broker.insight.why.rules.record import Fate, MarkerFacts, OffsetContent, RecordFacts
from barnabas.broker.insight.why.rules.refused_clients import RefusedClients
from barnabas.broker.insight.why.rules.transaction import TransactionFacts, Unmarked, waits_for, whose
from tests.support.why import checked

AT_MS = 1_700_000_000_000

OPEN = TransactionFacts(
    4_000,
    1,
    "tx",
    "Ongoing",
    age_ms=12_000,
    time_left_ms=48_000,
    times_out_at_ms=AT_MS + 48_000,
    client_id="orders",
    peer="127.0.0.1:4711",
)

WAITS: dict[str, tuple[TransactionFacts, *tuple[str, ...]]] = {
    "open": (
        OPEN,
        "It ends when its producer sends EndTxn, or by its timeout in 48 s (at 2023-11-14T22:14:08.000Z); "
        "`barnabas txn abort tx` ends it now.",
    ),
    "its time is over": (
        OPEN._replace(time_left_ms=-500),
        "Its timeout passed 500 ms ago: the next check of timeouts aborts it; `barnabas txn abort tx` ends it now.",
    ),
    "without a timeout": (
        OPEN._replace(time_left_ms=None, times_out_at_ms=None),
        "It ends when its producer sends EndTxn; it has no timeout (two-phase commit), and `barnabas txn abort tx` "
        "ends it now.",
    ),
    "held up by a fault": (
        OPEN._replace(state="PrepareCommit", held_at="transaction.prepared"),
        "Its commit is decided, and a fault holds it up at the step transaction.prepared until that is released: "
        "`barnabas faults`.",
    ),
    "held up by a fault that is known": (
        OPEN._replace(
            state="PrepareAbort",
            held_at="transaction.marked",
            held=HeldFacts(fault="torn", does="pause", held_for_ms=12_000, point="transaction.marked"),
        ),
        "Its abort is decided, and fault torn holds it up at the step transaction.marked, for 12 s so far: "
        "`barnabas faults release torn` resumes it.",
    ),
    "being carried out": (OPEN._replace(state="PrepareAbort"), "Its abort is decided and is being carried out."),
    "markers are refused": (
        OPEN._replace(
            state="PrepareCommit",
            unmarked_count=7,
            unmarked=(*(Unmarked(f"t-{n}", "it is being loaded") for n in range(6)), Unmarked("u-0", "it is full")),
        ),
        "Its commit is decided, and 7 partitions did not accept the marker yet: the broker retries by itself.",
        "t-0, t-1, t-2, t-3, t-4 and 1 more: it is being loaded.",
        "u-0: it is full.",
    ),
    "nobody knows it": (
        TransactionFacts(4_000, where="t:0", start_offset=17),
        "No transactional id has this producer, so no producer will end it: it hangs. `barnabas txn abort "
        "--partition t:0 --start-offset 17` writes the marker by force.",
    ),
    "coordinators load": (
        TransactionFacts(4_000, is_sure=False),
        "Its transactional id is not known yet: partitions of __transaction_state are being loaded.",
    ),
    "over at its coordinator": (
        TransactionFacts(4_000, transactional_id="tx", state="CompleteCommit", where="t:0", start_offset=3),
        "Its coordinator has CompleteCommit: the transaction is over there, and has no marker in this partition. "
        "`barnabas txn abort --partition t:0 --start-offset 3` writes the marker by force.",
    ),
}


@pytest.mark.parametrize("story", WAITS)
def test_the_reasons_a_transaction_waits(story: str) -> None:
    facts, *told = WAITS[story]
    assert waits_for(facts) == told


def test_whose_a_transaction_is() -> None:
    assert whose(OPEN) == (
        "transactional id tx (producer 4000, epoch 1, client orders from 127.0.0.1:4711), begun 12 s ago"
    )
    assert whose(TransactionFacts(4_000)) == "producer 4000"


PRESENT = "It is held by producer 4000 with epoch 3: requests with a lower epoch, or another producer id, are refused "
PRESENT += "(PRODUCER_FENCED, INVALID_PRODUCER_EPOCH)."
IDLE = ProducerFacts(
    "tx", state="Empty", producer_id=4_000, producer_epoch=3, timeout_ms=60_000, updated_ago_ms=2_000, has_history=True
)
REFUSED = RecordedEvent(
    AT_MS + 8_000,
    2_000,
    request="EndTxn",
    error="PRODUCER_FENCED",
    client_id="a",
    peer="127.0.0.1:1",
    producer_id=4_000,
    producer_epoch=2,
)
BEGAN = RecordedEvent(
    AT_MS + 5_000, 5_000, client_id="b", peer="127.0.0.1:2", producer_id=4_000, producer_epoch=3, epoch_before=2
)
NOTHING_OPEN = "Transactional id tx waits for nothing: no transaction is open, and InitProducerId came 2 s ago."
WAS_REFUSED = "EndTxn of transactional id tx by client a from 127.0.0.1:1 with producer 4000 epoch 2 was refused "
WAS_REFUSED += "2 s ago: PRODUCER_FENCED."
TIMED_OUT = (
    "Its transaction was aborted for its timeout 3 s ago, at 2023-11-14T22:13:27.000Z (transaction.timeout.ms "
    "is 60000); the producer that began it is fenced since then."
)
PRODUCERS: dict[str, tuple[ProducerFacts, *tuple[str, ...]]] = {
    "another one began": (
        IDLE._replace(refused=REFUSED, fenced=BEGAN),
        WAS_REFUSED,
        "Another InitProducerId by client b from 127.0.0.1:2 came 5 s ago, at 2023-11-14T22:13:25.000Z: "
        "producer 4000 has epoch 3 since then, before that it was 2.",
        NOTHING_OPEN,
        PRESENT,
    ),
    "it timed out, and another one began before": (
        IDLE._replace(refused=REFUSED, fenced=BEGAN, timed_out=RecordedEvent(AT_MS + 7_000, 3_000)),
        WAS_REFUSED,
        TIMED_OUT,
        NOTHING_OPEN,
        PRESENT,
    ),
    "it timed out, and nothing was refused": (
        IDLE._replace(timed_out=RecordedEvent(AT_MS + 7_000, 3_000)),
        TIMED_OUT,
        NOTHING_OPEN,
        PRESENT,
    ),
    "what came after a refusal is no reason for it": (
        IDLE._replace(refused=REFUSED._replace(at_ms=AT_MS), fenced=BEGAN),
        WAS_REFUSED,
        NOTHING_OPEN,
        PRESENT,
    ),
    "its coordinator loads": (
        ProducerFacts("tx", unavailable="it loads"),
        "The coordinator of transactional id tx is not available: it loads.",
    ),
}


@pytest.mark.parametrize("story", PRODUCERS)
def test_why_a_producer(story: str) -> None:
    facts, *told = PRODUCERS[story]
    assert list(checked(producer.explain(facts)).sentences) == told


STABLE = GroupFacts("g", state="Stable", members_count=1)
HERE = PartitionFacts(
    "t", 0, committed=5, member_id="m", log_start_offset=0, last_stable_offset=9, high_watermark=9, lag=4
)


def consumers(**facts: Any) -> ConsumerFacts:
    return ConsumerFacts(STABLE, partitions=(HERE._replace(**facts),))


LAG = "t-0: the group's position is 5, and its lag is 4."
FOUR = "After its position are 4 records that can be read now."
CONSUMERS: dict[str, tuple[ConsumerFacts, *tuple[str, ...]]] = {
    "all is read": (
        consumers(lag=0, committed=9),
        "Nothing holds group g up: it has read all there is.",
        "t-0: the group has read all there is, up to offset 9.",
    ),
    "nothing that there is": (ConsumerFacts(STABLE), "Group g is Stable, and reads no existing partition."),
    "records to read": (
        consumers(contents=Contents(readable_records=3, markers=1, looked_to=9)),
        LAG,
        "After its position are 3 records that can be read now and 1 transaction marker.",
        "Member m can read them now: nothing in the broker holds them back.",
    ),
    "not all was looked at": (
        consumers(contents=Contents(undecided_records=2, looked_to=7, is_whole=False)),
        LAG,
        "After its position are 2 records of transactions that end later, as far as examined, to offset 7.",
    ),
    "nothing was looked at": (
        consumers(contents=Contents(looked_from=5, looked_to=5, is_whole=False)),
        "t-0: the group's position is 5, and its lag is 4. The records after its position were not examined.",
    ),
    "nothing was written, and nothing committed": (
        consumers(lag=0, committed=None, high_watermark=0),
        "Nothing holds group g up: there is nothing to read.",
        "t-0: there is nothing to read, and nothing is committed.",
    ),
    "records that a throttled member can read": (
        consumers(contents=Contents(readable_records=4, looked_to=9))._replace(kept_out=RefusedClients("b:1")),
        LAG,
        FOUR,
    ),
    "nobody is assigned it": (
        consumers(member_id=None, contents=Contents(readable_records=4, looked_to=9)),
        LAG,
        FOUR,
        "No member is assigned this partition.",
    ),
    "compaction took the rest": (
        consumers(contents=Contents(looked_to=9)),
        "t-0: the group's position is 5, and its lag is 4, but there is nothing left to read: offsets whose "
        "records are gone. A consumer that reads on gets past it.",
    ),
    "trouble comes first, then what is held": (
        ConsumerFacts(
            STABLE,
            partitions=(
                HERE._replace(contents=Contents(readable_records=4, looked_to=9)),
                HERE._replace(partition=1, holder=OPEN, last_stable_offset=5),
                HERE._replace(partition=2, trouble="it is being loaded"),
            ),
            full=("the data directory /data is full: producers cannot write to it",),
            partitions_left_out=3,
        ),
        "t-2 cannot be read: it is being loaded.",
        "t-1: consumers with isolation.level=read_committed stop at offset 5, the last stable offset; the "
        "log ends at 9.",
        f"They are held by {whose(OPEN)}.",
        waits_for(OPEN)[0],
        LAG,
        FOUR,
        "Member m can read them now: nothing in the broker holds them back.",
        "The data directory /data is full: producers cannot write to it.",
        "3 partitions of it were not examined.",
    ),
    "its coordinator loads": (
        ConsumerFacts(GroupFacts("g", unavailable="it loads")),
        "The coordinator of group g is not available: it loads.",
    ),
}


@pytest.mark.parametrize("story", CONSUMERS)
def test_why_a_consumer(story: str) -> None:
    facts, *told = CONSUMERS[story]
    assert list(checked(consumer.explain(facts)).sentences) == told


def test_of_many_partitions_some_are_reported() -> None:
    many = tuple(HERE._replace(partition=n, trouble="it is being loaded") for n in range(30))
    told = consumer.explain(ConsumerFacts(STABLE, partitions=many)).sentences
    assert len(told) == consumer.SHOWN_MAX + 1
    assert told[-1].startswith("25 more partitions of it")


RECORD = RecordFacts("t", 0, 5, log_start_offset=0, last_stable_offset=9, high_watermark=9, log_end_offset=9)
RECORDS: dict[str, tuple[RecordFacts, *tuple[str, ...]]] = {
    "of a client that is known": (
        RECORD._replace(
            place=OffsetContent.RECORD,
            producer_id=4_000,
            producer_epoch=1,
            fate=Fate.COMMITTED,
            marker=MarkerFacts(7, AT_MS, is_commit=True),
            transactional_id="tx",
            client_id="orders",
            peer="127.0.0.1:4711",
        ),
        "Offset 5 of t-0 is committed, in a transaction of producer 4000 epoch 1, transactional id tx, by "
        "the marker at offset 7 at 2023-11-14T22:13:20.000Z.",
        "It was written by client orders from 127.0.0.1:4711.",
        "Every consumer can see it.",
    ),
    "a control record": (
        RECORD._replace(place=OffsetContent.CONTROL),
        "Offset 5 of t-0 is a control record of the broker; consumers never receive it.",
    ),
    "aborted, and its marker is gone": (
        RECORD._replace(
            place=OffsetContent.RECORD,
            producer_id=1,
            producer_epoch=0,
            fate=Fate.ABORTED,
            marker=MarkerFacts(7, None, is_commit=False),
        ),
        "Offset 5 of t-0 is aborted, in a transaction of producer 1 epoch 0, by the marker at offset 7.",
        "Consumers with isolation.level=read_uncommitted see it; read_committed ones never will.",
    ),
}


@pytest.mark.parametrize("story", RECORDS)
def test_why_a_record(story: str) -> None:
    facts, *told = RECORDS[story]
    assert list(checked(record.explain(facts)).sentences) == told


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (950, "950 ms"),
        (1_000, "1 s"),
        (12_345, "12.3 s"),
        (59_999, "60 s"),
        (60_000, "1 min"),
        (245_000, "4 min 5 s"),
        (7_380_000, "2 h 3 min"),
        (3 * 86_400_000 + 4 * 3_600_000, "3 d 4 h"),
        (-1_500, "-1.5 s"),
    ],
)
def test_lengths_of_time(ms: int, text: str) -> None:
    assert formatting.duration(ms) == text


def test_names_moments_and_lists_stay_on_a_line() -> None:
    assert formatting.named("a\nb\x1b[31m") == r"a\nb\x1b[31m"
    assert len(formatting.named("x" * 5_000)) < 130
    assert formatting.moment(1 << 60) == f"{1 << 60} ms since 1970"
    assert formatting.listed([]) == "none"
    assert formatting.listed(["a", "b"]) == "a and b"
    assert formatting.listed(list("abcdefg"), 100) == "a, b, c, d, e and 95 more"


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("shop-1", "shop-1"),
        ("a b; rm -rf ~", "'a b; rm -rf ~'"),
        ("$(date)'`", """'$(date)'"'"'`'"""),
        ("-x", "-- -x"),
        ("", "''"),
        ("x" * 5_000, "ID"),
        ("two\nlines", "ID"),
    ],
)
def test_a_command_that_is_copied_does_what_it_says(name: str, typed: str) -> None:
    assert formatting.as_argument(name) == typed
    told = "\n".join(waits_for(OPEN._replace(transactional_id=name)))
    assert f"`barnabas txn abort {typed}` ends it now." in told
