"""Kills drivers, Python workers and brokers at random while a pipeline runs. A seed decides all of it.

The time of a kill is given by how far the output has grown, counting what is not committed, too: so the same seed hits
the same places of another sink, or of another broker.
"""

import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.client.client import Client
from barnabas.client.consume.consumer import Consumer
from barnabas.protocol.errors import KafkaError
from tests.support.chaos import audit
from tests.support.chaos.driver import Driver, Stream, command_of, parents_of
from tests.support.processes.server import Server

DRIVER, WORKER, BROKER = "driver", "worker", "broker"
_DAEMON = " -m tests.support.chaos.warm_daemon"  # the JVM's command line names the module, too, in its settings


@dataclass(frozen=True)
class Blow:
    """Whom to kill when the output has so many records."""

    victim: str
    records: int


def draw(seed: int, rows: int, drivers: int, workers: int, brokers: int) -> list[Blow]:
    """The blows of a seed, in order; all of them while there is still a good part of the rows to come."""
    choose = random.Random(seed)
    victims = [DRIVER] * drivers + [WORKER] * workers + [BROKER] * brokers
    choose.shuffle(victims)
    places = sorted(choose.sample(range(1, rows * 3 // 4), len(victims)))
    return [Blow(victim, place) for victim, place in zip(victims, places, strict=True)]


@dataclass
class Monkey:
    """One pipeline and its blows."""

    server: Server
    stream: Stream
    work: Path
    blows: list[Blow]
    fallen: Counter[str] = field(default_factory=Counter)
    starts: int = 0

    def __str__(self) -> str:
        fallen = ", ".join(f"{count} {victim}s" for victim, count in sorted(self.fallen.items()))
        return f"{fallen} killed, {self.starts} starts"

    def rage(self) -> None:
        """Run the pipeline to its end, with every blow on the way."""
        left = list(self.blows)
        while True:
            self.starts += 1
            with Driver([self.stream], self.work / f"driver-{self.starts}") as driver:
                driver.wait_for("up")
                if self._strike(driver, left):
                    continue
                driver.wait()
                if driver.events("done"):
                    return
            assert self.starts < len(self.blows) + 5, "it fails again and again"

    def _strike(self, driver: Driver, left: list[Blow]) -> bool:
        """All blows until the driver is dead (True), or none is left, or the driver is over."""
        with Client(self.server.address) as client:
            growth = self._growth(client, driver)
            while left:
                blow = left[0]
                if not any(records >= blow.records for records in growth):
                    return False
                left.pop(0)
                self.fallen[blow.victim] += 1
                if blow.victim == BROKER:
                    self.server.kill()
                    self.server.start()
                elif blow.victim == WORKER:
                    self._kill_a_worker(driver, blow)
                else:
                    driver.kill_jvm()
                    return True
        return False

    def _growth(self, client: Client, driver: Driver) -> Iterator[int]:
        """How many records the output has, whenever that may have changed; until the driver is over."""
        consumer = Consumer(client, auto_offset_reset="earliest")
        consumer.assign([(self.stream.topic_out, each) for each in range(audit.PARTITIONS)])
        count = 0
        while not driver.events("over"):
            with suppress(KafkaError):  # the broker was killed: it is back
                count += len(consumer.poll(200))
            yield count

    def _kill_a_worker(self, driver: Driver, blow: Blow) -> None:
        """One of the Python workers that Spark's daemon has forked; which one, the blow's place says."""
        daemons = [pid for pid in driver.processes() if _DAEMON in command_of(pid)]
        workers = [pid for pid in daemons if parents_of(pid)[0] in daemons]
        if workers:
            with suppress(ProcessLookupError):  # it ended by itself
                os.kill(workers[blow.records % len(workers)], signal.SIGKILL)
