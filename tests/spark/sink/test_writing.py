"""The sink against a running broker, without Spark: what it writes, what it refuses, and what it says then."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from barnabas.client.admin.topics import create_topic
from barnabas.client.admin.transactions import list_transactions
from barnabas.client.client import Client
from barnabas.client.connections.connection import BrokerConnection
from barnabas.client.errors import UnsupportedByBroker
from barnabas.client.offsets import committed_offsets
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.registry import ApiKey
from pyspark_barnabas.cluster.clients import close_clients
from pyspark_barnabas.commit import opening
from pyspark_barnabas.commit.ledger import Decided, Settled, SourceOffset, decode_value
from pyspark_barnabas.commit.messages import Message, Prepared, Skipped
from pyspark_barnabas.rows.digest import row_hash, tail
from pyspark_barnabas.sink import driver
from pyspark_barnabas.sink.checkpoint import _read_remote, parse_offsets
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings
from pyspark_barnabas.sink.transaction import coordinators
from tests.support.clients.committed import begun
from tests.support.spark.sink_query import Query, checkpoint, committed, committed_values, rows, transaction_of


def ledger(client: Client, settings: SinkSettings) -> list[object]:
    return [decode_value(each.record.value) for each in committed(client, f"__{settings.prefix}.ledger")]


def test_a_batch_is_seen_after_commit_and_not_before(client: Client, settings: SinkSettings, query: Query) -> None:
    create_topic(client, query.topic, partitions=1)
    messages = query.write(0, [rows(["a", "b"]), rows(["c"])])
    assert list_transactions(client, states=["Ongoing"], pattern=f"^{settings.prefix}\\..*$")
    query.commit(0, messages)
    assert committed_values(client, query.topic) == ["a", "b", "c"]
    assert not list_transactions(client, states=["Ongoing"], pattern=f"^{settings.prefix}\\..*$")


def test_the_ledger_has_the_rows_their_digest_and_the_offsets(
    client: Client, settings: SinkSettings, query: Query
) -> None:
    create_topic(client, "source")
    query.play(0, [rows(["a"], key=["k"]), rows(["b"], key=["k"])], checkpoint(0, source=5))
    decided = ledger(client, settings)[-1]
    assert isinstance(decided, Decided)
    assert (decided.rows, decided.offsets, decided.checkpoint_hash) == (2, (SourceOffset("source", 0, 5),), "a-0")
    seen = committed(client, query.topic)
    hashes = [row_hash(each.topic, tail(each.record.key, each.record.value, each.record.headers)) for each in seen]
    assert decided.digest == sum(hashes) % (1 << 64)
    assert committed_offsets(client, settings.prefix or "") == {("source", 0): 5}


def test_a_task_without_rows_begins_no_transaction(client: Client, query: Query) -> None:
    messages = query.write(0, [rows([]), []])
    assert [each.transaction for each in messages if isinstance(each, Prepared)] == [None, None]
    query.commit(0, messages)
    query.play(1, [rows(["a"])])
    assert committed_values(client, query.topic) == ["a"]


def test_a_batch_that_was_decided_is_read_and_not_written_again(client: Client, query: Query) -> None:
    query.play(0, [rows(["a"]), rows(["b"])])
    query.start()
    seen: list[int] = []

    def drained() -> Iterator[pa.RecordBatch]:
        for each in (["a"], ["b"]):
            seen.append(1)
            yield rows(each)

    messages = query.write(0, [drained()])
    assert isinstance(messages[0], Skipped)
    assert len(seen) == 2
    query.commit(0, messages)
    assert sorted(committed_values(client, query.topic)) == ["a", "b"]


def test_a_commit_that_stopped_halfway_is_rolled_forward(client: Client, settings: SinkSettings, query: Query) -> None:
    query.decide(0, query.write(0, [rows(["a"]), rows(["b"])]))
    assert len(list_transactions(client, states=["Ongoing"], pattern=f"^{settings.prefix}\\..*$")) == 2
    query.start()
    query.play(0, [rows(["a"]), rows(["b"])])
    assert sorted(committed_values(client, query.topic)) == ["a", "b"]


def test_a_decided_batch_of_another_query_is_made_visible_first(client: Client, settings: SinkSettings) -> None:
    left = Query(settings, "left")
    left.decide(0, left.write(0, [rows(["a"]), rows(["b"])]))
    Query(settings, "next").play(0, [rows(["c"])])
    assert sorted(committed_values(client, settings.topic or "")) == ["a", "b", "c"]
    assert [each.query_id for each in ledger(client, settings) if isinstance(each, Settled)] == ["left"]


def test_losing_attempts_are_swept_after_the_batch(client: Client, query: Query) -> None:
    lost = query.write_part(0, 0, rows(["lost"]))
    won = query.write_part(0, 0, rows(["won"]), attempt_number=1)
    assert isinstance(lost, Prepared)
    query.commit(0, [won])
    assert committed_values(client, query.topic) == ["won"]


def test_abort_ends_what_was_not_decided(client: Client, settings: SinkSettings, query: Query) -> None:
    messages = query.write(0, [rows(["a"]), rows(["b"])])
    driver.abort(settings, 0, [messages[0], None, messages[1]], query_id="q")
    assert committed_values(client, query.topic) == []
    query.start()
    query.play(0, [rows(["a"])])
    assert committed_values(client, query.topic) == ["a"]


def test_where_brokers_know_no_patterns_all_that_is_open_is_looked_through(
    client: Client, settings: SinkSettings, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_patterns(client: Client, *, states: list[str], pattern: str | None = None) -> object:
        if pattern is not None:
            raise UnsupportedByBroker("too old")
        return list_transactions(client, states=states)

    monkeypatch.setattr(coordinators, "list_transactions", without_patterns)
    foreign = begun(client, f"{settings.prefix}-foreign")
    foreign.send("elsewhere", b"a")
    foreign.flush()
    query.write_part(0, 0, rows(["lost"]))
    query.commit(0, [query.write_part(0, 0, rows(["won"]), attempt_number=1)])
    assert committed_values(client, query.topic) == ["won"]
    foreign.commit()
    assert committed_values(client, "elsewhere") == ["a"]


def test_tasks_that_begin_together_have_one_token(client: Client, query: Query) -> None:

    def write(batch_id: int, part: int) -> Message:
        """In a thread, which has a client and a memory of its own, as a process has."""
        try:
            return query.write_part(batch_id, part, rows([f"{batch_id}-{part}"]))
        finally:
            close_clients()

    for batch_id in range(3):
        query.start()
        with ThreadPoolExecutor(6) as pool:
            messages = list(pool.map(write, [batch_id] * 6, range(6)))
        assert len({each.run for each in messages}) == 1
        query.commit(batch_id, messages)
    assert len(committed_values(client, query.topic)) == 18


def test_a_token_that_nobody_takes_is_taken_by_another_task(
    client: Client, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task that is elected never came."""
    monkeypatch.setattr(opening, "PATIENCE_MS", 200)
    query.commit(0, [query.write_part(0, 1, rows(["b"])), query.write_part(0, 0, rows(["a"]))])
    assert sorted(committed_values(client, query.topic)) == ["a", "b"]


def test_a_process_uses_its_ids_again_two_batches_later(query: Query) -> None:
    used: list[str] = []
    for batch_id in range(6):
        messages = query.write(batch_id, [rows(["a"])])
        used.append(transaction_of(messages[0]).transactional_id)
        query.commit(batch_id, messages)
    assert len(set(used)) == 2


def test_a_batch_write_is_done_once_for_its_key(client: Client, settings: SinkSettings) -> None:
    query = Query(settings, "write:day-1", is_stream=False)
    query.play(0, [rows(["a"]), rows(["b"])])
    query.start()
    query.play(0, [rows(["a"]), rows(["b"])])
    Query(settings, "write:day-2", is_stream=False).play(0, [rows(["c"])])
    assert sorted(committed_values(client, settings.topic or "")) == ["a", "b", "c"]


def test_a_column_may_name_topics_keys_headers_partitions_and_times(client: Client, settings: SinkSettings) -> None:
    first, second = f"{settings.prefix}-1", f"{settings.prefix}-2"
    batch = rows(
        ["a", "b", "c"],
        topic=[first, second, first],
        key=pa.array(["k", None, None]),
        partition=pa.array([None, 2, 1], pa.int32()),
        headers=pa.array([None, [{"key": "h", "value": b"x"}], []], _HEADERS),
        timestamp=pa.array([1_700_000_000_000_000, None, 1_700_000_000_001_000], pa.timestamp("us", "UTC")),
    )
    Query(replace(settings, topic=None, batch_header="batch")).play(0, [batch])
    seen = {each.record.value: each for name in (first, second) for each in committed(client, name)}
    assert seen[b"a"].record.key == b"k"
    assert seen[b"a"].record.timestamp == 1_700_000_000_000
    assert (seen[b"b"].topic, seen[b"b"].partition) == (second, 2)
    assert seen[b"b"].record.headers == [("h", b"x"), ("batch", b"0")]
    assert (seen[b"c"].partition, seen[b"c"].record.headers) == (1, [("batch", b"0")])


_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_batches_may_be_compressed(client: Client, settings: SinkSettings, compression: str) -> None:
    values = [f"row {number}" for number in range(2000)]
    Query(replace(settings, compression=compression, batch_bytes=4096)).play(0, [rows(values)])
    assert sorted(committed_values(client, settings.topic or "")) == sorted(values)


def test_a_topic_that_takes_small_batches_only_gets_small_ones(client: Client, settings: SinkSettings) -> None:
    create_topic(client, settings.topic or "", partitions=2, configs={"max.message.bytes": "3000"})
    values = [f"{number:0100}" for number in range(3000)]
    query = Query(replace(settings, batch_bytes=16_384))
    query.play(0, [rows(values, partition=[number % 2 for number in range(3000)])])
    assert committed_values(client, settings.topic or "") == values[::2] + values[1::2]


def test_memory_does_not_grow_with_the_rows(client: Client, query: Query) -> None:
    batch = rows(["x" * 1000] * 1000)
    create_topic(client, query.topic, partitions=3)
    query.write_part(0, 0, [batch] * 20)
    query.start()
    before = pa.total_allocated_bytes()
    peak = 0

    def many() -> Iterator[pa.RecordBatch]:
        nonlocal peak
        for _ in range(300):  # 300 MB
            yield batch
            peak = max(peak, pa.total_allocated_bytes() - before)

    query.play(0, [many()])
    assert peak < 100_000_000


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[ApiKey]:
    """How often each API has been asked since it was cleared."""
    counts: Counter[ApiKey] = Counter()
    send = BrokerConnection.send

    def counted(connection: BrokerConnection, request: Request, *arguments: Any, **named: Any) -> None:
        counts[ApiKey(request.__schema__.key or 0)] += 1
        send(connection, request, *arguments, **named)

    monkeypatch.setattr(BrokerConnection, "send", counted)
    return counts


def test_a_small_task_asks_no_more_the_more_partitions_it_writes_to(
    client: Client, query: Query, asked: Counter[ApiKey]
) -> None:
    create_topic(client, query.topic, partitions=8)
    for batch_id in range(2):
        query.play(batch_id, [rows([str(number) for number in range(8)], partition=list(range(8)))])
    asked.clear()
    query.write(2, [rows([str(number) for number in range(8)], partition=list(range(8)))])
    once = (ApiKey.METADATA, ApiKey.LIST_OFFSETS, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.PRODUCE)
    assert all(asked[each] == 1 for each in once), asked
    assert asked.total() <= len(once) + 3, asked  # and at most a Fetch, a FindCoordinator, an InitProducerId


def test_commit_decides_once_and_ends_each_transaction_once_however_many_tasks_there_were(
    client: Client, query: Query, asked: Counter[ApiKey]
) -> None:
    create_topic(client, query.topic, partitions=8)
    for batch_id in range(3):
        messages = query.write(batch_id, [rows(["a"], partition=[number]) for number in range(8)])
        asked.clear()
        query.commit(batch_id, messages)
    assert asked[ApiKey.END_TXN] == 8 + 1
    assert asked[ApiKey.ADD_PARTITIONS_TO_TXN] == asked[ApiKey.PRODUCE] == 1
    assert asked.total() - asked[ApiKey.END_TXN] <= 12, asked  # looks at the ledger and at the transactions


# --- atomic mode ---


def test_in_atomic_mode_one_end_shows_the_whole_batch(client: Client, settings: SinkSettings) -> None:
    query = Query(replace(settings, is_atomic=True))
    create_topic(client, settings.topic or "", partitions=3)
    for batch_id in range(3):
        parts = [rows([f"{batch_id}-{number}"] * 2, partition=[number, number]) for number in range(3)]
        query.play(batch_id, parts, checkpoint(batch_id))
    assert sorted(committed_values(client, settings.topic or "")) == sorted(
        f"{batch_id}-{number}" for batch_id in range(3) for number in range(3) for _ in range(2)
    )
    decided = [each for each in ledger(client, settings) if isinstance(each, Decided)]
    assert [each.transactions for each in decided] == [(), (), ()]


def test_in_atomic_mode_two_tasks_in_one_partition_are_refused(client: Client, settings: SinkSettings) -> None:
    query = Query(replace(settings, is_atomic=True))
    create_topic(client, settings.topic or "", partitions=1)
    with pytest.raises(SinkFailed, match="one task writes all rows of a partition"):
        query.play(0, [rows(["a"]), rows(["b"])])
    assert committed_values(client, settings.topic or "") == []


def test_a_checkpoint_is_read_through_arrows_file_systems(tmp_path: Path) -> None:
    """As hdfs:, s3: and gs: are; file: is the one that is here."""
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text('v1\n{}\n{"orders":{"0":5}}')
    found = _read_remote(f"file://{tmp_path}", "offsets/0")
    assert parse_offsets(found.decode()).offsets == (SourceOffset("orders", 0, 5),)
