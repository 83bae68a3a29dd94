"""`python -m bench.in_process.assignors [MEMBERS TOPICS PARTITIONS]`: how long assignments of a consumer group take.

Prints the processor time of each, the least of five, of the running form: the total, and the longest of its steps.
PARTITIONS are those of each topic; by default 500 members, and ten topics of a hundred.
"""

import sys
import time
from itertools import pairwise
from random import Random

from barnabas.broker.coordinator.group.decisions.consumer.assignors.by_name import ASSIGNORS
from tests.support.worlds.assigned_group import AssignedGroup, Subscriber

_DEFAULT = (500, 10, 100)
_REPEATS = 5


def _member_id(rng: Random) -> str:
    return f"{rng.getrandbits(128):032x}"


def _narrow(group: AssignedGroup, rng: Random) -> None:
    """Let each member subscribe to some of the topics."""
    names = list(group.topics)
    for member_id in group.members:
        group.members[member_id] = Subscriber(tuple(rng.sample(names, rng.randint(1, len(names)))))


def _measure(what: str, group: AssignedGroup, assignor: str) -> None:
    """Measure an assignment, print one line, and apply it to the group."""
    spec = group.spec()
    wholes, longest = [], []
    for _ in range(_REPEATS):
        times = [time.process_time()]
        for _ in ASSIGNORS[assignor](spec):
            times.append(time.process_time())
        times.append(time.process_time())
        wholes.append(times[-1] - times[0])
        longest.append(max(after - before for before, after in pairwise(times)))
    print(f"| {assignor} | {what} | {min(wholes) * 1e3:.1f} ms | {min(longest) * 1e3:.2f} ms |")
    group.take(group.assign(assignor))


def main(members: int, topics: int, partitions: int) -> None:
    rng = Random(1)
    for assignor in ASSIGNORS:
        group = AssignedGroup()
        for number in range(topics):
            group.create_topic(f"topic-{number}", partitions)
        everything = Subscriber(tuple(group.topics))
        group.members = {_member_id(rng): everything for _ in range(members)}
        _measure("the first, all with the same topics", group, assignor)
        _measure("nothing has changed", group, assignor)
        for member_id in list(group.members)[: members // 10]:
            group.leave(member_id)
        _measure("a tenth has left", group, assignor)
        group.members |= {_member_id(rng): everything for _ in range(members // 10)}
        _measure("a tenth is new", group, assignor)
        group.targets.clear()
        _narrow(group, rng)
        _measure("the first, with different topics", group, assignor)
        _narrow(group, rng)
        _measure("all have changed their topics", group, assignor)


if __name__ == "__main__":
    main(*(map(int, sys.argv[1:]) if len(sys.argv) > 1 else _DEFAULT))
