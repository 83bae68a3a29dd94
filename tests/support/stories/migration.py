"""Stories about a group with members of both protocols, as text: commands, and what was answered and written.

    > subscribe a t               client a joins by the classic protocol, and reports its last assignment as owned
    a join: as a#1 gen=3 protocol=range follows
    > sync a                      and asks for its assignment
    a sync: t:0,1

The commands are those of `stories/consumer_group.py`, and `subscribe NAME TOPIC[,TOPIC…] [has=T:0] [assignors=A,B]`: a
`join` with the metadata of a consumer. The assignments are `TOPIC:0,1` for each topic, with `+`
between them; `custom` among them is data of an assignor of the clients' own.
"""

from itertools import groupby
from typing import Any

from barnabas.broker.coordinator.group.decisions.classic.subscription import parse_topics
from barnabas.client.consume.assignors import assigned_partitions, encode_assignment
from tests.support.clients.classic_members import subscription
from tests.support.stories.consumer_group import ConsumerStory
from tests.support.stories.group import Story

_NEVER_LOOKED_AT = b"custom"


class MigrationStory(ConsumerStory):
    """One story while it is played."""

    def __init__(self) -> None:
        super().__init__()
        self._has: dict[str, str] = {}  # the assignment of each classic client

    def _subscribe(self, names: list[str], settings: dict[str, str]) -> None:
        name, topics = names[0], names[1].split(",")
        self._consumers.pop(name, None)
        owned = settings.pop("has", self._has.get(name, ""))
        metadata = subscription(topics, assigned_partitions(self._as_given(owned)))
        assignors = settings.pop("assignors", "range").split(",")
        self._join_with([name], settings, [(each, metadata) for each in assignors])

    def _commit(self, names: list[str], settings: dict[str, str]) -> None:
        """Of a client of the protocol that it joined with last."""
        commit = super()._commit if names[0] in self._consumers else Story._commit.__get__(self)
        commit(names, settings)

    def _show(self, name: str, verb: str, reply: Any) -> None:
        super()._show(name, verb, reply)
        if verb == "sync" and reply.error.value == 0:
            self._has[name] = self._given(reply.assignment)

    def _as_given(self, text: str) -> bytes:
        placed = [each.partition(":") for each in text.split("+") if each and each != "custom"]
        partitions = [(topic, int(number)) for topic, _, numbers in placed for number in numbers.split(",")]
        encoded = encode_assignment(partitions)
        if "custom" in text:
            return encoded[:-4] + len(_NEVER_LOOKED_AT).to_bytes(4, "big") + _NEVER_LOOKED_AT
        return encoded

    def _given(self, assignment: bytes) -> str:
        topics = groupby(assigned_partitions(assignment), key=lambda each: each[0])
        return "+".join(f"{topic}:{','.join(str(number) for _, number in places)}" for topic, places in topics)

    def _metadata(self, metadata: bytes) -> str:
        return ",".join(parse_topics(metadata) or ["?"])
