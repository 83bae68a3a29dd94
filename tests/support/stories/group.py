"""Stories about a group, as text: commands, and what the coordinator answered and wrote.

    > join a                      a command; `a` is a client, its member id and generation are remembered
    a join: MEMBER_ID_REQUIRED as a#1
    log: g gen=0 [] -> Empty      a record that was appended

Commands: `config KEY=VALUE`, `join NAME [id=none|x] [instance=I] [protocols=P:m,Q] [session=MS] [rebalance=MS]
[version=N] [type=T]`, `sync NAME [CLIENT=ASSIGNMENT…] [generation=N] [instance=I] [type=T] [protocol=P]`, `heartbeat
NAME… [generation=N]`, `leave NAME…`, `kick INSTANCE…`, `commit NAME|- TOPIC-PARTITION=OFFSET… [metadata=M]
[expire=MS]`, `txn-commit PRODUCER NAME|- TOPIC-PARTITION=OFFSET… [generation=N] [instance=I] [metadata=M]`,
`marker PRODUCER commit|abort [hold]`, `release PRODUCER commit|abort`, `offsets`, `state`, `time MS`, `crash`, `refuse
CODE`, `accept`, `delete`, `delete-offsets TOPIC-PARTITION…`, `delete-topic TOPIC`. Ids count up: `a#1` is client a with
the first id that was given out.

What was written is shown before the answers. A story is its own expectation: `run` plays the commands and returns
the text as it should be.
"""

import asyncio
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from barnabas.broker.coordinator.group.decisions import records
from barnabas.broker.coordinator.group.decisions.classic.model import GroupConfig, GroupStored, JoinReply, SyncReply
from barnabas.broker.coordinator.group.decisions.consumer.model import ConsumerConfig
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.control import read_marker
from barnabas.protocol.records.record import iter_records
from tests.support.stories.consumer_records import record_text
from tests.support.stories.golden import parsed, played
from tests.support.worlds.group import GroupWorld, reply_of

_UUID = re.compile(r"-00000000-0000-4000-8000-([0-9a-f]{12})")
_PARTITION = partition_for("g", 50)


@dataclass
class _Client:
    """What a client remembers of itself."""

    member_id: str = ""
    generation_id: int = -1
    instance: str | None = None


class Story:
    """One story while it is played."""

    def __init__(self) -> None:
        self.config = GroupConfig()
        self.consumer_config = ConsumerConfig()
        self._world: GroupWorld | None = None
        self._clients: dict[str, _Client] = {}
        self._waiting: list[tuple[str, str, asyncio.Future[Any]]] = []
        self._seen_batches = 0
        self._lines: list[str] = []

    @property
    def world(self) -> GroupWorld:
        if self._world is None:
            self._world = GroupWorld(self.config, consumer_config=self.consumer_config)
        return self._world

    def run(self, text: str) -> str:
        """The story with the actual outcome of each command."""
        try:
            return played(text, self._play)
        finally:
            if self._world is not None:
                self._world.loop.close()

    def _play(self, command: str) -> list[str]:
        self._lines = []
        verb, *words = command.split()
        names, settings = parsed(words)
        getattr(self, "_" + verb.replace("-", "_"))(names, settings)
        if self._world is not None:
            self._world.settle()
        self._show_records()
        self._show_answers()
        return [_UUID.sub(lambda match: f"#{int(match[1], 16)}", line) for line in self._lines]

    def _client(self, name: str) -> _Client:
        return self._clients.setdefault(name, _Client())

    # Commands

    def _config(self, names: list[str], settings: dict[str, str]) -> None:
        self.config = replace(self.config, **{key: int(value) for key, value in settings.items()})

    def _join(self, names: list[str], settings: dict[str, str]) -> None:
        protocols = [protocol.partition(":") for protocol in settings.get("protocols", "range").split(",")]
        offered = [(protocol, metadata.encode()) for protocol, _, metadata in protocols if protocol]
        self._join_with(names, settings, offered)

    def _join_with(self, names: list[str], settings: dict[str, str], protocols: list[tuple[str, bytes]]) -> None:
        name = names[0]
        client = self._client(name)
        client.instance = settings.get("instance", client.instance)
        member_id = {"none": ""}.get(settings.get("id", ""), settings.get("id", client.member_id))
        call = partial(
            self.world.join,
            "g",
            member_id,
            instance=client.instance,
            client=name,
            session_ms=int(settings.get("session", 10_000)),
            rebalance_ms=int(settings.get("rebalance", 60_000)),
            protocol_type=settings.get("type", "consumer"),
            protocols=protocols,
            version=int(settings.get("version", 9)),
        )
        self._ask(name, "join", call)

    def _sync(self, names: list[str], settings: dict[str, str]) -> None:
        client = self._client(names[0])
        generation_id = int(settings.pop("generation", client.generation_id))
        instance = settings.pop("instance", client.instance)
        kind, protocol = settings.pop("type", None), settings.pop("protocol", None)
        assignments = [(self._client(name).member_id, self._as_given(given)) for name, given in settings.items()]
        call = partial(
            self.world.sync,
            client.member_id,
            generation_id,
            assignments,
            instance=instance,
            protocol_type=kind,
            protocol_name=protocol,
        )
        self._ask(names[0], "sync", call)

    def _heartbeat(self, names: list[str], settings: dict[str, str]) -> None:
        for name in names:
            client = self._client(name)
            generation_id = int(settings.get("generation", client.generation_id))
            call = partial(self.world.heartbeat, client.member_id, generation_id, instance=client.instance)
            self._ask(name, "heartbeat", call)

    def _leave(self, names: list[str], settings: dict[str, str]) -> None:
        members = [(self._client(name).member_id, self._client(name).instance) for name in names]
        self._ask("+".join(names), "leave", partial(self.world.leave, *members))

    def _kick(self, names: list[str], settings: dict[str, str]) -> None:
        self._ask("admin", "leave", partial(self.world.leave, *(("", instance) for instance in names)))

    def _commit(self, names: list[str], settings: dict[str, str]) -> None:
        metadata = settings.pop("metadata", "")
        expire_ms = int(settings.pop("expire", -1))
        client = _Client() if names[0] == "-" else self._client(names[0])
        generation_id = int(settings.pop("generation", client.generation_id))
        offsets = [(*_partition(name), int(offset)) for name, offset in settings.items()]
        call = partial(
            self.world.commit,
            offsets,
            member_id=client.member_id,
            generation_id=generation_id,
            instance=client.instance,
            metadata=metadata,
            expire_ms=expire_ms,
        )
        self._ask(names[0], "commit", call)

    def _txn_commit(self, names: list[str], settings: dict[str, str]) -> None:
        client = _Client() if names[1] == "-" else self._client(names[1])
        generation_id = int(settings.pop("generation", client.generation_id))
        instance = settings.pop("instance", client.instance)
        metadata = settings.pop("metadata", "")
        call = partial(
            self.world.txn_commit,
            int(names[0]),
            [(*_partition(name), int(offset)) for name, offset in settings.items()],
            member_id=client.member_id,
            generation_id=generation_id,
            instance=instance,
            metadata=metadata,
        )
        self._ask(names[1], "txn-commit", call)

    def _marker(self, names: list[str], settings: dict[str, str]) -> None:
        self.world.marker(int(names[0]), is_commit=names[1] == "commit", hold="hold" in names)

    def _release(self, names: list[str], settings: dict[str, str]) -> None:
        self.world.release(int(names[0]), is_commit=names[1] == "commit")

    def _offsets(self, names: list[str], settings: dict[str, str]) -> None:
        committed = self.world.committed()
        shown = [f"{topic}-{partition}={offset}" for (topic, partition), offset in sorted(committed.items())]
        shown += [f"{topic}-{partition} is unstable" for topic, partition in sorted(self.world.unstable())]
        self._lines.append("offsets: " + (" ".join(shown) or "none"))

    def _state(self, names: list[str], settings: dict[str, str]) -> None:
        group = self.world.coordinator.describe("g")
        if group is None:
            self._lines.append("state: no such group")
            return
        members = " ".join(group.members) or "nobody"
        leader = f" leader={group.leader_id}" if group.leader_id else ""
        self._lines.append(f"state: {group.state.value} gen={group.generation_id}{leader} members: {members}")

    def _time(self, names: list[str], settings: dict[str, str]) -> None:
        self.world.advance(int(names[0]))

    def _crash(self, names: list[str], settings: dict[str, str]) -> None:
        self._waiting.clear()
        self.world.config = self.config
        self.world.crash()

    def _refuse(self, names: list[str], settings: dict[str, str]) -> None:
        self.world.topic.refuse_with = ErrorCode[names[0]]

    def _accept(self, names: list[str], settings: dict[str, str]) -> None:
        self.world.topic.refuse_with = None

    def _delete(self, names: list[str], settings: dict[str, str]) -> None:
        self._ask("admin", "delete", partial(self.world.coordinator.delete_group, "g"))

    def _delete_offsets(self, names: list[str], settings: dict[str, str]) -> None:
        wanted = [_partition(name) for name in names]
        self._ask("admin", "delete-offsets", partial(self.world.coordinator.delete_offsets, "g", wanted))

    def _delete_topic(self, names: list[str], settings: dict[str, str]) -> None:
        del self.world.topic_ids[names[0]]
        self.world.coordinator.on_topic_deleted(names[0])

    # Telling

    def _ask(self, name: str, verb: str, call: Any) -> None:
        try:
            answered = call()
        except KafkaError as error:
            self._lines.append(f"{name} {verb}: refused {error.code.name}")
            return
        self._show_records()
        if isinstance(answered, asyncio.Future) and not answered.done():
            self._lines.append(f"{name} {verb}: waits")
            self._waiting.append((name, verb, answered))
        else:
            self._show(name, verb, reply_of(answered))

    def _show_answers(self) -> None:
        waiting, self._waiting = self._waiting, []
        for name, verb, answered in waiting:
            if not answered.done():
                self._waiting.append((name, verb, answered))
            elif isinstance(error := answered.exception(), KafkaError):
                self._lines.append(f"{name} {verb}: refused {error.code.name}")
            else:
                self._show(name, verb, answered.result())

    def _show(self, name: str, verb: str, reply: Any) -> None:
        if isinstance(reply, JoinReply):
            self._show_join(name, reply)
        elif isinstance(reply, SyncReply):
            is_good = reply.error is ErrorCode.NONE
            self._lines.append(
                f"{name} sync: {self._given(reply.assignment) or 'nothing' if is_good else reply.error.name}"
            )
        elif isinstance(reply, tuple):
            self._lines.append(f"{name} {verb}: {' '.join(code.name for code in reply)}")
        else:
            self._lines.append(f"{name} {verb}: {reply.name}")

    def _show_join(self, name: str, reply: JoinReply) -> None:
        client = self._client(name)
        if reply.error is ErrorCode.MEMBER_ID_REQUIRED:
            client.member_id = reply.member_id
            self._lines.append(f"{name} join: MEMBER_ID_REQUIRED as {reply.member_id}")
            return
        if reply.error is not ErrorCode.NONE:
            self._lines.append(f"{name} join: {reply.error.name}")
            return
        client.member_id, client.generation_id = reply.member_id, reply.generation_id
        line = f"{name} join: as {reply.member_id} gen={reply.generation_id} protocol={reply.protocol_name}"
        line += " leads" if reply.leader_id == reply.member_id else f" follows {reply.leader_id}"
        if reply.members:
            line += " " + " ".join(f"{member.member_id}:{self._metadata(member.metadata)}" for member in reply.members)
        self._lines.append(line + (" skip-assignment" if reply.skip_assignment else ""))

    def _show_records(self) -> None:
        if self._world is None:
            return
        written = self._world.topic.batches(_PARTITION)
        for header, batch in written[self._seen_batches :]:
            if header.is_control:
                marker = read_marker(batch)
                assert marker is not None
                self._lines.append(f"log: {'commit' if marker.commit else 'abort'} of producer {marker.producer_id}")
                continue
            whose = f" of producer {header.producer_id}" if header.is_transactional else ""
            for raw in iter_records(batch):
                record = records.decode(raw.key, raw.value)
                if isinstance(record, GroupStored):
                    self._lines.append(f"log: {self._stored(record)}")
                elif isinstance(record, KeyedRecord):
                    self._lines.append(f"log: {record_text(record)}")
                elif record is not None:
                    offset = "deleted" if record.committed is None else record.committed.offset
                    self._lines.append(f"log: {record.topic}-{record.partition}={offset}{whose}")
        self._seen_batches = len(written)

    def _stored(self, record: GroupStored) -> str:
        stored = record.stored
        if stored is None:
            return "group deleted"
        members = " ".join(f"{each.member_id}={self._given(each.assignment) or 'nothing'}" for each in stored.members)
        return f"group gen={stored.generation_id} protocol={stored.protocol_name} members: {members or 'nobody'}"

    # The metadata and assignments of members, in these stories mere letters

    def _metadata(self, metadata: bytes) -> str:
        return metadata.decode()

    def _as_given(self, text: str) -> bytes:
        return text.encode()

    def _given(self, assignment: bytes) -> str:
        return assignment.decode()


def _partition(name: str) -> tuple[str, int]:
    topic, _, partition = name.rpartition("-")
    return topic, int(partition)
