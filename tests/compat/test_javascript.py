"""What the JavaScript clients do beside what every client does: they number their batches if asked, and administer."""

import json
import subprocess
from collections.abc import Iterator, Mapping

import pytest

from tests.compat.clients.js_client import PROGRAMS, JsClient
from tests.compat.conftest import JS
from tests.compat.model import COMPRESSIONS, Client, as_stored, by_position, messages_for
from tests.support.clients.npm import node_of
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S


@pytest.fixture(scope="module", params=JS)
def idempotent(request: pytest.FixtureRequest) -> Iterator[JsClient]:
    client = JsClient(request.param, idempotent=True)
    yield client
    client.close()


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_what_an_idempotent_producer_writes_others_read(
    server: Server, clients: Mapping[str, Client], idempotent: JsClient, compression: str
) -> None:
    topic = f"{idempotent.name}-idempotent-{compression}"
    messages = messages_for(idempotent, compression)
    offsets = idempotent.write(server.address, topic, messages, compression)
    assert [offset for message, offset in zip(messages, offsets, strict=True) if message.partition == 2] == [*range(20)]
    assert by_position(clients["java-4.4.0"].read(server.address, topic)) == as_stored(messages)


def test_the_admin_interface_of_platformatic_finds_everything(server: Server) -> None:
    program = PROGRAMS["platformatic"].with_name("admin.mjs")
    command = [node_of(program.parent), str(program), server.address, "platformatic-admin", "platformatic-moved"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert dict(json.loads(f"[{line.replace(': ', ', ', 1)}]") for line in done.stdout.splitlines()) == {
        "made": ["platformatic-admin", 2],
        "is listed": True,
        "settings": [["retention.ms", "3600000"]],
        "ends": [10, 10, 10],
        "low watermark": 4,
        "partitions on the disk": 3,
        "committed": [[0, 5]],
        "state": "Empty",
        "group is listed": False,
    }
