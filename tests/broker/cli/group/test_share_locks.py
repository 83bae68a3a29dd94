"""`barnabas groups end-locks` against a served broker."""

import json
from pathlib import Path

from barnabas.client.client import Client
from barnabas.client.consume.share.share_consumer import ShareConsumer
from barnabas.protocol.errors import ErrorCode
from tests.support.clients.queues import FROM_THE_FIRST, send_numbers, set_of_group
from tests.support.command_line import Barnabas
from tests.support.processes.served import Running, ask

WAIT_MS = 20_000
TOKEN = "t0"
PATH = "/control/share-locks/end"


def test_locks_end_for_one_member_or_for_all(tmp_path: Path, offline: Barnabas) -> None:
    with (
        Running(tmp_path / "d", "--topic", "t:1", BARNABAS_CONTROL_TOKEN=TOKEN) as running,
        Client(running.address) as client,
    ):
        set_of_group(client, "g", FROM_THE_FIRST)
        send_numbers(client, "t", range(4))
        where = ["--http", running.http, "--token", TOKEN]
        with ShareConsumer(client, "g", ["t"], member_id="m", explicit=True) as member:
            records = member.poll(WAIT_MS, 4)
            assert offline("groups", "end-locks", "g", "--member", "m", *where) == (
                0,
                "group g: ended the locks of 4 records\n",
                "",
            )
            for record in records:
                member.acknowledge(record)
            assert [error.code for error in member.commit().values()] == [ErrorCode.INVALID_RECORD_STATE]
            assert [each.delivery_count for each in member.poll(WAIT_MS, 4)] == [2, 2, 2, 2]
            everyone = json.loads(offline("groups", "--json", "end-locks", "g", *where).stdout)
            assert everyone == {"group": "g", "records_count": 4}
            status, _, err = offline("groups", "end-locks", "g", "--member", "n", *where)
            assert (status, err) == (1, f"barnabas: {running.http}: Member n is not a member of group g.\n")
            by_bootstrap = ["--bootstrap-server", running.address, "--token", TOKEN]
            assert json.loads(offline("groups", "end-locks", "g", "--json", *by_bootstrap).stdout) == {
                "group": "g",
                "records_count": 0,
            }
        assert offline("groups", "end-locks", "g", "--http", running.http).status == 1
        authorized = {"Authorization": f"Bearer {TOKEN}"}
        status, refusal = ask(running.http, "POST", {"group": "h"}, PATH, **authorized)
        assert (status, refusal) == (404, {"error": "Group h not found."})
