"""kill -9 of a broker whose registry is registering schemas: what was acknowledged is there, with its id."""

import http.client
import json
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes.served import Served

KILLS = 6
CLIENTS = 4


def ask(address: str, method: str, path: str, body: Any = None) -> Any:
    """Send a request, and return the body of its answer. OSError, HTTPException if the broker dies over it."""
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        headers = {} if body is None else {"content-type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


class Registering(threading.Thread):
    """A client that registers one schema after the other until the broker dies. acknowledged: subject to id."""

    def __init__(self, address: str, number: int, first: int, wanted: int) -> None:
        super().__init__()
        self.has_enough = threading.Event()
        self._wanted = wanted
        self.acknowledged: dict[str, tuple[int, str]] = {}
        self._address, self._number, self._first = address, number, first

    def run(self) -> None:
        for count in range(self._first, self._first + 10_000):
            subject, name = f"s{self._number}-{count}", f"R{self._number}_{count}"
            schema = json.dumps({"type": "record", "name": name, "fields": []})
            try:
                answer = ask(self._address, "POST", f"/subjects/{subject}/versions", {"schema": schema})
            except (OSError, http.client.HTTPException):
                return
            self.acknowledged[subject] = (answer["id"], name)
            if len(self.acknowledged) >= self._wanted:
                self.has_enough.set()


@pytest.mark.parametrize("settings", [(), ("--set", "log.flush.interval.messages=1")], ids=["cached", "synced"])
def test_no_acknowledged_registration_is_lost_or_changed(tmp_path: Path, settings: tuple[str, ...]) -> None:
    chance, acknowledged = random.Random(7), dict[str, tuple[int, str]]()
    arguments = ("--port", "0", "--data-dir", str(tmp_path), "--registry=0", *settings)
    for round_number in range(KILLS):
        with Served(*arguments) as served:
            address = served.ready.partition(" registry=")[2]
            first, wanted = round_number * 10_000, chance.randint(1, 20)
            clients = [Registering(address, number, first, wanted) for number in range(CLIENTS)]
            for client in clients:
                client.start()
            assert clients[0].has_enough.wait(60)
            served.process.kill()
            for client in clients:
                client.join()
                acknowledged |= client.acknowledged
    assert len(acknowledged) > KILLS
    with Served(*arguments) as served:
        address = served.ready.partition(" registry=")[2]
        found = {each["subject"]: each for each in _every_schema(address)}
        assert len({each["id"] for each in found.values()}) == len(found)
        for subject, (schema_id, name) in acknowledged.items():
            assert (found[subject]["id"], json.loads(found[subject]["schema"])["name"]) == (schema_id, name)


def _every_schema(address: str) -> list[Any]:
    found: list[Any] = []
    while page := ask(address, "GET", f"/schemas?offset={len(found)}"):
        found += page
    return found
