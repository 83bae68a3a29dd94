"""A reader that subscribes to topics: it follows Metadata, and asks for records by the topics' ids."""

from typing import Any

from barnabas.protocol.messages.fetch import FetchTopic
from tests.simulation.clients.looking import look
from tests.simulation.clients.reader import Reader
from tests.simulation.history.topics import life_name, topic_id_in


class TopicReader(Reader):
    """`follow` first, and again from time to time: what is new is read from its beginning on."""

    version = 13

    async def follow(self, names: list[str]) -> None:
        """Read what there is by these names now, and nothing else."""
        there: dict[tuple[str, int], int] = {}
        for name in names:
            view = await look(self._world, self._wire, self._history, self._client, name)
            if view.topic_id:
                for partition in range(view.partitions):
                    at = life_name(name, view.topic_id), partition
                    there[at] = self._positions.get(at, 0)
                    self._names[view.topic_id] = at[0]
        self._positions = there

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to read."""
        return not self._positions

    def _topic(self, name: str, partitions: list[Any]) -> FetchTopic:
        return FetchTopic(topic_id=topic_id_in(name) or b"", partitions=partitions)

    def _name(self, topic: Any) -> str:
        return self._names[bytes(topic.topic_id).hex()]
