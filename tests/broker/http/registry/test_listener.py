"""The registry's port of a broker: from the command line, as an object, over a restart, and for users only."""

import http.client
import json
import ssl
import threading
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from barnabas import Barnabas, BarnabasError
from barnabas.broker.cli.serving.serve_options import parse, registry_address
from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.http.registry.rights import RegistryGuard
from barnabas.broker.security.session.operations import Operation
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from tests.support.processes.served import Served

STRING = {"schema": '"string"'}


def ask(address: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Send a request; return status and body."""
    connection = http.client.HTTPConnection(address, timeout=30)
    headers = {} if body is None else {"content-type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    found = json.loads(answer.read() or b"null")
    connection.close()
    return answer.status, found


def test_a_registration_is_there_after_a_kill(tmp_path: Path) -> None:
    arguments = ("--port", "0", "--data-dir", str(tmp_path), "--registry=0")
    with Served(*arguments) as served:
        address = served.ready.partition(" registry=")[2]
        status, answer = ask(address, "POST", "/subjects/a%2Fb/versions", STRING)
        assert (status, answer["id"]) == (200, 1)
    with Served(*arguments) as served:
        address = served.ready.partition(" registry=")[2]
        assert ask(address, "GET", "/subjects/a%2Fb/versions/latest/schema") == (200, "string")
        assert ask(address, "POST", "/subjects/other/versions", STRING)[1]["id"] == 1


@pytest.mark.parametrize("given", ["--registry=x", "--registry=1:2:x", "--registry=70000"])
def test_an_address_that_is_none_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="--registry"):
        registry_address(parse([given]))


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("--registry", ("127.0.0.1", 8081)),
        ("--registry=0", ("127.0.0.1", 0)),
        ("--registry=:8085", ("", 8085)),
        ("--registry=[::1]:8085", ("::1", 8085)),
    ],
)
def test_an_address_may_be_a_port_alone(given: str, address: tuple[str, int]) -> None:
    assert registry_address(parse([given])) == address


def test_the_registry_of_several_nodes_goes_on_when_the_leader_of_its_topic_moves_or_stops() -> None:
    with Barnabas(brokers=3, registry=True) as broker:
        address = urlsplit(broker.registry_url).netloc

        def registers(subject: str) -> bool:
            return ask(address, "POST", f"/subjects/{subject}/versions", STRING)[0] == 200

        assert registers("a")
        broker.stop_node(broker.leader("_schemas"))
        assert registers("b")
        broker.stop_node(broker.leader("_schemas"))
        assert registers("c")
        for node in {1, 2, 3} - {broker.leader("_schemas")}:
            broker.start_node(node)
        for node in (1, 2, 3):
            broker.move_leader("_schemas", 0, node)
            assert registers(f"d{node}")
        assert ask(address, "GET", "/subjects") == (200, ["a", "b", "c", "d1", "d2", "d3"])


def test_a_broker_for_tests_has_a_registry_if_it_is_asked_for() -> None:
    with Barnabas(registry=True) as broker:
        address = urlsplit(broker.registry_url).netloc
        assert ask(address, "POST", "/subjects/s/versions", STRING)[0] == 200
        assert len(broker.records("_schemas")) == 1
        broker.kill()
        broker.start()
        assert urlsplit(broker.registry_url).netloc == address
        assert ask(address, "GET", "/subjects") == (200, ["s"])
    with Barnabas() as broker, pytest.raises(BarnabasError, match="registry=True"):
        _ = broker.registry_url


def test_a_topic_with_several_partitions_is_refused_by_the_first_request(tmp_path: Path) -> None:
    arguments = ("--port", "0", "--data-dir", str(tmp_path), "--registry=0")
    with Served(*arguments[:-1]) as served, Client(f"127.0.0.1:{served.port}") as client:
        create_topic(client, "_schemas", partitions=2)
    with Served(*arguments) as served:
        status, answer = ask(served.ready.partition(" registry=")[2], "GET", "/subjects")
        assert (status, answer["error_code"]) == (500, 50001)
        assert "_schemas cannot be read: INVALID_PARTITIONS: it has 2 partitions instead of 1" in answer["message"]
        assert "topic cannot be used" in served.stop().stderr


def test_many_clients_register_at_the_same_time() -> None:
    with Barnabas(registry=True) as broker:
        address = urlsplit(broker.registry_url).netloc
        ids: list[int] = []

        def register(number: int) -> None:
            for each in range(10):
                fields = [{"name": f"f{each}", "type": "int"}]
                schema = json.dumps({"type": "record", "name": "R", "fields": fields})
                ids.append(
                    ask(address, "POST", f"/subjects/s{number}/versions?force=true", {"schema": schema})[1]["id"]
                )

        threads = [threading.Thread(target=register, args=[number]) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(set(ids)) == list(range(1, 11))
        assert len(ids) == 80


def test_a_secured_registry_serves_users_with_rights_to_its_topic() -> None:
    with Barnabas(secure=True, registry=True, users={"alice": "wonderland"}) as broker:
        settings, url = broker.client_settings(), urlsplit(broker.registry_url)
        context = ssl.create_default_context(cafile=settings["ssl.ca.location"])

        def status(user: str, password: str) -> int:
            connection = http.client.HTTPSConnection(url.netloc, context=context, timeout=30)
            login = b64encode(f"{user}:{password}".encode()).decode()
            connection.request("GET", "/subjects", headers={"authorization": f"Basic {login}"})
            found = connection.getresponse().status
            connection.close()
            return found

        assert url.scheme == "https"
        assert status(settings["sasl.username"], settings["sasl.password"]) == 200
        assert [status("alice", "wonderland"), status("alice", "wrong")] == [403, 401]


def test_a_body_that_is_too_large_is_refused() -> None:
    with Barnabas(registry=True) as broker:
        address = urlsplit(broker.registry_url).netloc
        status, answer = ask(address, "POST", "/subjects/s/versions", {"schema": "x" * (5 << 20)})
        assert (status, answer["error_code"]) == (413, 413)


@pytest.mark.parametrize(
    ("method", "path", "operation"),
    [
        ("GET", "/subjects", Operation.READ),
        ("POST", "/subjects/s", Operation.READ),
        ("POST", "/compatibility/subjects/s/versions", Operation.READ),
        ("POST", "/contexts/c/subjects/s", Operation.READ),
        ("POST", "/contexts/c/compatibility/subjects/s/versions/1", Operation.READ),
        ("POST", "/subjects/compatibility/versions", Operation.WRITE),
        ("POST", "/subjects/s/%76ersions", Operation.WRITE),
        ("POST", "/contexts/c/subjects/compatibility/versions", Operation.WRITE),
        ("PUT", "/config/compatibility/", Operation.WRITE),
        ("DELETE", "/subjects/compatibility/versions/1", Operation.WRITE),
        ("POST", "/contexts/a:b/subjects/s", Operation.WRITE),
        ("POST", "/subjects/s/versions", Operation.WRITE),
        ("PUT", "/config", Operation.WRITE),
        ("DELETE", "/subjects/s", Operation.WRITE),
    ],
)
def test_a_change_needs_the_right_to_write_to_the_topic(method: str, path: str, operation: Operation) -> None:
    guard = RegistryGuard.__new__(RegistryGuard)
    needed = guard.needed(method, path)
    assert (needed.operation, needed.name) == (operation, "_schemas")
    assert json.loads(guard.page(403, path, "no").body) == {"error_code": 40301, "message": "no"}
