"""Two of Kafka's transactional message copiers, bounced while the broker is killed: each message is copied once."""

import json

from confluent_kafka import Producer

from tests.support.clients.java import tool_command
from tests.support.processes.program import Program
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S, until
from tests.transactions.views import make_topics, values

COUNT = 3000  # messages in each of the two partitions
AT_ONCE = 5  # messages in a transaction
TRANSACTION_TIMEOUT_MS = 12_000
"""Well below the minute that the tool waits for its position, which it asks for before `initTransactions` ends the
transaction of the one that was killed: where that one had sent its offsets, only the timeout ends it."""


class Copier(Program):
    """The tool, copying one partition; it aborts every third transaction or so, and ends when all is copied."""

    def __init__(self, server: Server, source: str, partition: int, target: str) -> None:
        wishes = {
            "broker-list": server.address,
            "input-topic": source,
            "input-partition": partition,
            "output-topic": target,
            "transactional-id": f"copier-{partition}",
            "consumer-group": "copiers",
            "transaction-size": AT_ONCE,
            "transaction-timeout": TRANSACTION_TIMEOUT_MS,
        }
        arguments = [str(word) for key, value in wishes.items() for word in (f"--{key}", value)]
        tool = "org.apache.kafka.tools.TransactionalMessageCopier"
        super().__init__(tool_command(tool, *arguments, "--enable-random-aborts", "--use-group-metadata"))

    def copies(self, count: int) -> None:
        """Wait until it has copied so many messages more, or everything."""
        enough = self._copied() + count
        until(lambda: self._copied() >= enough or self.has_ended, PATIENCE_S)

    def _copied(self) -> int:
        return max((json.loads(line)["totalProcessed"] for line in self.lines if "totalProcessed" in line), default=0)


def fill(server: Server, topic: str) -> None:
    producer = Producer({"bootstrap.servers": server.address, "enable.idempotence": True})
    for number in range(2 * COUNT):
        producer.produce(topic, value=str(number), partition=number % 2)
    assert producer.flush(60) == 0


def test_each_message_is_copied_once(mortal_server: Server) -> None:
    server, source, target = mortal_server, "to-be-copied", "copied"
    make_topics(server.address, source, target)
    fill(server, source)
    copiers = [Copier(server, source, partition, target) for partition in (0, 1)]
    try:
        for bounced in (0, 1, 0):
            for copier in copiers:
                copier.copies(20 * AT_ONCE)
            copiers[bounced].kill()
            server.kill()
            server.start()
            copiers[bounced] = Copier(server, source, bounced, target)
        for copier in copiers:
            copier.succeed(PATIENCE_S)
    finally:
        for copier in copiers:
            copier.close()
    assert sorted(map(int, values(server.address, target))) == [*range(2 * COUNT)]
    assert len(values(server.address, target, "read_uncommitted")) > 2 * COUNT  # some were aborted
