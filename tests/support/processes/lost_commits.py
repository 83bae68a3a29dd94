"""Kill a broker in the middle of commits that it has acknowledged, and see whether readers get all of each.

    .venv/bin/python -m tests.support.processes.lost_commits [--against kafka] [--version 4.4.0] [--kills 30]

Each round writes one record to every partition in one transaction, asks for the commit, and kills the broker with
SIGKILL 5 to 30 ms later; then it is started again, and what a read_committed reader gets is counted for half a minute.
Apache Kafka 4.3.1 and 4.4.0 lose part of some of them for good (KAFKA-20734): a partition without a leader at that
moment is left out, and the transaction recorded as complete. 4.2.0 does not.
"""

import argparse
import random
import sys
import tempfile
import threading
from pathlib import Path

from barnabas.client.admin.topics import create_topic
from barnabas.client.admin.transactions import describe_transactions, partition_ends
from barnabas.client.client import Client
from barnabas.client.transactions.errors import OutcomeUnknown
from barnabas.client.transactions.producer import TransactionalProducer
from barnabas.protocol.errors import KafkaError
from tests.support.kafka.jars import KAFKA_VERSION
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import Server

DELAY_S = 0.005, 0.030
PATIENCE_MS = 30_000
_PAUSE_S = 0.5


def main() -> int:
    """One line a round on stdout; 1 if an acknowledged commit was not whole."""
    parser = argparse.ArgumentParser(prog="lost_commits")
    parser.add_argument("--against", choices=["barnabas", "kafka"], default="barnabas")
    parser.add_argument("--version", default=KAFKA_VERSION, help="of Apache Kafka")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--partitions", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    lost = acknowledged = 0
    with tempfile.TemporaryDirectory(prefix="lost-commits-") as scratch:
        data = Path(scratch) / "data"
        kafka = options.against == "kafka"
        with KafkaProcess(data, version=options.version) if kafka else BrokerProcess(data) as server:
            for number in range(options.kills):
                was_acknowledged, whole = round_of(
                    server, f"round-{number}", options.partitions, dice.uniform(*DELAY_S)
                )
                acknowledged += was_acknowledged
                lost += was_acknowledged and whole < options.partitions
                outcome = "acknowledged" if was_acknowledged else "not answered"
                print(f"round {number}: {outcome}, in {whole} of {options.partitions} partitions", flush=True)
    print(f"{lost} of {acknowledged} acknowledged commits were not whole {PATIENCE_MS // 1000} s after the next start")
    return 1 if lost else 0


def round_of(server: Server, name: str, partitions: int, delay_s: float) -> tuple[bool, int]:
    """Whether the commit was acknowledged, and in how many partitions its record is read afterwards."""
    places = [(name, number) for number in range(partitions)]
    with Client(server.address, timeout_ms=60_000) as client:
        create_topic(client, name, partitions=partitions)
        producer = TransactionalProducer(client, name)
        producer.init()
        producer.begin()
        for topic, number in places:
            producer.send(topic, b"v", partition=number)
        producer.flush()
        client.timeout_ms = 2_000  # for the commit: it is not answered later
        killer = threading.Timer(delay_s, server.kill)
        killer.start()
        try:
            producer.commit()
            was_acknowledged = True
        except (OutcomeUnknown, KafkaError):
            was_acknowledged = False
        killer.join()
    server.start()
    with Client(server.address, timeout_ms=60_000) as client:
        return was_acknowledged, _shown(client, name, places)


def _shown(client: Client, transactional_id: str, places: list[tuple[str, int]]) -> int:
    """In how many partitions a reader of committed records passes the record, at last."""
    deadline = client.deadline(PATIENCE_MS)
    while True:
        ends = partition_ends(client, places)
        shown = sum(stable > 0 for stable, _ in ends.values())
        (txn,) = describe_transactions(client, [transactional_id])
        if shown == len(places) or deadline.is_over or txn.state == "CompleteAbort":
            return shown if txn.state != "CompleteAbort" else 0
        client.clock.sleep(_PAUSE_S)  # neither broker tells when a transaction has ended


if __name__ == "__main__":
    sys.exit(main())
