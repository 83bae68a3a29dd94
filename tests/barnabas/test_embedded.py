"""A broker as an object: what it tells, what survives which end, and what is refused, in a process and in a thread."""

import logging
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from barnabas import Barnabas, BarnabasError, BarnabasWarning, NotRunning, Topic
from barnabas.client.admin.configs import ResourceType, describe_configs
from barnabas.client.admin.transactions import STATES
from barnabas.client.client import Client
from barnabas.client.produce.producer import Producer
from barnabas.embedded import pool
from barnabas.embedded.answers import Transaction
from barnabas.form import running
from barnabas.protocol.log_records.transaction_states import OPEN_STATES
from tests.barnabas.conftest import NewBroker, Writer
from tests.support.ports import unused_port
from tests.support.source_tree import ROOT


def values(broker: Barnabas, isolation_level: str = "read_committed") -> list[bytes | None]:
    return [record.value for record in broker.records("orders", isolation_level=isolation_level)]


def test_a_written_record_is_reported_with_all_its_parts(broker: Barnabas) -> None:
    with Client(broker.bootstrap_servers) as client, Producer(client) as producer:
        producer.send("orders", b"v", key=b"k", partition=1, headers=[("h", b"x"), ("none", None)], timestamp=1234)
    (record,) = broker.records("orders")
    assert record == ("orders", 1, 0, 1234, b"k", b"v", [("h", b"x"), ("none", None)])
    assert broker.records("orders", 0) == []
    assert broker.topics() == {"orders": 2}


def test_a_partition_of_many_pages_is_read_to_its_end(broker: Barnabas, writer: Writer) -> None:
    written = [b"%d" % number * 10_000 for number in range(300)]
    writer.write(broker, *written)
    assert values(broker) == written


def test_the_isolation_levels_see_what_consumers_of_theirs_see(broker: Barnabas, writer: Writer) -> None:
    writer.begin(broker, "first", b"committed").commit()
    writer.begin(broker, "second", b"aborted").abort()
    writer.begin(broker, "third", b"open")
    assert values(broker) == [b"committed"]
    assert values(broker, "read_uncommitted") == [b"committed", b"aborted", b"open"]
    assert broker.offsets("orders") == ("orders", 0, 0, 4, 5)
    assert broker.offsets("orders", 1) == ("orders", 1, 0, 0, 0)


def test_transactions_are_reported_with_whom_they_keep_waiting(broker: Barnabas, writer: Writer) -> None:
    assert broker.transactions() == []
    writer.begin(broker, "over", b"a").commit()
    writer.begin(broker, "open", b"b", b"c")
    told = {txn.transactional_id: (txn.state, txn.is_open, txn.partitions) for txn in broker.transactions()}
    assert told == {"over": ("CompleteCommit", False, ()), "open": ("Ongoing", True, (("orders", 0),))}
    (found,) = broker.open_transactions()
    assert found.transaction.transactional_id == "open"
    assert found.age_ms >= 0
    assert [each.held_back for each in found.waiting] == [2]


@pytest.mark.parametrize("state", STATES)
def test_a_listed_transaction_is_open_where_the_protocol_reports_it(state: str) -> None:
    """Told apart on its own, as what a user imports loads nothing of the broker."""
    assert Transaction("id", state, 1, 0, 1, None, ()).is_open == (state in OPEN_STATES)


def test_topics_configs_and_features_are_there_from_the_start(new_broker: NewBroker) -> None:
    broker = new_broker(
        topics={"plain": 3, "special": Topic(2, {"retention.ms": -1, "cleanup.policy": ["compact", "delete"]})},
        config={"num.partitions": 4, "auto.create.topics.enable": False},
        features={"transaction.version": 1},
    )
    broker.create_topic("default")
    broker.create_topic("wanted", 6, {"max.message.bytes": 100})
    assert broker.topics() == {"plain": 3, "special": 2, "default": 4, "wanted": 6}
    with Client(broker.bootstrap_servers) as client:
        special = describe_configs(client, ResourceType.TOPIC, "special", ["retention.ms", "cleanup.policy"])
        (wanted,) = describe_configs(client, ResourceType.TOPIC, "wanted", ["max.message.bytes"])
    assert {each.name: each.value for each in special} == {"retention.ms": "-1", "cleanup.policy": "compact,delete"}
    assert wanted.value == "100"


def test_a_stop_and_a_start_keep_the_data_and_the_port(broker: Barnabas, writer: Writer) -> None:
    writer.write(broker, b"before")
    address = broker.bootstrap_servers
    broker.stop()
    assert not broker.is_running
    with pytest.raises(NotRunning):
        broker.records("orders")
    broker.start()
    writer.write(broker, b"after")
    broker.restart()
    assert values(broker) == [b"before", b"after"]
    assert broker.bootstrap_servers == address
    assert broker.logs.count("broker started") == 3
    assert "found=stopped" in broker.logs
    assert broker.logs.count(f"form={running()}") == 3


def test_a_kill_loses_nothing_that_was_acknowledged_and_leaves_transactions_open(
    broker: Barnabas, writer: Writer
) -> None:
    writer.write(broker, b"acknowledged")
    writer.begin(broker, "id", b"open")
    broker.kill()
    assert not broker.is_running
    broker.kill()
    broker.start()
    assert "found=killed" in broker.logs
    assert values(broker) == [b"acknowledged"]
    assert [each.transaction.transactional_id for each in broker.open_transactions()] == ["id"]


def test_a_start_waits_for_a_long_recovery_after_a_kill(broker: Barnabas, writer: Writer) -> None:
    writer.write(broker, *[b"v" * 100_000] * 60)  # more than is recovered at once
    broker.kill()
    broker.start()
    assert broker.offsets("orders", 0).high_watermark == 60
    broker.kill()
    broker.start()
    assert len(values(broker)) == 60


def test_a_snapshot_is_one_moment_to_go_back_to_again_and_again(broker: Barnabas, writer: Writer) -> None:
    writer.write(broker, b"before")
    open_transaction = writer.begin(broker, "id", b"open")
    snapshot = broker.snapshot()
    open_transaction.commit()
    writer.write(broker, b"after")
    assert values(broker) == [b"before", b"open", b"after"]
    for _ in range(2):
        broker.restore(snapshot)
        assert values(broker) == [b"before"]
        assert values(broker, "read_uncommitted") == [b"before", b"open"]
        writer.write(broker, b"another")


def test_a_snapshot_in_a_place_of_its_own_outlives_its_broker(
    new_broker: NewBroker, writer: Writer, tmp_path: Path
) -> None:
    first = new_broker(topics=["orders"])
    writer.write(first, b"kept")
    first.snapshot(tmp_path / "snapshot")
    first.close()
    second = new_broker()
    second.restore(tmp_path / "snapshot")
    assert values(second) == [b"kept"]
    with pytest.raises(BarnabasError, match="there is no snapshot"):
        second.restore(tmp_path / "nothing")


def test_a_directory_of_the_users_is_closed_cleanly_and_kept(
    new_broker: NewBroker, writer: Writer, tmp_path: Path
) -> None:
    broker = new_broker(topics=["orders"], data_dir=tmp_path / "data")
    writer.write(broker, b"kept")
    broker.close()
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()
    again = new_broker(topics=["orders"], data_dir=tmp_path / "data")
    assert values(again) == [b"kept"]
    with pytest.raises(BarnabasError, match="using this data directory"):
        new_broker(data_dir=tmp_path / "data")


def test_a_temporary_directory_is_gone_at_the_end_and_the_log_is_not(broker: Barnabas) -> None:
    home = Path(broker.data_dir).parent
    assert home.is_dir()
    broker.close()
    broker.close()
    assert not home.exists()
    assert "broker started" in broker.logs
    with pytest.raises(NotRunning):
        _ = broker.data_dir


def test_a_broker_has_the_port_it_is_given(new_broker: NewBroker) -> None:
    port = unused_port()
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(BarnabasError, match=rf"cannot listen on 127.0.0.1:{port}: address already in use"),
    ):
        new_broker(port=port)
    broker = new_broker(port=port)
    assert (broker.bootstrap_servers, broker.port) == (f"127.0.0.1:{port}", port)


def test_a_host_that_there_is_not_is_reported_with_the_resolvers_words(new_broker: NewBroker) -> None:
    host = "no.such.host.invalid"
    with pytest.raises(socket.gaierror) as unknown:
        socket.getaddrinfo(host, 0)
    with pytest.raises(BarnabasError, match=f"cannot listen on {host}:0: {str(unknown.value.strerror).lower()}"):
        new_broker(host=host)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"config": {"num.partitions": "many"}}, "num.partitions"),
        ({"config": {"listeners": "PLAINTEXT://:1"}}, "set listeners by host and port, not here"),
        ({"config": {"authorizer.class.name": "x"}}, "authorizer.class.name"),
        ({"features": {"no.such": 1}}, "no.such"),
        ({"topics": {"a b": 1}}, "a b"),
        ({"topics": {"a": 0}}, "not a number of partitions"),
        ({"topics": "orders"}, "the single name"),
        ({"port": 1 << 16}, "not between 0 and 65535"),
        ({"log_level": "loud"}, "loud"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_a_sentence(
    new_broker: NewBroker, settings: dict[str, object], said: str
) -> None:
    with pytest.raises((BarnabasError, ValueError, TypeError), match=said):
        new_broker(**settings)


def test_a_key_that_does_not_exist_is_warned_of(new_broker: NewBroker) -> None:
    with pytest.warns(BarnabasWarning, match=r"num\.partitons"):
        new_broker(config={"num.partitons": 3})


def test_a_missing_partition_cannot_be_read(broker: Barnabas) -> None:
    for ask in (lambda: broker.records("nothing"), lambda: broker.records("orders", 2), lambda: broker.offsets("x")):
        with pytest.raises(BarnabasError):
            ask()
    with pytest.raises(ValueError, match="isolation_level"):
        broker.records("orders", isolation_level="serializable")


def test_nothing_can_be_queried_of_what_was_never_started() -> None:
    broker = Barnabas()
    for ask in (lambda: broker.bootstrap_servers, lambda: broker.pid, broker.topics, broker.stop):
        with pytest.raises(NotRunning):
            ask()
    broker.close()


def test_it_is_not_started_twice(broker: Barnabas) -> None:
    with pytest.raises(BarnabasError, match="runs already"):
        broker.start()


async def test_async_code_has_it_for_as_long_as_it_is_with_it() -> None:
    async with Barnabas(topics=["orders"]) as broker:
        assert broker.topics() == {"orders": 1}
    assert not broker.is_running


def test_the_users_process_is_spared_the_brokers_packages() -> None:
    program = """
import sys
PARTS = [["broker"], ["client"], ["logfiles"], ["protocol"], ["storage"]]
import barnabas.pytest_plugin
ours = [name for name in sys.modules if name.startswith("barnabas.")]
assert set(ours) <= {"barnabas.form", "barnabas.pytest_plugin"}, ours
from barnabas import Barnabas
with Barnabas(topics=["orders"]) as broker:
    broker.records("orders"), broker.transactions(), broker.restart(), broker.restore(broker.snapshot())
print([name for name in sys.modules if name.split(".")[:1] == ["barnabas"] and name.split(".")[1:2] in PARTS])
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_broker_that_dies_is_reported_with_its_last_words(writer: Writer) -> None:
    with Barnabas(topics=["orders"]) as broker:
        os.kill(broker.pid, signal.SIGKILL)
        with pytest.raises(NotRunning, match="broker started"):
            broker.topics()
        broker.start()
        writer.write(broker, b"goes on")
        assert values(broker) == [b"goes on"]


def test_brokers_in_threads_leave_the_level_of_the_log_as_it_was() -> None:
    log = logging.getLogger("barnabas")
    assert log.level == logging.NOTSET
    first, second = Barnabas(in_process=True, log_level="warning"), Barnabas(in_process=True)
    with first:
        assert log.level == logging.WARNING
        with second:
            assert log.level == logging.INFO
        assert log.level == logging.WARNING
    assert log.level == logging.NOTSET


def test_a_broker_writes_no_line_after_its_end_even_of_a_thread_with_its_identifier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: list[logging.LogRecord] = []
    with Barnabas(in_process=True) as broker:
        (handler,) = logging.getLogger("barnabas").handlers
        monkeypatch.setattr(handler, "emit", lines.append)
        broker.create_topic("orders", 1)
    written = len(lines)
    assert written > 0
    handler.handle(lines[0])
    assert len(lines) == written


def test_brokers_are_started_by_many_threads_at_once() -> None:
    def start(number: int) -> str:
        with Barnabas(config={"log.retention.hours": number}, topics=["t" * 200]) as broker:
            return broker.bootstrap_servers

    before = pool.current().pid
    with ThreadPoolExecutor(8) as threads:
        assert len(list(threads.map(start, range(1, 65)))) == 64
    assert pool.current().pid == before
