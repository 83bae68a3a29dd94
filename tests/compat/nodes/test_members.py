"""Members of a group come and go while leaders and the coordinator move, and nodes stop: each record is delivered.

What must hold is in `chaos/ledger.py`. The records are written by an idempotent producer of librdkafka: each is there
once, and in order.
"""

from collections.abc import Callable, Mapping
from functools import partial

import pytest

from barnabas.client.client import Client as OwnClient
from barnabas.client.offsets import committed_offsets
from tests.compat.chaos.members import DEADLINE_S, ConfluentMember, KafkaPythonMember, Member, NewConfluentMember
from tests.compat.chaos.play import play
from tests.compat.model import Client
from tests.compat.nodes.conftest import PARTITIONS, SESSION_TIMEOUT_MS, Nodes
from tests.compat.nodes.java_members import JavaMember, JavaMembers
from tests.support.depth import long
from tests.support.waiting import until

STEPS = 6
LONG_STEPS = 60
MEMBERS = 3
KINDS = ("java-classic", "java-consumer", "librdkafka-classic", "librdkafka-consumer", "kafka-python")


@pytest.fixture
def kinds(java_members: JavaMembers) -> Mapping[str, Callable[..., Member]]:
    return {
        "java-classic": partial(JavaMember, members=java_members, protocol="classic"),
        "java-consumer": partial(JavaMember, members=java_members, protocol="consumer"),
        "librdkafka-classic": ConfluentMember,
        "librdkafka-consumer": NewConfluentMember,
        "kafka-python": KafkaPythonMember,
    }


def _committed(nodes: Nodes, group: str) -> dict[int, int]:
    """The group is named after its topic."""
    with OwnClient(nodes.address) as client:
        return {number: offset for (_, number), offset in committed_offsets(client, group).items()}


@pytest.mark.parametrize(
    ("kind", "steps", "seed"),
    [*((kind, STEPS, 7) for kind in KINDS), *(long(kind, LONG_STEPS, seed) for kind in KINDS for seed in range(3))],
)
def test_records_are_delivered_while_leaders_and_the_coordinator_move(
    nodes: Nodes,
    clients: Mapping[str, Client],
    kinds: Mapping[str, Callable[..., Member]],
    kind: str,
    steps: int,
    seed: int,
) -> None:
    """A step of the nodes for each that a member makes; then everything is as if nothing had moved."""
    topic = nodes.topic(f"delivered-{kind}-{steps}-{seed}")
    moves = nodes.moves(topic)

    def step(number: int) -> None:
        if number == 0:  # so that there is something to lose
            until(lambda: any(offset > 0 for offset in _committed(nodes, topic).values()), DEADLINE_S)
        moves.make()

    how = {"is_static": False, "seed": seed, "moves": steps, "session_timeout_ms": SESSION_TIMEOUT_MS}
    ledger = play(nodes.address, topic, [kinds[kind]] * MEMBERS, before_move=step, **how)  # type: ignore[arg-type]  # each is of its own type
    assert ledger.verdict() == [], moves.done
    written: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
    for record in clients["confluent-kafka"].read(nodes.address, topic):
        written[record.partition].append(int(record.value or b""))
    assert all(values == sorted(values) for values in written.values()), "in order, and none twice"
    everything = sorted(value for values in written.values() for value in values)
    assert everything == list(range(len(everything)))
    assert ledger.handovers > PARTITIONS, "nothing ever changed hands"
    committed = _committed(nodes, topic)
    for number, offset in ledger.acknowledged().items():
        assert offset <= committed[number] <= len(written[number])
