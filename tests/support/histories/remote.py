"""Clients of other languages: programs that get commands, line by line, and report the results.

A program has producers and readers, each with a number and a thread. A line to it begins with the number
and has its command, with tabs between the words. A line from it is JSON: `of` is the number, and

* `done` ends a command: empty, or the name of an error; `again` is whether by the client trying again
  may help. `init`, `begin`, `flush`, `offset`, `commit` and `abort` are answered so, and have the milliseconds that
  they may take behind their name. `open`, `send`, `read` and `close` are not answered.
* `sent` is the value of a record whose fate is known: `offset`, or the name of an `error`.
* `shown` is what one poll of a reader showed: by topic and partition the `records` (offset, value), and how far
  the partition could be read, as far as the client reported: `stable` and `high`.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tests.simulation.history.history import TopicPartition
from tests.support.histories.clients import INPUT, PATIENCE_S, TRANSACTION_TIMEOUT_MS, ClientError, OnResult
from tests.support.histories.notes import Notes

_GRACE_S = 20.0
"""For an answer that is late on a busy machine: the program itself looks at the time that a call has."""


class Remote:
    """The client that runs in the process of `command`, over the broker at `address`."""

    def __init__(self, command: Sequence[str], address: str) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._hearers: dict[int, Callable[[dict[str, Any]], None]] = {}
        self.has_ended = False
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def new_producer(self, transactional_id: str | None) -> RemoteProducer:
        return RemoteProducer(self, self._address, transactional_id)

    def new_reader(
        self,
        notes: Notes,
        name: str,
        partitions: Sequence[TopicPartition],
        is_over: threading.Event,
        *,
        is_committed: bool,
    ) -> RemoteReader:
        return RemoteReader(self, self._address, notes, name, partitions, is_over, is_committed=is_committed)

    def new_number(self, hear: Callable[[dict[str, Any]], None]) -> int:
        """Of another producer or reader; `hear` is given its lines, in the thread that reads all of them."""
        with self._lock:
            number = len(self._hearers)
            self._hearers[number] = hear
        return number

    def tell(self, number: int, *words: object) -> None:
        assert self._process.stdin is not None
        with self._lock:
            self._process.stdin.write("\t".join(map(str, (number, *words))) + "\n")
            self._process.stdin.flush()

    def close(self) -> None:
        """End the process, and see that it had nothing to complain of."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            assert self._process.wait(PATIENCE_S) == 0
        finally:
            self._process.kill()
            self._thread.join()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        try:
            with self._process.stdout as lines:
                for line in lines:
                    message = json.loads(line)
                    self._hearers[message["of"]](message)
        finally:
            self.has_ended = True


class RemoteProducer:
    """A producer in the program."""

    def __init__(self, program: Remote, address: str, transactional_id: str | None) -> None:
        self._program = program
        self._waiting: dict[str, OnResult] = {}
        self._answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._is_left = False
        self._number = program.new_number(self._hear)
        program.tell(self._number, "open", address, transactional_id or "", TRANSACTION_TIMEOUT_MS)

    def init(self, timeout_s: float) -> None:
        self._ask(timeout_s, "init")

    def begin(self) -> None:
        self._ask(0, "begin")

    def send(self, at: TopicPartition, value: bytes, on_result: OnResult) -> None:
        self._waiting[value.decode()] = on_result
        self._program.tell(self._number, "send", *at, value.decode())

    def flush(self, timeout_s: float) -> None:
        if timeout_s > 0:
            self._ask(timeout_s, "flush")

    def send_offset(self, group: str, offset: int, timeout_s: float) -> None:
        self._ask(timeout_s, "offset", group, *INPUT, offset)

    def commit(self, timeout_s: float) -> None:
        self._ask(timeout_s, "commit")

    def abort(self, timeout_s: float) -> None:
        self._ask(timeout_s, "abort")

    def close(self) -> None:
        self._program.tell(self._number, "close")

    def _ask(self, timeout_s: float, what: str, *words: object) -> None:
        """A missing answer may come later, and would be mistaken for another's: such a producer is left."""
        if self._is_left:
            raise ClientError("it was left")
        self._program.tell(self._number, what, int(timeout_s * 1000), *words)
        try:
            answer = self._answers.get(timeout=timeout_s + _GRACE_S)
        except queue.Empty:
            assert not self._program.has_ended, "the program has ended"
            self._is_left = True
            raise ClientError(f"{what}: no answer") from None
        if answer["done"]:
            raise ClientError(answer["done"], may_try_again=answer["again"])

    def _hear(self, message: dict[str, Any]) -> None:
        if "sent" not in message:
            self._answers.put(message)
            return
        offset, error = message["offset"], message["error"]
        on_result = self._waiting.pop(message["sent"])
        on_result(offset if not error and offset >= 0 else None, error)


class RemoteReader:
    """A reader in the program; what it is shown is noted as it comes."""

    def __init__(
        self,
        program: Remote,
        address: str,
        notes: Notes,
        name: str,
        partitions: Sequence[TopicPartition],
        is_over: threading.Event,
        *,
        is_committed: bool,
    ) -> None:
        self._program, self._address, self._notes, self._name = program, address, notes, name
        self._partitions, self._is_over, self._is_committed = partitions, is_over, is_committed
        self._positions = dict.fromkeys(partitions, 0)
        self._polls = 0
        self._last_us = notes.now_us()

    def run(self) -> None:
        topic, count = self._partitions[0][0], len(self._partitions)
        kind = "read_committed" if self._is_committed else "read_uncommitted"
        number = self._program.new_number(self._hear)
        self._program.tell(number, "read", self._address, kind, topic, count)
        self._is_over.wait()
        self._program.tell(number, "close")

    def _hear(self, message: dict[str, Any]) -> None:
        """All of a message is of one moment, which lies between the last one and now."""
        self._polls += 1
        began_us, self._last_us = self._last_us, self._notes.now_us()
        for shown in message["shown"]:
            at = shown["topic"], shown["partition"]
            records = [(offset, value.encode()) for offset, value in shown["records"]]
            self._notes.new_poll(
                self._positions,
                at,
                records,
                (shown["stable"], shown["high"]),
                client=self._name,
                is_committed=self._is_committed,
                times_us=(began_us, self._last_us),
                fetch=self._polls,
            )
