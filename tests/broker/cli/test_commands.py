"""topics, produce, consume and configs against a running broker, as people and as scripts use them."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from barnabas.client.client import Client
from barnabas.client.consume.consumer import ConsumedRecord, Consumer
from barnabas.client.offsets import committed_offsets
from barnabas.client.produce.producer import Producer
from tests.support.command_line import Barnabas, Outcome
from tests.support.processes.own_broker import OwnBroker

Typed = Callable[[str], None]
TIMEOUT_S = 60


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Typed]:
    """Puts text on stdin."""
    with ExitStack() as opened:

        def put(text: str) -> None:
            path = tmp_path / "stdin"
            path.write_text(text)
            monkeypatch.setattr(sys, "stdin", opened.enter_context(path.open()))

        yield put


# --- topics ---


def test_a_topics_life(barnabas: Barnabas) -> None:
    assert barnabas("topics", "create", "life", "--partitions", "2", "--config", "retention.ms=1000") == (
        0,
        "created topic life\n",
        "",
    )
    refused = barnabas("topics", "create", "life")
    assert refused[0] == 1
    assert refused.stderr.startswith("barnabas: TOPIC_ALREADY_EXISTS: topic 'life'")
    assert barnabas("topics", "create", "life", "--if-not-exists").stdout == "topic life exists already\n"
    assert barnabas("topics", "create", "idea", "--validate-only").stdout == "topic idea could be created\n"
    assert "life\n" in barnabas("topics", "list").stdout
    assert "life" in {topic["topic"] for topic in json.loads(barnabas("topics", "--json", "list").stdout)}
    assert "idea" not in barnabas("topics", "list").stdout
    assert barnabas("topics", "alter", "life", "--partitions", "3").stdout == "topic life has 3 partitions\n"
    assert barnabas("topics", "delete", "life").stdout == "deleted topic life\n"
    gone = barnabas("topics", "delete", "life")
    assert (gone.status, gone.stderr[:43]) == (1, "barnabas: UNKNOWN_TOPIC_OR_PARTITION: topic")
    assert barnabas("topics", "delete", "life", "--if-exists").stdout == "there is no topic life\n"


def test_the_address_may_stand_before_the_command_too(offline: Barnabas, broker: OwnBroker) -> None:
    assert offline("topics", "create", "before", "--bootstrap-server", broker.address).status == 0
    found = offline("topics", "--bootstrap-server", broker.address, "list")
    assert (found.status, "before\n" in found.stdout) == (0, True)


def test_topics_are_described_for_people_and_for_programs(barnabas: Barnabas) -> None:
    barnabas("topics", "create", "seen", "--partitions", "2", "--config", "retention.ms=1000")
    text = barnabas("topics", "describe", "seen", "--offsets").stdout.splitlines()
    assert text[0].startswith("seen  id ")
    assert text[1:] == [
        "  retention.ms=1000",
        "partition  leader  leader_epoch  replicas  isr  first_offset  next_offset",
        "0          1       0             1         1    0             0",
        "1          1       0             1         1    0             0",
    ]
    (described,) = json.loads(barnabas("topics", "describe", "seen", "--json").stdout)
    assert described["configs"] == {"retention.ms": "1000"}
    assert [partition["isr"] for partition in described["partitions"]] == [[1], [1]]
    listed = {each["topic"]: each for each in json.loads(barnabas("topics", "list", "--json").stdout)}
    assert listed["seen"]["topic_id"] == described["topic_id"]
    assert listed["seen"]["partition_count"] == 2


def test_every_topic_is_described_when_none_is_named(barnabas: Barnabas) -> None:
    barnabas("topics", "create", "one-of-many")
    names = [topic["topic"] for topic in json.loads(barnabas("topics", "describe", "--json").stdout)]
    assert "one-of-many" in names
    assert names == sorted(names)


def test_results_are_reported_in_json(barnabas: Barnabas) -> None:
    steps: list[tuple[list[str], dict[str, object]]] = [
        (["create", "facts-1"], {"topic": "facts-1", "created": True}),
        (["create", "facts-1", "--if-not-exists"], {"topic": "facts-1", "created": False}),
        (["alter", "facts-1", "--partitions", "2"], {"topic": "facts-1", "partitions": 2, "altered": True}),
        (["delete", "facts-1"], {"topic": "facts-1", "deleted": True}),
        (["delete", "facts-1", "--if-exists"], {"topic": "facts-1", "deleted": False}),
    ]
    for arguments, facts in steps:
        outcome = barnabas("topics", *arguments, "--json")
        assert outcome.status == 0
        assert json.loads(outcome.stdout).items() >= facts.items()


# --- produce and consume ---


def consumed(barnabas: Barnabas, topic: str, *options: str) -> Outcome:
    return barnabas("consume", topic, "--from-beginning", "--exit-at-end", *options)


def test_the_lines_of_a_file_come_back(barnabas: Barnabas, tmp_path: Path) -> None:
    lines = [f"line {n} ü" for n in range(20_000)]
    file = tmp_path / "lines"
    file.write_text("\n".join(lines) + "\n")
    barnabas("topics", "create", "lines")
    assert barnabas("produce", "lines", str(file)) == (0, "", "")
    assert consumed(barnabas, "lines").stdout.splitlines() == lines


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_every_codec_and_acknowledgement_works(barnabas: Barnabas, typed: Typed, compression: str, acks: str) -> None:
    topic = f"codec-{compression}-{acks}"
    barnabas("topics", "create", topic)
    typed("a\r\nb\n\nlast without an end")
    assert barnabas("produce", topic, "--compression", compression, "--acks", acks).status == 0
    found = barnabas("consume", topic, "--from-beginning", "--max-messages", "4")
    assert found == (0, "a\nb\n\nlast without an end\n", "")


def test_keys_headers_nulls_and_timestamps_are_written_and_printed(barnabas: Barnabas, typed: Typed) -> None:
    barnabas("topics", "create", "parts", "--partitions", "1")
    typed("k1:v1\nk2:NULL\n")
    shape = ["--key-separator", ":", "--null-value", "NULL", "--header", "h=x", "--header", "i=", "--timestamp", "77"]
    assert barnabas("produce", "parts", "-", *shape).status == 0
    everything = ["--print-timestamp", "--print-partition", "--print-offset", "--print-headers", "--print-key"]
    assert consumed(barnabas, "parts", *everything, "--separator", "|").stdout == (
        "77|0|0|h:x,i:|k1|v1\n77|0|1|h:x,i:|k2|null\n"
    )
    first, second = map(json.loads, consumed(barnabas, "parts", "--json").stdout.splitlines())
    assert first == {
        "topic": "parts",
        "partition": 0,
        "offset": 0,
        "timestamp": 77,
        "key": "k1",
        "value": "v1",
        "headers": [{"key": "h", "value": "x"}, {"key": "i", "value": ""}],
    }
    assert (second["key"], second["value"]) == ("k2", None)


def test_bytes_that_are_no_text_are_base64_in_json_and_raw_otherwise(
    barnabas: Barnabas, broker: OwnBroker, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    barnabas("topics", "create", "bytes")
    with Client(broker.address) as client, Producer(client) as producer:
        producer.send("bytes", b"\xff\x00", key=b"\xfe")
    record = json.loads(consumed(barnabas, "bytes", "--json").stdout)
    assert (record["key_base64"], record["value_base64"]) == ("/g==", "/wA=")
    from barnabas.broker.cli import main

    main(["consume", "bytes", "--from-beginning", "--exit-at-end", "--bootstrap-server", broker.address])
    assert capsysbinary.readouterr().out == b"\xff\x00\n"


def test_produced_records_are_reported_in_json(barnabas: Barnabas, typed: Typed) -> None:
    barnabas("topics", "create", "told", "--partitions", "2")
    typed("a\nbb\nccc\n")
    assert json.loads(barnabas("produce", "told", "--partition", "1", "--json").stdout) == {
        "topic": "told",
        "records": 3,
        "bytes": 6,
        "partitions": [{"partition": 1, "first_offset": 0, "last_offset": 2}],
    }


def test_the_file_may_come_after_the_options(barnabas: Barnabas, tmp_path: Path) -> None:
    barnabas("topics", "create", "filed", "--partitions", "1")
    (tmp_path / "lines").write_text("a\nb\n")
    outcome = barnabas("produce", "filed", "--json", str(tmp_path / "lines"))
    assert (outcome.status, json.loads(outcome.stdout)["records"]) == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--key-separator", "="], 2, "produce: line 2 has no key separator '='"),
        (["--key-separator", ""], 2, "produce: --key-separator is empty"),
        (["--partition", "9"], 1, "topic 'refused' has 1 partition, there is no partition 9"),
    ],
)
def test_an_unproducible_record_is_reported(
    barnabas: Barnabas, typed: Typed, arguments: list[str], status: int, said: str
) -> None:
    barnabas("topics", "create", "refused", "--partitions", "1", "--if-not-exists")
    typed("a=b\nno separator\n")
    outcome = barnabas("produce", "refused", *arguments)
    assert outcome.status == status
    assert said in outcome.stderr


def test_a_record_the_broker_refuses_is_a_failure(barnabas: Barnabas, typed: Typed) -> None:
    barnabas("topics", "create", "small", "--config", "max.message.bytes=100")
    typed("x" * 200)
    outcome = barnabas("produce", "small")
    assert outcome.status == 1
    assert outcome.stderr.startswith("barnabas: MESSAGE_TOO_LARGE: small-0: ")


def test_reading_can_begin_and_end_where_one_says(barnabas: Barnabas, typed: Typed) -> None:
    barnabas("topics", "create", "places", "--partitions", "2")
    typed("a\nb\nc\n")
    barnabas("produce", "places", "--partition", "1")

    def read(*options: str) -> list[str]:
        return barnabas("consume", "places", *options).stdout.split()

    assert read("--offset", "1", "--partition", "1", "--exit-at-end") == ["b", "c"]
    assert read("--offset", "earliest", "--max-messages", "2") == ["a", "b"]
    assert read("--partition", "0", "--from-beginning", "--exit-at-end") == []
    assert read("--offset", "latest", "--timeout-ms", "1") == []
    assert read("--timeout-ms", "1") == []


@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_up_to_the_end_no_fetch_waits(barnabas: Barnabas, monkeypatch: pytest.MonkeyPatch, start: str) -> None:
    waits: list[int] = []
    poll = Consumer.poll

    def noted(consumer: Consumer, timeout_ms: int, max_records: int | None = None) -> list[ConsumedRecord]:
        waits.append(timeout_ms)
        return poll(consumer, timeout_ms, max_records)

    monkeypatch.setattr(Consumer, "poll", noted)
    topic = f"empty-{start}"
    barnabas("topics", "create", topic)
    assert barnabas("consume", topic, "--offset", start, "--exit-at-end") == (0, "", "")
    assert waits == [0]


def test_a_group_goes_on_where_it_stopped(barnabas: Barnabas, typed: Typed) -> None:
    barnabas("topics", "create", "grouped-lines", "--partitions", "1")
    typed("a\nb\nc\nd\n")
    barnabas("produce", "grouped-lines")
    common = ["consume", "grouped-lines", "--group", "cli", "--from-beginning"]
    assert barnabas(*common, "--max-messages", "3").stdout.split() == ["a", "b", "c"]
    assert barnabas(*common, "--exit-at-end").stdout.split() == ["d"]


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_consumer_which_commits_what_it_printed(
    barnabas: Barnabas, typed: Typed, broker: OwnBroker, which: signal.Signals
) -> None:
    topic = f"interrupted-{which.name}"
    barnabas("topics", "create", topic, "--partitions", "1")
    typed("a\nb\n")
    barnabas("produce", topic)
    command = [sys.executable, "-m", "barnabas", "consume", topic, "--group", topic, "--from-beginning"]
    with subprocess.Popen([*command, "--bootstrap-server", broker.address], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"a\n", b"b\n"]
        process.send_signal(which)
        assert process.wait(TIMEOUT_S) == 0
    with Client(broker.address) as client:
        assert committed_offsets(client, topic) == {(topic, 0): 2}


def test_a_reader_that_goes_away_ends_the_command_quietly(
    barnabas: Barnabas, tmp_path: Path, broker: OwnBroker
) -> None:
    file = tmp_path / "many"
    file.write_text("a line\n" * 50_000)
    barnabas("topics", "create", "piped")
    barnabas("produce", "piped", str(file))
    command = [sys.executable, "-m", "barnabas", "consume", "piped", "--from-beginning"]
    with subprocess.Popen(
        [*command, "--bootstrap-server", broker.address], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"a line\n"
        process.stdout.close()
        assert process.wait(TIMEOUT_S) == 1
        assert process.stderr.read() == b""


def test_typed_input_is_sent_at_once(barnabas: Barnabas, broker: OwnBroker) -> None:
    barnabas("topics", "create", "typed")
    command = [sys.executable, "-m", "barnabas", "produce", "typed", "--bootstrap-server", broker.address]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"first\nhalf a l")
        process.stdin.flush()
        assert barnabas("consume", "typed", "--from-beginning", "--max-messages", "1").stdout == "first\n"
        process.stdin.write(b"ine\n")
        process.stdin.close()
        assert process.wait(TIMEOUT_S) == 0
    assert consumed(barnabas, "typed").stdout.splitlines() == ["first", "half a line"]


def test_a_topic_or_partition_that_is_not_there_is_reported(barnabas: Barnabas) -> None:
    barnabas("topics", "create", "narrow", "--partitions", "1")
    assert "topic 'nowhere'" in barnabas("consume", "nowhere").stderr
    assert "there is no partition 5" in barnabas("consume", "narrow", "--partition", "5").stderr


# --- configs ---


def test_configs_are_altered_and_described(barnabas: Barnabas) -> None:
    barnabas("topics", "create", "set", "--config", "cleanup.policy=compact")
    options = ["--set", "retention.ms=5", "--append", "cleanup.policy=delete"]
    assert barnabas("configs", "alter", "--topic", "set", *options, "--validate-only").stdout == (
        "could change 2 config(s)\n"
    )
    assert barnabas("configs", "alter", "--topic", "set", *options).stdout == "changed 2 config(s)\n"
    assert barnabas("configs", "describe", "--topic", "set").stdout.splitlines() == [
        "config          value           source",
        "cleanup.policy  compact,delete  topic",
        "retention.ms    5               topic",
    ]
    undone = barnabas(
        "configs",
        "alter",
        "--topic",
        "set",
        "--delete",
        "retention.ms",
        "--subtract",
        "cleanup.policy=compact",
        "--json",
    )
    assert json.loads(undone.stdout) == {"altered": ["cleanup.policy", "retention.ms"]}
    (config,) = json.loads(barnabas("configs", "describe", "--topic", "set", "retention.ms", "--json").stdout)
    assert (config["name"], config["source"]) == ("retention.ms", "default")
    assert len(barnabas("configs", "describe", "--topic", "set", "--all").stdout.splitlines()) > 20


def test_a_brokers_configs_are_described(barnabas: Barnabas) -> None:
    (config,) = json.loads(barnabas("configs", "describe", "--broker", "1", "node.id", "--json").stdout)
    assert (config["value"], config["read_only"]) == ("1", True)
    assert barnabas("configs", "describe", "--broker-defaults").status == 0


def test_a_config_the_broker_refuses_is_a_failure(barnabas: Barnabas) -> None:
    barnabas("topics", "create", "unset")
    outcome = barnabas("configs", "alter", "--topic", "unset", "--set", "retention.ms=soon")
    assert outcome.status == 1
    assert outcome.stderr.startswith("barnabas: INVALID_CONFIG: topic 'unset': ")
