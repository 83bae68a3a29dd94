"""A seed at the first start: there before the first client, applied once, and nothing of it where it fails."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from barnabas import Barnabas, BarnabasError
from barnabas.client.admin.topics import list_topics
from barnabas.client.client import Client
from tests.support.command_line import Outcome
from tests.support.processes.served import Served
from tests.support.source_tree import ROOT

ORDERS: dict[str, Any] = {"topics": [{"name": "orders", "partitions": 1, "records": [{"value": "a castle"}]}]}


@pytest.fixture
def seed(tmp_path: Path) -> str:
    path = tmp_path / "shop.yaml"
    path.write_text(json.dumps(ORDERS))
    return str(path)


def flags(tmp_path: Path, seed: str, *more: str) -> tuple[str, ...]:
    return ("--port", "0", "--data-dir", str(tmp_path / "data"), "--seed", seed, *more)


def started(*arguments: str) -> Outcome:
    """Run a start that does not succeed."""
    done = subprocess.run(
        [sys.executable, "-m", "barnabas", "serve", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def test_a_new_directory_is_seeded_once(tmp_path: Path, seed: str) -> None:
    with Served(*flags(tmp_path, seed)) as served:
        first = served.stop().stderr
    with Served(*flags(tmp_path, seed)) as served:
        with Client(f"127.0.0.1:{served.port}") as client:
            assert [each.name for each in list_topics(client) if not each.is_internal] == ["orders"]
        second = served.stop().stderr
    assert "seed applied seed=" in first
    assert "found=empty" in first
    assert "seed skipped: the data directory is not new" in second
    with Barnabas(data_dir=tmp_path / "data") as broker:
        assert [record.value for record in broker.records("orders")] == [b"a castle"]


def test_a_seed_is_applied_to_several_nodes(tmp_path: Path) -> None:
    records = [{"value": str(number)} for number in range(6)]
    groups = [
        {"group_id": f"g{number}", "offsets": [{"topic": "orders", "partition": 0, "offset": 1}]} for number in range(6)
    ]
    seed = {"topics": [{"name": "orders", "partitions": 6, "records": records}], "groups": groups}
    with Barnabas(brokers=3, seed=seed) as broker:
        assert {broker.leader("orders", number) for number in range(6)} == {1, 2, 3}
        assert sorted(record.value or b"" for record in broker.records("orders")) == [b"%d" % each for each in range(6)]


def test_a_secured_broker_is_seeded_with_users_and_their_acls(tmp_path: Path) -> None:
    acl = {"principal": "User:alice", "operations": ["Read", "Write"], "topic": "orders"}
    seed = {**ORDERS, "users": [{"name": "alice", "password": "wonderland"}], "acls": [acl]}
    with Barnabas(secure=True, seed=seed) as broker:
        assert [record.value for record in broker.records("orders")] == [b"a castle"]
        settings = broker.client_settings("librdkafka")
    assert settings["security.protocol"] == "SASL_SSL"


@pytest.mark.parametrize("was_there", [False, True])
def test_a_start_whose_seed_fails_leaves_nothing(tmp_path: Path, was_there: bool) -> None:
    data = tmp_path / "data"
    if was_there:
        data.mkdir()
    path = tmp_path / "shop.json"
    path.write_text(
        json.dumps({**ORDERS, "acls": [{"principal": "User:a", "operations": ["Read"], "topic": "orders"}]})
    )
    refused = started(*flags(tmp_path, str(path), "--log-level", "error"))
    assert (refused.status, refused.stdout) == (1, "")
    assert refused.stderr == (
        f"barnabas: {path}, line 1: acls[0]: SECURITY_DISABLED: User:a on 'orders': No Authorizer is configured.\n"
    )
    assert list(data.glob("*")) == [] if was_there else not data.exists()


def test_a_broker_that_was_killed_while_it_was_seeded_is_not_started(tmp_path: Path) -> None:
    transactions = [
        {"transactional_id": f"t{number}", "outcome": "committed", "records": [{"topic": "orders", "value": "x"}]}
        for number in range(3_000)
    ]
    path = tmp_path / "shop.json"
    path.write_text(json.dumps({**ORDERS, "transactions": transactions}))
    program = [sys.executable, "-m", "barnabas", "serve", *flags(tmp_path, str(path))]
    with subprocess.Popen(program, cwd=ROOT, env=os.environ, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("topic created topic=orders" in line for line in process.stderr)
        process.send_signal(signal.SIGKILL)
    refused = started(*flags(tmp_path, str(path)))
    assert refused.status == 1
    assert "the broker was killed while it applied a seed here: remove the directory, and start again" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_a_restart_of_the_object_keeps_what_the_clients_did(seed: str) -> None:
    with Barnabas(seed=seed) as broker:
        broker.create_topic("later")
        broker.restart()
        assert set(broker.topics()) == {"orders", "later"}
        broker.kill()
        broker.start()
        assert [record.value for record in broker.records("orders")] == [b"a castle"]


@pytest.mark.parametrize(
    ("seed", "error", "sentence"),
    [
        (5, TypeError, "seed must be a file or a mapping, not int"),
        ({"topics": b"x"}, TypeError, "seed: b'x' has no form in JSON: a value of bytes is given as value_base64"),
        ({"topcis": []}, BarnabasError, "seed: topcis: there is no such field: did you mean topics?"),
        ("/none.yaml", BarnabasError, "seed /none.yaml: no such file or directory"),
    ],
)
def test_a_wrong_seed_of_the_object_is_said_in_a_sentence(seed: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error) as wrong, Barnabas(seed=seed):
        pass
    assert str(wrong.value).endswith(sentence)
