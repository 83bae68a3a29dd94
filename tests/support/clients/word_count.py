"""A word count of Kafka Streams over a stream of lines, with the lines written and the expected counts."""

from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from tests.compat.clients.confluent import Confluent
from tests.compat.tools import TOPICS, Tools
from tests.support.clients.java import program_command
from tests.support.kafka.jars import streams_libs
from tests.support.processes.program import Program
from tests.support.processes.server import Server
from tests.support.waiting import all_the_while

_SOURCE = Path(__file__).resolve().parents[2] / "compat" / "java" / "WordCount.java"
_SENTENCE = "someone must have slandered josef k for one morning without having done anything wrong he was arrested"
_WORDS = _SENTENCE.split()
_WORDS_PER_LINE = 6
_LINES_AT_A_TIME = 2
_PARTITIONS = 2
_TIMEOUT_S = 60

SETTINGS = {"group.min.session.timeout.ms": 1000}  # a killed program's membership ends after two seconds
STREAMS_SETTINGS = {  # the same for streams groups, whose sessions the broker decides
    "group.streams.min.heartbeat.interval.ms": 500,
    "group.streams.heartbeat.interval.ms": 500,
    "group.streams.min.session.timeout.ms": 2000,
    "group.streams.session.timeout.ms": 2000,
    "group.streams.initial.rebalance.delay.ms": 0,
}
ENDED_BY_SIGTERM = 143


class WordCount:
    """One application, `name`, its topics made by `tools`; guarantee: at_least_once or exactly_once_v2.

    protocol: classic or streams, the protocol of its group; the second with the Streams of the newest Kafka.
    secured: the address at which the program itself is let in, and the file of the settings that it needs there.
    """

    def __init__(
        self,
        server: Server,
        tools: Tools,
        name: str,
        guarantee: str,
        *,
        protocol: str = "classic",
        secured: tuple[str, Path] | None = None,
    ) -> None:
        self.written: Counter[str] = Counter()  # by word, what was acknowledged
        self._server, self._name, self._guarantee, self._secured = server, name, guarantee, secured
        self._protocol = protocol
        self._lines, self._counts = f"{name}-lines", f"{name}-counts"
        for topic in (self._lines, self._counts):
            tools.ask(server, TOPICS, "--create", "--topic", topic, "--partitions", str(_PARTITIONS))
        self._producer = Producer({"bootstrap.servers": server.address, "enable.idempotence": True, "linger.ms": 0})
        self._line = 0

    def run(self, state: Path) -> Program:
        """Start the program; it keeps its state in the directory `state`."""
        address, *settings = self._secured or (self._server.address,)
        arguments = (address, self._name, str(state), self._guarantee, self._protocol, self._lines, self._counts)
        return Program(program_command(_SOURCE, *arguments, *map(str, settings), libs=streams_libs()))

    def write(self, lines: int) -> None:
        """Write so many lines more."""
        for _ in range(lines):
            first, self._line = self._line, self._line + 1
            words = [_WORDS[(first * 5 + each * each) % len(_WORDS)] for each in range(_WORDS_PER_LINE)]
            self._producer.produce(self._lines, key=b"%d" % first, value=" ".join(words))
            self.written.update(words)
        assert self._producer.flush(_TIMEOUT_S) == 0

    def writing(self) -> AbstractContextManager[None]:
        """Lines are written all the while."""
        return all_the_while(lambda: self.write(_LINES_AT_A_TIME))

    def counted(self) -> Counter[str]:
        """By word, the last count that a reader at read_committed gets."""
        counts: Counter[str] = Counter()
        for record in Confluent().read(self._server.address, self._counts):
            counts[(record.key or b"").decode()] = int(record.value or b"")
        return counts

    def is_done(self) -> bool:
        """Return whether the program has committed the ends of its lines, and of the topic with their words."""
        topics = (self._lines, f"{self._counts}-repartition")
        partitions = [TopicPartition(topic, number) for topic in topics for number in range(_PARTITIONS)]
        reader = Consumer({"bootstrap.servers": self._server.address, "group.id": self._name})
        try:
            committed = reader.committed(partitions, timeout=_TIMEOUT_S)
            ends = [reader.get_watermark_offsets(each, timeout=_TIMEOUT_S)[1] for each in partitions]
        finally:
            reader.close()
        return [each.offset for each in committed] == ends
