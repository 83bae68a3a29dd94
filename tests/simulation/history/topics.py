"""What admins did to topics and what was answered, and what anybody saw of topics.

A topic that is deleted and created again is another one: `life_name` tells them apart by their ids.
"""

from dataclasses import dataclass, field


def life_name(name: str, topic_id: str) -> str:
    """How the history names one life of a topic."""
    return f"{name}#{topic_id}"


def topic_id_in(topic: str) -> bytes | None:
    """The id in such a name; None if it is a plain one, whose topic is created once."""
    _, _, topic_id = topic.partition("#")
    return bytes.fromhex(topic_id) if topic_id else None


@dataclass(slots=True, eq=False)
class TopicLife:
    """One topic, from its CreateTopics to its DeleteTopics."""

    client: str
    name: str
    began_us: int
    topic_id: str = ""
    created_us: int | None = None
    """When its creation was answered."""
    counts: list[tuple[int, int]] = field(default_factory=list)
    """How many partitions it has, and when that was answered."""
    configs: dict[str, str] = field(default_factory=dict)
    """What was set last, and answered."""
    deleting_us: int | None = None
    """When its deletion was asked for."""
    deleted_us: int | None = None

    @property
    def full_name(self) -> str:
        return life_name(self.name, self.topic_id)

    def line(self) -> str:
        is_over = "" if self.deleting_us is None else " deleted" if self.deleted_us is not None else " deleting"
        count = self.counts[-1][1] if self.counts else 0
        return f"{self.client} topic {self.full_name} of {count} partitions{is_over}"


@dataclass(slots=True, eq=False)
class Change:
    """Anything else that an admin asked for, as a line."""

    client: str
    text: str
    began_us: int
    result: str = ""

    def line(self) -> str:
        return f"{self.client} {self.text}: {self.result or 'open'}"


@dataclass(slots=True, eq=False)
class RecordsDeleted:
    """A DeleteRecords that was answered: the log starts at `offset`, or later. `boot`: by which run of the broker."""

    client: str
    at: tuple[str, int]
    began_us: int
    ended_us: int
    boot: int
    offset: int

    def line(self) -> str:
        return f"{self.client} records of {self.at[0]}-{self.at[1]} deleted up to {self.offset}"


@dataclass(slots=True, eq=False)
class TopicView:
    """What Metadata said of a name; `topic_id` is empty if there is no such topic."""

    client: str
    name: str
    began_us: int
    ended_us: int
    topic_id: str
    partitions: int

    def line(self) -> str:
        seen = f"{self.topic_id} with {self.partitions} partitions" if self.topic_id else "no such topic"
        return f"{self.client} sees {self.name}: {seen}"


@dataclass(slots=True, eq=False)
class ConfigView:
    """What DescribeConfigs said of a topic when all was over."""

    client: str
    life: TopicLife
    began_us: int
    values: dict[str, str | None]

    def line(self) -> str:
        values = ",".join(f"{name}={value}" for name, value in self.values.items())
        return f"{self.client} sees {self.life.full_name} with {values}"
