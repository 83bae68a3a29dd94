"""`barnabas handover`, as it is typed: what it prints, and its exit status."""

import json
from pathlib import Path

import pytest

from barnabas.broker.cli import main
from barnabas.protocol.files.checkpoints import encode_clean_shutdown
from tests.support.files.data_directory import CLUSTER_ID, open_catalogue


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    catalogue = open_catalogue(path)
    catalogue.create_topic("t", 3)
    catalogue.close()
    (path / ".kafka_cleanshutdown").write_bytes(encode_clean_shutdown(catalogue.broker_epoch))
    return path


def test_a_ready_directory_is_exit_status_0(stopped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["handover", "--check", str(stopped)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(" its levels are known to Apache Kafka 4.4")
    assert lines[-1] == f"ready for Apache Kafka 4.4: node 1 of cluster {CLUSTER_ID}, 1 topic, 3 partitions"
    assert all(line.split()[0] in ("ok", "note") for line in lines[:-1]), "each finding is one line"


def test_one_that_is_not_is_1(stopped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (stopped / "t-0").mkdir()
    assert main(["handover", str(stopped), "--to", "4.3.1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("problem ") and " -> " in line for line in lines)
    assert lines[-1] == "not ready for Apache Kafka 4.3"


def test_programs_get_json(stopped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["handover", str(stopped), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["ready"], told["to"], told["node_id"], told["partitions"]) == (True, "4.4", 1, 3)
    assert told["findings"][0].keys() == {"check", "level", "text", "advice"}


def test_the_properties_carry_what_barnabas_was_given(stopped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--port", "9095", "--controller-port", "9096", "--set", "log.retention.hours=5", "--set", "my.plugin=x"]
    assert main(["handover", "--properties", str(stopped), *flags]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "listeners=PLAINTEXT://127.0.0.1:9095,CONTROLLER://localhost:9096" in lines
    assert "log.retention.hours=5" in lines
    assert lines[-1] == "# left out, unknown to barnabas: my.plugin"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--to", "3.9"], "--to '3.9' is not a known release: 4.0, 4.1, 4.2, 4.3, 4.4"),
        (["--properties", "--controller-port", "9092"], "port 9092 is used by a listener"),
        (["--check", "--properties"], "not allowed with argument"),
    ],
)
def test_invalid_input_is_2(stopped: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str) -> None:
    assert main(["handover", str(stopped), *words]) == 2
    assert says in capsys.readouterr().err


def test_properties_of_no_directory_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["handover", "--properties", str(tmp_path)]) == 2
    assert "is not a data directory" in capsys.readouterr().err
