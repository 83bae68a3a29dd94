"""Stories about assignments, as text: what happens to a group, and the resulting assignments.

    > topic orders 4                a topic of four partitions, or one that has grown to four
    > join a orders payments        a member and the topics it subscribes to; `instance=i` makes it a static one
    > uniform                       the next assignment, by this assignor
    a: orders 0 1, payments 0       a member whose target has changed, with all of it now
    b: nothing

Commands besides: `subscribe MEMBER TOPIC…` (other topics), `leave MEMBER…`, `return MEMBER NEW-ID` (a static member
comes back as another), `delete-topic TOPIC…`, `range`. Members, topics and partitions are shown in the order of the
records.

A story is its own expectation: `run` plays the commands and returns the text as it should be.
"""

from dataclasses import replace

from tests.support.worlds.assigned_group import Ask, AssignedGroup, Subscriber, Target


class Story:
    """One story while it is played; `ask` calls the assignor."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._group = AssignedGroup()
        self._names: dict[bytes, str] = {}

    def run(self, text: str) -> str:
        """The story with the actual outcome of each command."""
        lines: list[str] = []
        for line in text.splitlines():
            if line.startswith("> "):
                lines += [line, *self._play(*line.removeprefix("> ").split())]
            elif line.startswith("#"):
                lines.append(line)
        return "\n".join(lines) + "\n"

    def _play(self, command: str, *words: str) -> list[str]:
        group = self._group
        match command, *words:
            case "topic", name, partitions:
                group.create_topic(name, int(partitions))
                self._names[group.topics[name].topic_id] = name
            case "delete-topic", *names:
                for name in names:
                    del group.topics[name]
            case "join", member_id, *topics:
                subscribed = tuple(word for word in topics if not word.startswith("instance="))
                instances = [word.removeprefix("instance=") for word in topics if word.startswith("instance=")]
                group.members[member_id] = Subscriber(subscribed, *instances)
            case "subscribe", member_id, *names:
                group.members[member_id] = replace(group.members[member_id], names=tuple(names))
            case "leave", *member_ids:
                for member_id in member_ids:
                    group.leave(member_id)
            case "return", member_id, new_id:
                group.replace(member_id, new_id)
            case "uniform" | "range" as assignor, *_:
                return self._assign(assignor)
            case _:
                raise ValueError(f"no such command: {command} {words}")
        return []

    def _assign(self, assignor: str) -> list[str]:
        records = self._ask(self._group, assignor)
        self._group.take(records)
        return [f"{member_id}: {self._text(target)}" for member_id, target in records] or ["all keep what they have"]

    def _text(self, target: Target) -> str:
        topics = (f"{self._names[topic_id]} {' '.join(map(str, partitions))}" for topic_id, partitions in target)
        return ", ".join(topics) or "nothing"
