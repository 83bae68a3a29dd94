"""Random lives of a consumer group, for its assignor: members come, go and change their topics, and topics grow."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

from tests.support.worlds.assigned_group import AssignedGroup, Subscriber

MEMBERS_MAX, TOPICS_MAX, PARTITIONS_MAX, ROUNDS = 60, 20, 50, 6


def life(
    seed: int,
    *,
    same_topics: bool = False,
    members_max: int = MEMBERS_MAX,
    topics_max: int = TOPICS_MAX,
    partitions_max: int = PARTITIONS_MAX,
) -> Iterator[tuple[AssignedGroup, str]]:
    """The group and the assignor, before each assignment; the caller's loop computes it, and applies it to the group.

    same_topics: whether all members always subscribe to the same topics. If not, they do so in some lives or rounds.
    """
    life = _Life(Random(seed), same_topics, members_max, topics_max, partitions_max)
    yield life.group, life.assignor()
    for _ in range(ROUNDS - 1):
        life.change()
        yield life.group, life.assignor()


class _Life:
    def __init__(self, rng: Random, same_topics: bool, members_max: int, topics_max: int, partitions_max: int) -> None:
        self.group = AssignedGroup()
        self._rng = rng
        self._members_max, self._topics_max, self._partitions_max = members_max, topics_max, partitions_max
        self._habit = "same" if same_topics else rng.choice(("same", "few kinds", "almost same", "any"))
        self._are_static = rng.random() < 0.3
        self._new_id = rng.choice((_java_client_id, _counted_id, _strange_id))
        self._assignors = rng.choice((("uniform",), ("range",), ("uniform", "range")))
        self._arrivals = 0
        for number in range(rng.choice((1, 2, 3, rng.randint(1, topics_max)))):
            self.group.create_topic(f"topic-{number}", rng.randint(1, partitions_max))
        if rng.random() < 0.3:
            for name in self.group.topics:
                self.group.create_topic(name, partitions_max)
        self._kinds = [self._any_names() for _ in range(3)]
        self._join(rng.choice((1, 2, 3, rng.randint(1, members_max))))

    def assignor(self) -> str:
        return self._rng.choice(self._assignors)

    def change(self) -> None:
        """What happens between two assignments."""
        changes: Sequence[Callable[[], None]] = (
            self._some_join,
            self._some_leave,
            self._some_change_topics,
            self._a_topic_grows,
            self._a_topic_is_created,
            self._a_topic_is_deleted,
            self._some_return,
        )
        weights = (4, 4, 3, 2, 1, 1, 1)
        for change in self._rng.choices(changes, weights, k=self._rng.randint(1, 3)):
            change()
        if not self.group.members:
            self._join(1)

    def _some_join(self) -> None:
        room = self._members_max - len(self.group.members)
        self._join(min(room, self._rng.choice((1, 1, 2, self._rng.randint(1, self._members_max)))))

    def _join(self, count: int) -> None:
        for _ in range(count):
            self._arrivals += 1
            instance_id = f"i{self._arrivals % 97}" if self._are_static and self._rng.random() < 0.5 else None
            if instance_id in {member.instance_id for member in self.group.members.values()}:
                instance_id = None
            member_id = self._new_id(self._rng, self._arrivals)
            self.group.members[member_id] = Subscriber(self._names(), instance_id)

    def _some_leave(self) -> None:
        members = list(self.group.members)
        count = self._rng.choice((1, 1, 2, len(members) // 2, len(members)))
        for member_id in self._rng.sample(members, min(count, len(members))):
            self.group.leave(member_id)

    def _some_change_topics(self) -> None:
        self._kinds[self._rng.randrange(3)] = self._any_names()
        members = list(self.group.members)
        count = len(members) if self._habit == "same" else self._rng.randint(0, len(members))
        for member_id in self._rng.sample(members, count):
            self.group.members[member_id] = Subscriber(self._names(), self.group.members[member_id].instance_id)

    def _a_topic_grows(self) -> None:
        if self.group.topics:
            name = self._rng.choice(list(self.group.topics))
            before = self.group.topics[name].partitions
            self.group.create_topic(name, self._rng.randint(before, max(before, self._partitions_max)))

    def _a_topic_is_created(self) -> None:
        if len(self.group.topics) < self._topics_max:
            name = f"topic-{self._rng.randrange(self._topics_max)}"
            self.group.create_topic(name, self._partitions_max)

    def _a_topic_is_deleted(self) -> None:
        if self.group.topics:
            del self.group.topics[self._rng.choice(list(self.group.topics))]

    def _some_return(self) -> None:
        for member_id, member in list(self.group.members.items()):
            if member.instance_id is not None and self._rng.random() < 0.5:
                self._arrivals += 1
                self.group.replace(member_id, self._new_id(self._rng, self._arrivals))

    def _names(self) -> tuple[str, ...]:
        match self._habit:
            case "same":
                return self._kinds[0]
            case "few kinds":
                return self._rng.choice(self._kinds)
            case "almost same":
                return self._kinds[0] if self._rng.random() < 0.9 else self._kinds[1]
            case _:
                return self._any_names()

    def _any_names(self) -> tuple[str, ...]:
        names = [f"topic-{number}" for number in range(self._topics_max)]  # some of them of no topic
        there = list(self.group.topics)
        chosen = self._rng.sample(there, self._rng.randint(min(1, len(there)), len(there)))
        if self._rng.random() < 0.2:
            chosen += self._rng.sample(names, self._rng.randint(0, len(names)))
        return tuple(dict.fromkeys(chosen))


def _java_client_id(rng: Random, _: int) -> str:
    """As Kafka's Java client makes it: a UUID in base64."""
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return "".join(rng.choices(digits, k=22))


def _counted_id(_: Random, arrival: int) -> str:
    return f"consumer-{arrival}"


def _strange_id(rng: Random, arrival: int) -> str:
    """Java sorts the last two of these letters the other way round than Python does."""
    return "".join(rng.choices("aA0-_é\uff21\U0001f600", k=rng.randint(0, 6))) + str(arrival)
