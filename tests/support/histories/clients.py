"""What a client has to offer to take part in a play: producers, and a reader of each kind.

It knows no history: `programs.py` calls a client and notes its results. A client is either in this process
(`librdkafka_producers.py`) or in one of its own that gets its commands line by line (`remote.py`).
"""

import threading
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from tests.simulation.history.history import TopicPartition
from tests.support.histories.notes import Notes

OnResult: TypeAlias = Callable[[int | None, str], None]
"""Takes the result of a record: its offset, if known, or the name of an error."""
INPUT: TopicPartition = ("input", 0)
"""The partition whose offsets groups commit."""
PATIENCE_S = 60.0
"""For what needs the broker, also while it is restarted on a busy machine."""
STEP_S = 3.0
"""For one step of a producer: a producer that is fenced in the middle of it may never get an answer."""
TRANSACTION_TIMEOUT_MS = 20_000


class ClientError(Exception):
    """What a client raised: not what a test checks. `may_try_again`: by the client, another try may help."""

    def __init__(self, name: str, *, may_try_again: bool = False) -> None:
        super().__init__(name)
        self.may_try_again = may_try_again


class Producer(Protocol):
    """One producer of a client, used by one thread. Every call may raise a ClientError."""

    def init(self, timeout_s: float) -> None:
        """Have an id: whatever an older producer of the same transactional id had open is aborted."""

    def begin(self) -> None: ...

    def send(self, at: TopicPartition, value: bytes, on_result: OnResult) -> None:
        """Send a record; `on_result` is called later, in any thread. If this raises, the record is not sent."""

    def flush(self, timeout_s: float) -> None:
        """Wait for what becomes of its records, not longer than this, and raise nothing if that is not known then."""

    def send_offset(self, group: str, offset: int, timeout_s: float) -> None:
        """Commit an offset of INPUT with the transaction."""

    def commit(self, timeout_s: float) -> None: ...

    def abort(self, timeout_s: float) -> None: ...

    def close(self) -> None:
        """Leave it as a death would: what it has open stays open."""


class Program(Protocol):
    """What one thread of a play does, until it is over."""

    def run(self) -> None: ...


class Client(Protocol):
    """A client, over one broker."""

    def new_producer(self, transactional_id: str | None) -> Producer:
        """`transactional_id` None: it is idempotent only."""

    def new_reader(
        self,
        notes: Notes,
        name: str,
        partitions: Sequence[TopicPartition],
        is_over: threading.Event,
        *,
        is_committed: bool,
    ) -> Program:
        """Notes what it is shown of all partitions, from their beginning."""

    def close(self) -> None: ...
