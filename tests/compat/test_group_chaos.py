"""Five consumers join and leave at random while somebody writes: each record comes, and no partition has two owners.

Eager, cooperative and of the new protocol (KIP-848), dynamic and static, members of three clients in one group; and the
broker killed under them. What is checked while it happens is in `chaos/ledger.py`: within one ownership offsets follow
each other, a new owner begins between what was acknowledged as committed and what was read, and a generation gives a
partition to one member.
"""

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.chaos.ledger import Ledger
from tests.compat.chaos.members import (
    AiokafkaMember,
    ConfluentMember,
    CooperativeConfluentMember,
    CooperativeKafkaPythonMember,
    KafkaPythonMember,
    NewConfluentMember,
)
from tests.compat.chaos.play import play
from tests.compat.model import quick_groups
from tests.support.depth import long
from tests.support.processes.server import Server
from tests.support.waiting import until

PARTITIONS = 6
MOVES = 10
SESSION_TIMEOUT_MS = 3_000
LONG_SESSION_TIMEOUT_MS = 10_000
SETTINGS = quick_groups(SESSION_TIMEOUT_MS) | {"offsets.topic.num.partitions": 5}
EAGER = (ConfluentMember, KafkaPythonMember, AiokafkaMember, ConfluentMember, KafkaPythonMember)
COOPERATIVE = (CooperativeConfluentMember,) * 5
COOPERATIVE_PYTHON = (CooperativeKafkaPythonMember,) * 5
NEW = (NewConfluentMember,) * 5

KINDS = {"eager": EAGER, "cooperative": COOPERATIVE, "cooperative-python": COOPERATIVE_PYTHON, "new": NEW}


def _topic(server: Server, name: str) -> str:
    admin = AdminClient({"bootstrap.servers": server.address})
    admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(30)
    return name


def _has_committed_all(server: Server, topic: str) -> bool:
    """Whether the group has an offset for every partition: then no member has to look the beginning up (ListOffsets).

    librdkafka 2.16 begins anew with a partition that it reads already when the answer to an earlier look-up comes late,
    as it does where the broker was killed in between.
    """
    consumer = Consumer({"bootstrap.servers": server.address, "group.id": topic})
    try:
        found = consumer.committed([TopicPartition(topic, number) for number in range(PARTITIONS)], timeout=10)
    finally:
        consumer.close()
    return all(each.offset >= 0 for each in found)


def _check(ledger: Ledger) -> None:
    assert ledger.verdict() == []
    assert ledger.handovers > PARTITIONS, "nothing ever changed hands"


@pytest.mark.parametrize(
    ("kind", "is_static"),
    [
        ("eager", False),
        long("eager", True),
        long("cooperative", False),
        ("cooperative", True),
        ("new", False),
        long("new", True),
    ],
)
def test_members_come_and_go_and_every_record_is_delivered(server: Server, kind: str, is_static: bool) -> None:
    topic = _topic(server, f"{kind}-{is_static}")
    _check(
        play(
            server.address,
            topic,
            KINDS[kind],
            is_static=is_static,
            seed=7,
            moves=MOVES,
            session_timeout_ms=SESSION_TIMEOUT_MS,
        )
    )


@pytest.mark.parametrize("kind", [long("cooperative"), "new"])
def test_members_come_and_go_over_a_kill_and_no_commit_is_lost(server: Server, kind: str) -> None:
    topic = _topic(server, f"killed-{kind}")

    def kill(move: int) -> None:
        if move == MOVES // 2:
            until(lambda: _has_committed_all(server, topic), 60)
            server.kill()
            server.start()

    told = {"seed": 8, "moves": MOVES, "session_timeout_ms": SESSION_TIMEOUT_MS}
    _check(play(server.address, topic, KINDS[kind], is_static=False, before_move=kill, **told))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("is_static", [False, True], ids=["dynamic", "static"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_they_do_so_for_long(server: Server, kind: str, is_static: bool, seed: int) -> None:
    """With two kills of the broker in each life."""

    def kill(move: int) -> None:
        if move in (20, 40):
            server.kill()
            server.start()

    topic = _topic(server, f"long-{kind}-{is_static}-{seed}")
    told = {"seed": seed, "moves": 60, "session_timeout_ms": LONG_SESSION_TIMEOUT_MS}
    _check(play(server.address, topic, KINDS[kind], is_static=is_static, before_move=kill, **told))
