"""`barnabas seed` on a running broker, ours or Apache Kafka: what a stock client then reads."""

import json
from pathlib import Path

from barnabas.broker.cli import main
from tests.compat.clients.confluent import Confluent
from tests.support.processes.server import Server


def test_a_seed_is_applied_to_a_running_broker(server: Server, tmp_path: Path) -> None:
    records = [{"key": str(number), "value_json": {"id": number}} for number in range(20)]
    topics = [{"name": "orders", "partitions": 3, "config": {"retention.ms": -1}, "records": records}]

    def txn(name: str, outcome: str) -> dict[str, object]:
        return {"transactional_id": name, "outcome": outcome, "records": [{"topic": "orders", "value": outcome}]}

    path = tmp_path / "shop.json"
    transactions = [txn("a", "committed"), txn("b", "aborted")]
    groups = [{"group_id": "g", "offsets": [{"topic": "orders", "partition": 0, "offset": "latest"}]}]
    users = [{"name": "alice", "password": "wonderland"}]
    path.write_text(json.dumps({"topics": topics, "transactions": transactions, "groups": groups, "users": users}))
    assert main(["seed", str(path), "--bootstrap-server", server.address]) == 0
    read = Confluent().read(server.address, "orders")
    assert sorted((record.key or b"", record.value) for record in read) == sorted(
        [(b"%d" % number, b'{"id":%d}' % number) for number in range(20)] + [(b"", b"committed")]
    )
    assert main(["seed", str(path), "--bootstrap-server", server.address]) == 1
