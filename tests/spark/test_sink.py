"""The sink against a running broker, without Spark: what it writes, what it refuses, and what it says then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from client.admin import ConfigChange, ConfigOperation, ResourceType, alter_configs, create_topic, delete_records
from client.client import Client
from client.offsets import committed_offsets
from client.producer import Producer
from client.transaction_admin import fence, list_transactions
from client.transactional_producer import TransactionalProducer
from pyspark_barnabas.commit.identity import RunToken
from pyspark_barnabas.commit.ledger import Decided, SourceOffset, decode_value
from pyspark_barnabas.commit.messages import Prepared, Skipped
from pyspark_barnabas.connection import ConnectionSettings
from pyspark_barnabas.digest import row_hash, tail
from pyspark_barnabas.sink import driver, ledger_access
from pyspark_barnabas.sink.checkpoint import CheckpointOffsets
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings
from tests.support.server import Server
from tests.support.sink_query import Query, committed, committed_values, rows

LIMIT_MS = 600_000


@pytest.fixture(scope="module")
def broker(
    tmp_path_factory: pytest.TempPathFactory, new_server: Callable[[Path, Mapping[str, object]], Server]
) -> Iterator[Server]:
    settings = {"num.partitions": 3, "transaction.max.timeout.ms": LIMIT_MS}
    with new_server(tmp_path_factory.mktemp("sink") / "data", settings) as server:
        yield server


@pytest.fixture
def client(broker: Server) -> Iterator[Client]:
    with Client(broker.address) as client:
        yield client


@pytest.fixture
def settings(broker: Server, request: pytest.FixtureRequest) -> SinkSettings:
    """Of a sink that no other test has."""
    name = request.node.name.removeprefix("test_")[:80].replace("[", "-").rstrip("]")
    return SinkSettings(ConnectionSettings(broker.address), topic=name, prefix=name, transaction_timeout_ms=LIMIT_MS)


def ledger(client: Client, settings: SinkSettings) -> list[object]:
    return [decode_value(each.record.value) for each in committed(client, f"__{settings.prefix}.ledger")]


def checkpoint(batch_id: int, story: str = "a", **offsets: int) -> CheckpointOffsets:
    return CheckpointOffsets(f"{story}-{batch_id}", tuple(SourceOffset(each, 0, at) for each, at in offsets.items()))


# --- what is written ---


def test_a_batch_is_seen_after_commit_and_not_before(client: Client, settings: SinkSettings) -> None:
    query = Query(settings)
    create_topic(client, settings.topic or "", partitions=1)
    messages = query.write(0, [rows(["a", "b"]), rows(["c"])])
    assert list_transactions(client, states=["Ongoing"], pattern=f"^{settings.prefix}\\..*$")
    query.commit(0, messages)
    assert committed_values(client, settings.topic or "") == ["a", "b", "c"]
    assert not list_transactions(client, states=["Ongoing"], pattern=f"^{settings.prefix}\\..*$")


def test_the_ledger_has_the_rows_their_digest_and_the_offsets(client: Client, settings: SinkSettings) -> None:
    query = Query(settings)
    create_topic(client, "source")
    query.play(0, [rows(["a"], key=["k"]), rows(["b"], key=["k"])], checkpoint(0, source=5))
    decided = ledger(client, settings)[-1]
    assert isinstance(decided, Decided)
    assert (decided.rows, decided.offsets, decided.checkpoint_hash) == (2, (SourceOffset("source", 0, 5),), "a-0")
    seen = committed(client, settings.topic or "")
    hashes = [row_hash(each.topic, tail(each.record.key, each.record.value, each.record.headers)) for each in seen]
    assert decided.digest == sum(hashes) % (1 << 64)
    assert committed_offsets(client, settings.prefix or "") == {("source", 0): 5}


def test_a_task_without_rows_begins_no_transaction(client: Client, settings: SinkSettings) -> None:
    query = Query(settings)
    messages = query.write(0, [rows([]), []])
    assert [each.transaction for each in messages if isinstance(each, Prepared)] == [None, None]
    query.commit(0, messages)
    query.play(1, [rows(["a"])])
    assert committed_values(client, settings.topic or "") == ["a"]


def test_a_batch_that_was_decided_is_read_and_not_written_again(client: Client, settings: SinkSettings) -> None:
    query = Query(settings)
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
    assert sorted(committed_values(client, settings.topic or "")) == ["a", "b"]


def test_a_commit_that_stopped_halfway_is_rolled_forward(
    client: Client, settings: SinkSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = Query(settings)
    messages = query.write(0, [rows(["a"]), rows(["b"])])

    def stop(*arguments: object, **options: object) -> None:
        raise SinkFailed("halfway")

    with monkeypatch.context() as patched:
        patched.setattr(driver, "end_all", stop)
        with pytest.raises(SinkFailed, match="halfway"):
            query.commit(0, messages)
    assert len(list_transactions(client, states=["Ongoing"], pattern=f"^{settings.prefix}\\..*$")) == 2
    query.start()
    query.play(0, [rows(["a"]), rows(["b"])])
    assert sorted(committed_values(client, settings.topic or "")) == ["a", "b"]


def test_what_lost_is_swept_after_the_batch(client: Client, settings: SinkSettings) -> None:
    query = Query(settings)
    lost = query.write_part(0, 0, rows(["lost"]))
    won = query.write_part(0, 0, rows(["won"]), attempt_number=1)
    assert isinstance(lost, Prepared)
    query.commit(0, [won])
    assert committed_values(client, settings.topic or "") == ["won"]


def test_abort_ends_what_was_not_decided(client: Client, settings: SinkSettings) -> None:
    query = Query(settings)
    messages = query.write(0, [rows(["a"]), rows(["b"])])
    driver.abort(settings, 0, [messages[0], None, messages[1]], query_id="q")
    assert committed_values(client, settings.topic or "") == []
    query.start()
    query.play(0, [rows(["a"])])
    assert committed_values(client, settings.topic or "") == ["a"]


def test_a_process_uses_its_ids_again_two_batches_later(settings: SinkSettings) -> None:
    query = Query(settings)
    used: list[str] = []
    for batch_id in range(6):
        messages = query.write(batch_id, [rows(["a"])])
        assert isinstance(messages[0], Prepared)
        assert messages[0].transaction is not None
        used.append(messages[0].transaction.transactional_id)
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
    query = Query(replace(settings, topic=None, batch_header="batch"))
    query.play(0, [batch])
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
    seen = committed_values(client, settings.topic or "")
    assert seen == values[::2] + values[1::2]


def test_memory_does_not_grow_with_the_rows(client: Client, settings: SinkSettings) -> None:
    batch = rows(["x" * 1000] * 1000)
    create_topic(client, settings.topic or "", partitions=3)
    query = Query(settings)
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


# --- what is refused ---


def test_rows_without_a_value_are_refused(settings: SinkSettings) -> None:
    with pytest.raises(SinkFailed, match="no column `value`, only text"):
        Query(settings).write(0, [pa.record_batch({"text": ["a"]})])


def test_a_partition_that_does_not_exist_is_refused(client: Client, settings: SinkSettings) -> None:
    query = Query(settings)
    with pytest.raises(SinkFailed, match="asks for partition 3 of topic .* which has 3"):
        query.write(0, [rows(["a", "b"], partition=[0, 3])])
    with pytest.raises(SinkFailed, match="partition -1"):
        query.write_part(0, 0, rows(["a"], partition=[-1]))


def test_rows_without_a_topic_are_refused(settings: SinkSettings) -> None:
    query = Query(replace(settings, topic=None))
    with pytest.raises(SinkFailed, match="names no topic"):
        query.write(0, [rows(["a"], topic=pa.array([None], pa.string()))])


def test_a_name_that_is_no_topics_is_refused(settings: SinkSettings) -> None:
    with pytest.raises(SinkFailed, match="correct the option or the column `topic`"):
        Query(replace(settings, topic="no topic!")).write(0, [rows(["a"])])


def test_a_record_that_is_too_large_for_a_request_is_refused(settings: SinkSettings) -> None:
    query = Query(replace(settings, max_request_bytes=10_000))
    with pytest.raises(SinkFailed, match=r"takes \d+ bytes, and kafka.max.request.size is 10000"):
        query.write(0, [rows(["x" * 11_000])])


def test_a_record_that_is_too_large_for_the_topic_is_refused(client: Client, settings: SinkSettings) -> None:
    create_topic(client, settings.topic or "", configs={"max.message.bytes": "1000"})
    with pytest.raises(SinkFailed, match="Raise the topic's max.message.bytes"):
        Query(settings).write(0, [rows(["x" * 1100])])


def test_a_timeout_above_the_brokers_is_refused(settings: SinkSettings) -> None:
    query = Query(replace(settings, transaction_timeout_ms=LIMIT_MS + 1))
    with pytest.raises(SinkFailed, match=f"is {LIMIT_MS + 1}, and the broker allows {LIMIT_MS} at most"):
        query.write(0, [rows(["a"])])


def test_two_phase_commits_are_refused_where_there_are_none(settings: SinkSettings) -> None:
    with pytest.raises(SinkFailed, match="offers no two-phase commits"):
        Query(replace(settings, two_phase="on")).write(0, [rows(["a"])])


def test_a_rolled_back_checkpoint_is_refused(client: Client, settings: SinkSettings) -> None:
    query = Query(settings)
    for batch_id in range(3):
        query.play(batch_id, [rows([str(batch_id)])], checkpoint(batch_id))
    query.start()
    with pytest.raises(SinkFailed, match="rolled back or copied"):
        query.play(1, [rows(["other"])], checkpoint(1, "b"))
    with pytest.raises(SinkFailed, match="lost records, or the prefix was changed"):
        query.play(5, [rows(["other"])], checkpoint(5))
    assert sorted(committed_values(client, settings.topic or "")) == ["0", "1", "2"]


def test_a_run_that_was_overtaken_stops(client: Client, settings: SinkSettings) -> None:
    frozen, other = Query(settings), Query(settings)
    other.run_id = "another"
    messages = frozen.write(0, [rows(["frozen"])])
    other.play(0, [rows(["a"])])
    with pytest.raises(SinkFailed, match="another run took over"):
        frozen.commit(0, messages)
    with pytest.raises(SinkFailed, match="another run took over"):
        frozen.write(1, [rows(["frozen"])])
    assert committed_values(client, settings.topic or "") == ["a"]


def test_a_transaction_that_was_ended_from_outside_is_not_decided(client: Client, settings: SinkSettings) -> None:
    query = Query(settings)
    messages = query.write(0, [rows(["a"]), rows(["b"])])
    assert isinstance(messages[0], Prepared)
    assert messages[0].transaction is not None
    fence(client, messages[0].transaction.transactional_id)
    with pytest.raises(SinkFailed, match="before the batch was decided"):
        query.commit(0, messages)
    assert committed_values(client, settings.topic or "") == []


@pytest.mark.parametrize(
    ("configs", "told"),
    [
        ({"cleanup.policy": "compact"}, "compacted"),
        ({"cleanup.policy": "delete", "retention.ms": "1000", "retention.bytes": "-1"}, "retention.ms is 1000"),
        ({"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "9"}, "retention.bytes is 9"),
        (None, "has 2 partitions"),
    ],
)
def test_a_topic_that_may_forget_is_no_ledger(
    client: Client, settings: SinkSettings, configs: dict[str, str] | None, told: str
) -> None:
    prefix = told.replace(" ", "-")
    create_topic(client, f"__{prefix}.ledger", partitions=2 if configs is None else 1, configs=configs)
    with pytest.raises(SinkFailed, match=f"cannot be the sink's ledger: .*{told}"):
        Query(replace(settings, prefix=prefix)).write(0, [rows(["a"])])


def test_a_ledger_with_a_foreign_record_is_refused(client: Client, settings: SinkSettings) -> None:
    query = Query(settings)
    query.play(0, [rows(["a"])])
    with Producer(client) as producer:
        producer.send(f"__{settings.prefix}.ledger", b"hello")
    with pytest.raises(SinkFailed, match="a record of the ledger cannot be read"):
        query.write(1, [rows(["b"])])
    assert committed_values(client, settings.topic or "") == ["a"]


def test_a_ledger_that_lost_its_beginning_is_refused(client: Client, settings: SinkSettings) -> None:
    query = Query(settings)
    query.play(0, [rows(["a"])])
    delete_records(client, {(f"__{settings.prefix}.ledger", 0): -1})
    query.settings = replace(settings, connection=replace(settings.connection, client_id="anew"))
    forget_ledgers()
    query.start()
    with pytest.raises(SinkFailed, match="were deleted, and nothing is left in it of query q"):
        query.write(0, [rows(["a"])])


def forget_ledgers() -> None:
    """As a process that is new."""
    ledger_access._kept.__dict__.clear()


def test_a_ledger_that_somebody_holds_open_is_waited_for_and_then_told(client: Client, settings: SinkSettings) -> None:
    query = Query(settings)
    messages = query.write(0, [rows(["a"])])
    foreign = TransactionalProducer(client, f"{settings.prefix}-foreign")
    foreign.init()
    foreign.begin()
    foreign.send(f"__{settings.prefix}.ledger", b"hello")
    foreign.flush()
    with pytest.raises(SinkFailed, match="a transaction stands there that nobody ended"):
        driver.commit(replace(settings, delivery_timeout_ms=500), 0, messages, query_id="q")
    foreign.abort()
    driver.commit(settings, 0, messages, query_id="q")
    assert committed_values(client, settings.topic or "") == ["a"]


def test_no_broker_is_told_with_what_to_do(settings: SinkSettings) -> None:
    nowhere = replace(settings.connection, bootstrap_servers="127.0.0.1:1", request_timeout_ms=200)
    with pytest.raises(SinkFailed, match=r"127\.0\.0\.1:1: connection refused.*See that a broker runs"):
        Query(replace(settings, connection=nowhere, delivery_timeout_ms=200)).write(0, [rows(["a"])])


def test_messages_of_another_run_are_not_decided(client: Client, settings: SinkSettings) -> None:
    query = Query(settings)
    messages = query.write(0, [rows(["a"]), rows(["b"])])
    stranger = replace(messages[1], run=RunToken(999, 0))
    with pytest.raises(SinkFailed, match="nothing was decided"):
        query.commit(0, [messages[0], stranger])
    query.start()
    query.play(0, [rows(["c"])])
    assert committed_values(client, settings.topic or "") == ["c"]


def test_a_setting_of_the_ledger_that_is_changed_later_is_noticed_by_the_next_process(
    client: Client, settings: SinkSettings
) -> None:
    query = Query(settings)
    query.play(0, [rows(["a"])])
    change = ConfigChange("cleanup.policy", ConfigOperation.SET, "compact")
    alter_configs(client, ResourceType.TOPIC, f"__{settings.prefix}.ledger", [change])
    forget_ledgers()
    with pytest.raises(SinkFailed, match="it is compacted"):
        query.write(1, [rows(["b"])])
