"""Idempotent producers write while leaders move and nodes stop: what is acknowledged is there, once, at its offset."""

import threading
from collections import Counter
from collections.abc import Mapping

import pytest

from tests.compat.conftest import JS, STREAMING
from tests.compat.model import StreamingClient
from tests.compat.nodes.conftest import Nodes
from tests.support.depth import long
from tests.support.processes.moves import Moves

COUNT = 2_000  # messages of one round; there are as many rounds as the moves take
ACKS_BETWEEN = 100  # acknowledgements between two steps: the next one meets a client that has found the way again
STEPS = 12
LONG_STEPS = 120
DEADLINE_S = 60.0
IN_LONG_RUNS = [name for name in STREAMING if name not in JS]  # see kafkajs's issue 598: it ends with an error
IN_SHORT_RUNS = ("java-4.4.0", "confluent-kafka", "kafka-python", "franz-go")


class Progress:
    """Counts acknowledgements, and has the nodes make a step whenever there were enough since the last."""

    def __init__(self, moves: Moves, steps: int) -> None:
        self.offsets: list[int] = []
        self.is_over = False
        self._moves, self._steps = moves, steps
        self._changed = threading.Condition()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._move)
        self._thread.start()

    def acknowledged(self, _: int, offset: int) -> None:
        with self._changed:
            self.offsets.append(offset)
            self._changed.notify_all()

    def _move(self) -> None:
        try:
            for _ in range(self._steps):
                self._wait_for(len(self.offsets) + ACKS_BETWEEN)
                self._moves.make()
        except BaseException as error:
            self._error = error
        finally:
            self.is_over = True

    def _wait_for(self, count: int) -> None:
        with self._changed:
            came = self._changed.wait_for(lambda: len(self.offsets) >= count, DEADLINE_S)
        assert came, f"no {ACKS_BETWEEN} acknowledgements in {DEADLINE_S} s after {self._moves.done}"

    def join(self) -> None:
        """Wait for the last step; what went wrong in one is raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error


@pytest.mark.parametrize(
    ("name", "steps"), [*((name, STEPS) for name in IN_SHORT_RUNS), *(long(name, LONG_STEPS) for name in IN_LONG_RUNS)]
)
def test_what_is_acknowledged_is_there_once_while_leaders_move(
    nodes: Nodes, clients: Mapping[str, StreamingClient], name: str, steps: int
) -> None:
    topic = nodes.topic(f"written-{name}-{steps}")
    progress = Progress(nodes.moves(topic), steps)
    rounds = 0
    while not progress.is_over:
        clients[name].stream(nodes.address, topic, COUNT, progress.acknowledged)
        rounds += 1
    progress.join()
    found = clients["confluent-kafka"].read(nodes.address, topic)
    assert Counter(int(record.value or b"") for record in found) == dict.fromkeys(range(COUNT), rounds)
    assert Counter(record.offset for record in found) == Counter(progress.offsets)
