"""The history that programs with stock clients write together, each in its own thread.

It is the history of the simulation (`tests/simulation/history/history.py`), in microseconds of this process's
monotonic clock.
A request's time is taken before the client is called, an answer's time after the client has returned: what the rules
conclude from them is therefore never too much. What the client does not report stays unknown.
"""

import threading
import time
from collections.abc import Callable

from tests.simulation.history.history import (
    Event,
    History,
    Incarnation,
    Outcome,
    Poll,
    Send,
    TopicPartition,
    Transaction,
)


class Notes:
    """A history that grows, and waiting for it to grow."""

    def __init__(self) -> None:
        self.history = History()
        self.boots = 1
        """How many processes of the broker there have been."""
        self.ends_asked = 0
        self.ends_answered = 0
        self.refused_zombies = 0
        self.failures: list[str] = []
        self._changed = threading.Condition()

    @staticmethod
    def now_us() -> int:
        return time.monotonic_ns() // 1000

    def event(self, text: str) -> None:
        """Something was done to the broker."""
        self.history.events.append(Event(text, self.now_us()))

    def new_life(self, client: str, transactional_id: str | None) -> Incarnation:
        incarnation = Incarnation(client, transactional_id, self.now_us())
        self.history.incarnations.append(incarnation)
        return incarnation

    def new_transaction(self, incarnation: Incarnation, number: int) -> Transaction:
        transaction = Transaction(incarnation, number, self.now_us())
        self.history.transactions.append(transaction)
        return transaction

    def new_send(self, incarnation: Incarnation, transaction: Transaction | None, at: TopicPartition) -> Send:
        """A record with a unique value, which is about to be sent."""
        value = f"{incarnation.client}.{len(self.history.sends)}".encode()
        send = Send(incarnation, transaction, at, value, -1, self.now_us())
        self.history.sends.append(send)
        if transaction is not None:
            transaction.sends.append(send)
        return send

    def new_poll(
        self,
        positions: dict[TopicPartition, int],
        at: TopicPartition,
        records: list[tuple[int, bytes]],
        ends: tuple[int, int],
        *,
        client: str,
        is_committed: bool,
        times_us: tuple[int, int],
        fetch: int,
    ) -> None:
        """What a client was shown, and its position moved past it; ends: last stable offset and high watermark."""
        start = positions[at]
        positions[at] = records[-1][0] + 1 if records else start
        poll = Poll(
            client=client,
            is_committed=is_committed,
            at=at,
            began_us=times_us[0],
            ended_us=times_us[1],
            boot=self.boots,
            fetch=fetch,
            from_offset=start,
            next_offset=positions[at],
            records=records,
            log_start_offset=0,
            last_stable_offset=ends[0],
            high_watermark=ends[1],
        )
        self.history.polls.append(poll)

    def ask_end(self, transaction: Transaction, *, commit: bool) -> None:
        """Note that the client is about to be called for the end; waiting tests continue first."""
        with self._changed:
            transaction.is_commit, transaction.outcome = commit, Outcome.UNKNOWN
            transaction.end_asked_us = self.now_us()
            self.ends_asked += 1
            self._changed.notify_all()

    def answer_end(self, transaction: Transaction) -> None:
        """The client has reported that it is done."""
        with self._changed:
            transaction.outcome, transaction.end_answered_us = Outcome.OK, self.now_us()
            self.ends_answered += 1
            self._changed.notify_all()

    def fail(self, what: str) -> None:
        """A program cannot continue: a fault of the test, since what a client raises is expected."""
        with self._changed:
            self.failures.append(what)
            self._changed.notify_all()

    def wait(self, is_so: Callable[[], bool], timeout_s: float) -> None:
        """Wait until the counts of requested and answered ends satisfy `is_so`. AssertionError when too late."""
        with self._changed:
            in_time = self._changed.wait_for(lambda: self.failures or is_so(), timeout_s)
        assert not self.failures, self.failures
        assert in_time, f"{self.ends_asked} ends requested, {self.ends_answered} answered, no more in {timeout_s:.0f} s"

    def close(self) -> None:
        """Everybody is gone: what has no answer never gets one."""
        entries: list[Send | Transaction] = [*self.history.sends, *self.history.transactions]
        for entry in entries:
            if entry.outcome is Outcome.OPEN:
                entry.outcome = Outcome.UNKNOWN
