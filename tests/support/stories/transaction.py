"""Stories about the transactional id `x`, as text: commands, and what was answered and written.

    > init a                            a command; `a` is a producer, its id and epoch are remembered
    log: Empty 1000/0                   a record that was appended
    a init: 1000/0                      the answer: the producer id and epoch to continue with

Commands: `init NAME [given] [timeout=MS] [2pc] [keep]` (`given`: with the id and epoch it remembers), `add NAME
TOPIC-PARTITION… [version=0|2]`, `verify NAME TOPIC-PARTITION…`, `commit NAME`, `abort NAME` (with `version=1` under
TV1), all of them with `id=N` and `epoch=N` in place of the stored ones; `lost VERB NAME …` plays a request whose
answer never arrives; `finish` (all markers are written), `sweep` (long transactions are aborted, old ids removed),
`time MS`, `crash`, `feature N` (the level of transaction.version), `protocol N` (what clients speak unless they say),
`config KEY=VALUE`, `refuse CODE` and `accept` (appends), `no-ids` and `ids` (allocation), `found KEY=VALUE…` (a record
that is in the log already, and a restart), `state`.

What is not shown is at its default: times are relative to the story's begin, `tv` is the client's protocol.
A story is its own expectation: `run` plays the commands and returns the text as it should be.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from barnabas.broker.coordinator.transaction.decisions import records
from barnabas.broker.coordinator.transaction.decisions.model import (
    AddRequest,
    EndRequest,
    InitRequest,
    TopicPartition,
    TransactionMetadata,
)
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.support.stories.golden import parsed, played
from tests.support.worlds.transaction import PARTITION, TransactionWorld

_ID = "x"
_TIMEOUT_MS = 60_000


@dataclass
class _Producer:
    """What a producer remembers of itself."""

    id: int = -1
    epoch: int = -1


class Story:
    """One story while it is played."""

    def __init__(self) -> None:
        self.world = TransactionWorld()
        self._begin_ms = self.world.clock.now_ms()
        self._producers: dict[str, _Producer] = {}
        self._client_version = 2
        self._seen_records = 0
        self._seen_markers = 0
        self._is_answer_lost = False
        self._lines: list[str] = []

    def run(self, text: str) -> str:
        """The story with the actual outcome of each command."""
        with self.world:
            return played(text, self._play)

    def _play(self, command: str) -> list[str]:
        self._lines = []
        verb, *words = command.split()
        self._is_answer_lost = verb == "lost"
        if self._is_answer_lost:
            verb, *words = words
        names, settings = parsed(words)
        getattr(self, "_" + verb.replace("-", "_"))(names, settings)
        self._show_records()
        return self._lines

    # Requests

    def _init(self, names: list[str], settings: dict[str, str]) -> None:
        producer = self._producers.setdefault(names[0], _Producer())
        given = producer if "given" in names else _Producer()
        request = InitRequest(
            _ID,
            int(settings.get("timeout", _TIMEOUT_MS)),
            int(settings.get("id", given.id)),
            int(settings.get("epoch", given.epoch)),
            enable_2pc="2pc" in names,
            keep_prepared="keep" in names,
        )
        reply = self._ask(names[0], "init", partial(self.world.initialise, request))
        if reply is None:
            return
        ongoing = reply.ongoing_producer_id, reply.ongoing_producer_epoch
        ongoing_text = "" if ongoing == (-1, -1) else f" keeps {ongoing[0]}/{ongoing[1]}"
        self._show_pair(names[0], "init", reply, ongoing_text)

    def _add(self, names: list[str], settings: dict[str, str]) -> None:
        pair = self._pair(names[0], settings)
        version = int(settings.get("version", self._client_version))
        request = AddRequest(_ID, *pair, frozenset(map(_partition, names[1:])), version)
        reply = self._ask(names[0], "add", partial(self.world.add, request))
        if reply is not None:
            self._lines.append(f"{names[0]} add: {reply.name}")

    def _verify(self, names: list[str], settings: dict[str, str]) -> None:
        codes = self.world.verify(_ID, *self._pair(names[0], settings), *map(_partition, names[1:]))
        shown = (f"{topic}-{partition}={code.name}" for (topic, partition), code in codes.items())
        self._lines.append(f"{names[0]} verify: {' '.join(shown)}")

    def _commit(self, names: list[str], settings: dict[str, str]) -> None:
        self._end("commit", names[0], settings)

    def _abort(self, names: list[str], settings: dict[str, str]) -> None:
        self._end("abort", names[0], settings)

    def _end(self, verb: str, name: str, settings: dict[str, str]) -> None:
        version = int(settings.get("version", self._client_version))
        request = EndRequest(_ID, *self._pair(name, settings), verb == "commit", version)
        reply = self._ask(name, verb, partial(self.world.end, request))
        if reply is None:
            return
        if version < 2:
            self._lines.append(f"{name} {verb}: {reply.error.name}")
        else:
            self._show_pair(name, verb, reply)

    # What happens besides

    def _finish(self, names: list[str], settings: dict[str, str]) -> None:
        self.world.finish()
        for _, marker in self.world.markers[self._seen_markers :]:
            kind = "COMMIT" if marker.is_commit else "ABORT"
            self._lines.append(f"markers: {kind} {marker.producer_id}/{marker.producer_epoch}")
        self._seen_markers = len(self.world.markers)

    def _sweep(self, names: list[str], settings: dict[str, str]) -> None:
        self.world.sweep()

    def _time(self, names: list[str], settings: dict[str, str]) -> None:
        self.world.clock.advance(int(names[0]))

    def _crash(self, names: list[str], settings: dict[str, str]) -> None:
        self.world.crash()

    def _feature(self, names: list[str], settings: dict[str, str]) -> None:
        self.world.transaction_version = int(names[0])

    def _protocol(self, names: list[str], settings: dict[str, str]) -> None:
        self._client_version = int(names[0])

    def _config(self, names: list[str], settings: dict[str, str]) -> None:
        changes: dict[str, Any] = {key: int(value) for key, value in settings.items()}
        self.world.config = self.world.config._replace(**changes)

    def _refuse(self, names: list[str], settings: dict[str, str]) -> None:
        self.world.topic.refuse_with = ErrorCode[names[0]]

    def _accept(self, names: list[str], settings: dict[str, str]) -> None:
        self.world.topic.refuse_with = None

    def _no_ids(self, names: list[str], settings: dict[str, str]) -> None:
        self.world.may_allocate = False

    def _ids(self, names: list[str], settings: dict[str, str]) -> None:
        self.world.may_allocate = True

    def _found(self, names: list[str], settings: dict[str, str]) -> None:
        start_ms = settings.pop("start", None)
        found: dict[str, Any] = {key: int(value) for key, value in settings.items() if key != "state"}
        partitions = frozenset(map(_partition, names))
        txn = TransactionMetadata(
            **{
                "transactional_id": _ID,
                "state": TransactionState(settings.get("state", "Empty")),
                "partitions": partitions,
                "timeout_ms": _TIMEOUT_MS,
                "start_timestamp_ms": -1 if start_ms is None else self._begin_ms + int(start_ms),
                "last_update_timestamp_ms": self._begin_ms,
                **found,
            }
        )
        self.world.write(txn)

    def _state(self, names: list[str], settings: dict[str, str]) -> None:
        txn = self.world.transaction(_ID)
        self._lines.append("state: " + ("nobody uses this id" if txn is None else self._shown(txn)))

    # Telling

    def _pair(self, name: str, settings: dict[str, str]) -> tuple[int, int]:
        producer = self._producers.setdefault(name, _Producer())
        return int(settings.get("id", producer.id)), int(settings.get("epoch", producer.epoch))

    def _ask(self, name: str, verb: str, call: Any) -> Any:
        try:
            reply = call()
        except KafkaError as error:
            self._lines.append(f"{name} {verb}: refused {error.code.name}")
            return None
        self._show_records()
        if self._is_answer_lost:
            self._lines.append(f"{name} {verb}: the answer is lost")
            return None
        return reply

    def _show_pair(self, name: str, verb: str, reply: Any, more: str = "") -> None:
        if reply.error is not ErrorCode.NONE:
            self._lines.append(f"{name} {verb}: {reply.error.name}")
            return
        self._producers[name] = _Producer(reply.producer_id, reply.producer_epoch)
        self._lines.append(f"{name} {verb}: {reply.producer_id}/{reply.producer_epoch}{more}")

    def _show_records(self) -> None:
        written = self.world.topic.records(PARTITION)
        for raw in written[self._seen_records :]:
            record = records.decode(raw.key, raw.value)
            assert record is not None
            self._lines.append("log: " + ("removed" if record.stored is None else self._shown(record.stored)))
        self._seen_records = len(written)

    def _shown(self, txn: TransactionMetadata) -> str:
        words = [f"{txn.state.value} {txn.producer_id}/{txn.producer_epoch}"]
        words += sorted(f"{topic}-{partition}" for topic, partition in txn.partitions)
        if txn.previous_producer_id not in (-1, txn.producer_id):
            words.append(f"previous={txn.previous_producer_id}")
        if txn.next_producer_id != -1 or txn.next_producer_epoch != -1:
            words.append(f"next={txn.next_producer_id}/{txn.next_producer_epoch}")
        if txn.start_timestamp_ms != -1:
            words.append(f"start={txn.start_timestamp_ms - self._begin_ms}")
        if txn.last_update_timestamp_ms != self._begin_ms:
            words.append(f"updated={txn.last_update_timestamp_ms - self._begin_ms}")
        if txn.timeout_ms != _TIMEOUT_MS:
            words.append(f"timeout={txn.timeout_ms}")
        if txn.client_transaction_version:
            words.append(f"tv={txn.client_transaction_version}")
        return " ".join(words)


def _partition(name: str) -> TopicPartition:
    topic, _, partition = name.rpartition("-")
    return topic, int(partition)
