"""docs/recipes.md: each recipe is run as it is written, and then what it says of itself is tried."""

import io
import json
import shutil
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import fastavro
import pytest
from kafka import KafkaProducer
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.support.clients import topics
from tests.support.pages.recipes import Recipe, sections
from tests.support.processes.server import Server
from tests.support.spark.small_registry import SmallRegistry

NewServer = Callable[[Path, Mapping[str, object]], Server]
SETTINGS = {"num.partitions": 3, "log.retention.ms": -1}  # records of times long past are kept
OLD, NEW, REGISTRY = "127.0.0.1:9092", "127.0.0.1:9192", "http://127.0.0.1:8081"
WITHOUT_FIRST_BATCH = {'    .option("firstBatch", "1")\n': ""}
ONGOING = {"availableNow=True": 'processingTime="0 seconds"'}
_tried: list[str] = []


def recipe_of(section: str) -> pytest.MarkDecorator:
    """The test has the recipe under that heading, and has to do each of its blocks."""
    _tried.append(section)
    return pytest.mark.parametrize("recipe", [section], indirect=True, ids=[""])


@pytest.fixture
def old(tmp_path: Path, new_server: NewServer) -> Iterator[Server]:
    """The broker of the page's programs."""
    with new_server(tmp_path / "old", SETTINGS) as server:
        yield server


@pytest.fixture
def new(tmp_path: Path, new_server: NewServer) -> Iterator[Server]:
    """The other cluster, where a program has one."""
    with new_server(tmp_path / "new", SETTINGS) as server:
        yield server


@pytest.fixture
def recipe(request: pytest.FixtureRequest, spark: SparkSession, old: Server, tmp_path: Path) -> Iterator[Recipe]:
    with Recipe(request.param, tmp_path, {OLD: old.address}) as recipe:
        yield recipe


def _send(server: Server, numbers: Iterable[int], topic: str = "orders") -> None:
    """Numbers, by keys of which each has many."""
    with KafkaProducer(bootstrap_servers=server.address) as producer:
        for future in [producer.send(topic, key=b"k%d" % (n % 7), value=b"%d" % n) for n in numbers]:
            future.get(timeout=30)


def _by_key(server: Server, topic: str) -> dict[bytes, list[int]]:
    """What readers find, partition after partition."""
    found: dict[bytes, list[int]] = {}
    for record in topics.committed(server.address, topic):
        found.setdefault(record.key, []).append(int(record.value))
    return found


def _in_order(numbers: Iterable[int]) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = {}
    for number in numbers:
        found.setdefault(b"k%d" % (number % 7), []).append(number)
    return found


def _forget_the_last_commit(checkpoint: Path) -> None:
    """As if the driver had been killed after the sink's commit() and before Spark's own note of it."""
    newest = _batches(checkpoint, "commits")[-1]
    (checkpoint / "commits" / f"{newest}").unlink()
    (checkpoint / "commits" / f".{newest}.crc").unlink(missing_ok=True)


def _batches(checkpoint: Path, log: str) -> list[int]:
    """Those that Spark has noted in a log: "offsets" before a batch, "commits" after the sink's commit()."""
    return sorted(int(path.name) for path in (checkpoint / log).iterdir() if path.name.isdecimal())


def _orders(spark: SparkSession, recipe: Recipe, numbers: range) -> list[dict[str, Any]]:
    """Orders, as files where the recipes read them; every fifth has no amount."""
    orders = [{"id": n, "merchant": f"m{n % 4}", "amount": n if n % 5 else None} for n in numbers]
    place = recipe.directory / "data" / "orders" / "2026-11-21"
    shutil.rmtree(place, ignore_errors=True)
    spark.createDataFrame(orders, "id BIGINT, merchant STRING, amount BIGINT").write.parquet(str(place))
    return orders


@recipe_of("Parquet or Delta to Kafka, once")
def test_files_become_records_once(recipe: Recipe, spark: SparkSession, old: Server) -> None:
    orders = _orders(spark, recipe, range(40))
    expected = {b"%d" % each["id"]: {name: it for name, it in each.items() if it is not None} for each in orders}
    recipe.do(1)
    _orders(spark, recipe, range(50))  # under the same key, that is
    recipe.do(1)
    records = topics.committed(old.address, "orders")
    assert {record.key: json.loads(record.value) for record in records} == expected
    assert len(records) == 40


@recipe_of("Kafka to Kafka")
def test_a_copy_has_keys_headers_times_and_tombstones_each_once(recipe: Recipe, old: Server) -> None:
    def send(numbers: range) -> None:
        with KafkaProducer(bootstrap_servers=old.address) as producer:
            for n in numbers:
                key, value = (None if n % 10 == 1 else b"k%d" % (n % 7)), (None if n % 5 == 2 else b"%d" % n)
                headers = [("n", b"%d" % n), ("n", b""), ("ü", b"\xff")][: n % 4]
                producer.send("orders", key=key, value=value, headers=headers, timestamp_ms=1_700_000_000_000 + n)

    def read(topic: str) -> list[Any]:
        found = topics.committed(old.address, topic)
        return [(each.key, each.value, tuple(each.headers), each.timestamp) for each in found]

    def of_keys(records: list[Any]) -> dict[Any, list[Any]]:
        return {key: [each for each in records if each[0] == key] for key, *_ in records if key is not None}

    send(range(50))
    recipe.do(1)
    _forget_the_last_commit(recipe.checkpoints / "orders.copy")
    send(range(50, 90))
    recipe.do(1)
    source, copied = read("orders"), read("orders.copy")
    assert sorted(copied, key=repr) == sorted(source, key=repr)
    assert of_keys(copied) == of_keys(source)


@recipe_of("An aggregation in update mode")
def test_a_batch_writes_the_sums_that_it_changed_once(recipe: Recipe, old: Server) -> None:
    def send(*amounts: tuple[str, int]) -> None:
        values = [json.dumps({"merchant": merchant, "amount": amount}).encode() for merchant, amount in amounts]
        topics.send(old.address, "orders", values)

    def revenue() -> list[tuple[str, int]]:
        values = [json.loads(record.value) for record in topics.committed(old.address, "revenue")]
        return sorted((each["merchant"], each["revenue"]) for each in values)

    send(("a", 1), ("b", 2), ("a", 3))
    topics.send(old.address, "orders", [b'{"amount": 7}', b"no JSON"])
    recipe.do(1)
    assert revenue() == [("a", 4), ("b", 2)]
    send(("a", 5), ("c", 6))
    recipe.do(1)
    _forget_the_last_commit(recipe.checkpoints / "revenue")
    recipe.do(1)
    assert revenue() == [("a", 4), ("a", 9), ("b", 2), ("c", 6)]


@recipe_of("Many topics from one query")
def test_rows_go_to_the_topics_that_they_name_or_to_none(recipe: Recipe, old: Server) -> None:
    values = [json.dumps({"amount": n % 3}).encode() for n in range(30)]
    wrong = [b'{"amount": "abc"}', b'{"amount": 1.5}', b"{}", b"no JSON"]
    topics.send(old.address, "orders", [*values, *wrong])
    topics.create(old.address, "orders.valid", 2)
    with pytest.raises(PySparkException, match=r"topic 'orders.rejected' does not exist"):
        recipe.do(1)
    assert topics.committed(old.address, "orders.valid") == []
    topics.create(old.address, "orders.rejected", 1)
    for _ in range(2):
        recipe.do(1)
        valid, rejected = (topics.committed(old.address, f"orders.{name}") for name in ("valid", "rejected"))
        assert sorted(each.value for each in valid) == sorted(each for each in values if b" 0}" not in each)
        assert {each.value for each in rejected} == {b'{"amount": 0}', *wrong}
        assert len(rejected) == 10 + len(wrong)
        _forget_the_last_commit(recipe.checkpoints / "orders.split")


@recipe_of("The history first, and then go on")
def test_a_history_is_read_in_parts_and_what_comes_after_it_follows(recipe: Recipe, old: Server) -> None:
    topics.create(old.address, "orders.copy", 3)
    _send(old, range(250))
    with recipe.doing(1):
        topics.wait_for(old.address, "orders.copy", 250)
        _send(old, range(250, 280))
        topics.wait_for(old.address, "orders.copy", 280)
    _send(old, range(280, 300))
    with recipe.doing(1):
        topics.wait_for(old.address, "orders.copy", 300)
    assert _by_key(old, "orders.copy") == _in_order(range(300))
    # The last may be stopped after the sink's commit(), which readers see, and before Spark notes it in "commits".
    assert len(_batches(recipe.checkpoints / "orders.copy", "offsets")) >= 5


@recipe_of("A topic gets more partitions")
def test_a_key_keeps_its_order_where_all_is_read_before_its_partition_changes(recipe: Recipe, old: Server) -> None:
    _send(old, range(60))
    recipe.do(1)
    recipe.do(2)
    _send(old, range(60, 120))
    assert len({record.partition for record in topics.committed(old.address, "orders")}) > 3
    recipe.do(1)
    assert _by_key(old, "orders.copy") == _in_order(range(120))
    with recipe.doing(1, ONGOING):
        recipe.do(2, {"--partitions 6 orders": "--partitions 6 orders.copy"})
        recipe.do(2, {"--partitions 6 orders": "--partitions 8 orders"})
        _send(old, range(120, 180))
        topics.wait_for(old.address, "orders.copy", 180)
    assert topics.numbers(old.address, "orders.copy") == list(range(180))
    assert len({record.partition for record in topics.committed(old.address, "orders.copy")}) > 3


@recipe_of("The target moves to another cluster")
def test_a_checkpoint_goes_on_in_another_cluster(recipe: Recipe, old: Server, new: Server) -> None:
    recipe.stand_ins[NEW] = new.address
    topics.create(new.address, "orders.copy", 3)
    _send(old, range(40))
    recipe.do(1)
    assert " 0  finished  40 rows" in recipe.do(2)
    _send(old, range(40, 70))
    recipe.do(3)
    _send(old, range(70, 90))
    recipe.do(3)
    _send(old, range(90, 100))
    with pytest.raises(PySparkException, match="The ledger lost records, or the prefix was changed"):
        recipe.do(1)
    assert topics.numbers(old.address, "orders.copy") == list(range(40))
    assert _by_key(new, "orders.copy") == _in_order(range(40, 90))


@recipe_of("The source moves to another cluster")
def test_a_new_query_goes_on_where_the_copies_end(recipe: Recipe, old: Server, new: Server) -> None:
    recipe.stand_ins[NEW] = new.address
    before = Recipe("The target moves to another cluster", recipe.directory, recipe.stand_ins)
    topics.send(old.address, "orders", (b"%d" % n for n in range(30)))
    before.do(1)
    topics.send(new.address, "orders", (b"%d" % n for n in (-1,) * 6))  # so that its offsets are others
    topics.send(new.address, "orders", (b"%d" % n for n in range(30)))
    assert recipe.do(1).count(" 12") == 3
    topics.send(new.address, "orders", (b"%d" % n for n in range(30, 60)))
    recipe.do(2)
    assert topics.numbers(old.address, "orders.copy") == list(range(60))


@recipe_of("From Spark's own connector, and back")
def test_a_query_changes_its_connector_there_and_back_and_there(recipe: Recipe, old: Server) -> None:
    _send(old, range(30))
    recipe.do(1)
    for number, first_batch, end in ((2, 1, 60), (1, 0, 90), (2, 3, 120)):
        _send(old, range(end - 30, end))
        if first_batch == 3:
            with pytest.raises(PySparkException, match=f"set the option firstBatch={first_batch}"):
                recipe.do(number, WITHOUT_FIRST_BATCH)
        recipe.do(number, {'"firstBatch", "1"': f'"firstBatch", "{first_batch}"'} if first_batch else None)
        assert _by_key(old, "orders.copy") == _in_order(range(end))


@pytest.mark.long  # the stack of Kafka has Avro in Spark, with registries that are real
@recipe_of("Avro with a schema registry")
def test_avro_is_written_and_read_with_the_schemas_of_a_registry(
    recipe: Recipe, spark: SparkSession, old: Server
) -> None:
    def decoded(value: bytes) -> Any:
        magic, schema_id = struct.unpack(">bI", value[:5])
        assert magic == 0
        schema = registry.registered("", registry.schemas[0], is_new=False)
        assert schema is not None
        assert schema_id == schema["id"]
        return fastavro.schemaless_reader(io.BytesIO(value[5:]), json.loads(registry.schemas[0]), None)

    with SmallRegistry() as registry:
        recipe.stand_ins[REGISTRY] = registry.url
        orders = _orders(spark, recipe, range(40))
        recipe.do(1)
        records = topics.committed(old.address, "orders")
        assert sorted((decoded(each.value) for each in records), key=lambda each: each["id"]) == orders
        registry.is_away = True
        with pytest.raises(PySparkException, match="Received bad schema"):
            recipe.do(2)
        registry.is_away = False
        recipe.do(2)
        values = [json.loads(each.value) for each in topics.committed(old.address, "orders.json")]
        expected = [{name: it for name, it in each.items() if it is not None} for each in orders]
        assert sorted(values, key=lambda each: each["id"]) == expected


def test_no_recipe_is_left_out() -> None:
    assert _tried == sections()
