"""The programs of a play, for any client: transactional producers over several lives, and an idempotent one.

What a client raises is not checked here: a transaction that fails is aborted, a producer that cannot continue
is left, with what it has open, for a new one with the same transactional id. The rules look at what then holds.
"""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable

from tests.simulation.history import history
from tests.simulation.history.history import Outcome
from tests.support.histories.clients import INPUT, PATIENCE_S, STEP_S, Client, ClientError
from tests.support.histories.notes import Notes


class Life:
    """One producer, from its beginning to its end. `transactional_id` None: it is idempotent only."""

    def __init__(self, notes: Notes, client: Client, name: str, transactional_id: str | None) -> None:
        """Returns when the producer can be used: whatever an older one of its id had open is aborted then."""
        self._notes = notes
        self.incarnation = notes.new_life(name, transactional_id)
        self._pause = threading.Event()  # never set
        self._numbers = itertools.count(1)
        self._transaction: history.Transaction | None = None
        self._unanswered: set[history.Send] = set()
        self._producer = client.new_producer(transactional_id)
        if transactional_id is not None:
            try:
                self._until_done(self._producer.init)
            except ClientError:
                self.close()
                raise
            self.incarnation.ended_us = notes.now_us()

    def begin(self) -> None:
        self._producer.begin()
        self._transaction = self._notes.new_transaction(self.incarnation, next(self._numbers))

    def send(self, at: history.TopicPartition) -> None:
        """Give it a record to write; its answer comes later."""
        send = self._notes.new_send(self.incarnation, self._transaction, at)

        def on_result(offset: int | None, error: str) -> None:
            send.ended_us = self._notes.now_us()
            send.outcome = Outcome.UNKNOWN if error else Outcome.OK
            send.error, send.offset = error, offset
            self._unanswered.discard(send)

        self._unanswered.add(send)
        try:
            self._producer.send(at, send.value, on_result)
        except ClientError as problem:
            send.outcome, send.error = Outcome.FAILED, str(problem)  # it was not taken
            raise

    def flush(self, timeout_s: float = 1.0) -> None:
        """Wait for the answers, not for long: a producer that has failed may give none."""
        self._producer.flush(timeout_s)

    @property
    def is_behind(self) -> bool:
        """Whether many records wait for the broker."""
        return len(self._unanswered) > 100

    def send_offset(self, group: str, offset: int) -> None:
        """Commit an offset of INPUT with the transaction."""
        assert self._transaction is not None
        self._until_done(lambda timeout_s: self._producer.send_offset(group, offset, timeout_s))
        self._transaction.offsets[group, *INPUT] = offset

    def end(self, *, commit: bool) -> None:
        transaction = self._transaction
        assert transaction is not None
        self._notes.ask_end(transaction, commit=commit)
        self._until_done(self._producer.commit if commit else self._producer.abort)
        self.flush()  # it may report the results of its records only now
        self._notes.answer_end(transaction)
        self._transaction = None

    def give_up(self) -> None:
        """Abort what failed. Whether a commit that failed has been done is not known, whatever becomes of its abort."""
        transaction, self._transaction = self._transaction, None
        if transaction is not None and transaction.is_commit is None:
            self._transaction = transaction
            self.end(commit=False)
        else:
            self._until_done(self._producer.abort)

    def haunt(self, at: history.TopicPartition) -> None:
        """Go on with a transaction that a newer producer of the same id has aborted: nothing of that may be done."""
        transaction = self._transaction
        assert transaction is not None
        try:
            self.send(at)
            self.flush()
            self.end(commit=True)
        except ClientError:
            transaction.outcome = Outcome.FAILED
            self._notes.refused_zombies += 1

    def close(self) -> None:
        """It is over; what it has open stays open."""
        self._producer.close()

    def _until_done(self, call: Callable[[float], None]) -> None:
        """A step that the client calls retriable is retried, for a while; then its producer is left."""
        until_us = self._notes.now_us() + STEP_S * 1_000_000
        while True:
            try:
                return call(STEP_S)
            except ClientError as problem:
                if not problem.may_try_again or self._notes.now_us() > until_us:
                    raise
            self._pause.wait(0.05)


class Transactor:
    """The program of a transactional id: transaction after transaction, life after life, until it is over."""

    def __init__(
        self,
        notes: Notes,
        client: Client,
        name: str,
        transactional_id: str,
        partitions: list[history.TopicPartition],
        positions: itertools.count[int],
        dice: random.Random,
        is_over: threading.Event,
        *,
        is_rival: bool = False,
    ) -> None:
        """`positions`: offsets for the id's group, which all programs of the id share.

        `is_rival`: it comes back now and then, each time in a new life, and so fences another program of the id.
        """
        self._is_rival = is_rival
        self._notes, self._client, self._name, self._transactional_id = notes, client, name, transactional_id
        self._partitions, self._positions, self._dice, self._is_over = partitions, positions, dice, is_over
        self._group = group_of(transactional_id)

    def run(self) -> None:
        """Its last life aborts what an earlier one left open."""
        life = self._new_life()
        while not self._is_over.is_set():
            if self._is_rival:
                self._is_over.wait(self._dice.uniform(0.2, 0.8))
                life = self._after(life, self._new_life())
            life = self._after(life, self._transaction(life))
            self._is_over.wait(self._dice.choice([0.0, 0.02, 0.1]))
        self._after(life, self._new_life()).close()

    @staticmethod
    def _after(life: Life, next_life: Life) -> Life:
        """The producer that continues; the other one is left."""
        if next_life is not life:
            life.close()
        return next_life

    def _new_life(self) -> Life:
        """Of two that begin at the same time only one gets through, and the other one begins again."""
        while True:
            try:
                return Life(self._notes, self._client, self._name, self._transactional_id)
            except ClientError:
                self._is_over.wait(0.05)

    def _transaction(self, life: Life) -> Life:
        """One of them, with any result; returns the producer of the next one."""
        try:
            life.begin()
        except ClientError:
            return self._new_life()  # it has nothing to abort, and cannot continue
        try:
            self._work(life)
            chance = self._dice.random()
            if chance < 0.05:
                return self._new_life()
            if chance < 0.15:
                life.flush()
                newer = self._new_life()
                life.haunt(self._dice.choice(self._partitions))
                return newer
            life.end(commit=self._dice.random() < 0.7)
        except ClientError:
            try:
                life.give_up()
            except ClientError:
                return self._new_life()
        return life

    def _work(self, life: Life) -> None:
        for at in self._dice.sample(self._partitions, self._dice.randint(1, len(self._partitions))):
            for _ in range(self._dice.randint(1, 4)):
                life.send(at)
        if self._dice.random() < 0.5:
            life.send_offset(self._group, next(self._positions))
        if self._dice.random() < 0.5:
            life.flush()


def group_of(transactional_id: str) -> str:
    """The group whose offsets its transactions commit."""
    return f"group-{transactional_id}"


class Idempotent:
    """The program of a producer without transactions: several batches on their way at a time."""

    def __init__(
        self,
        notes: Notes,
        client: Client,
        name: str,
        partitions: list[history.TopicPartition],
        dice: random.Random,
        is_over: threading.Event,
    ) -> None:
        self._notes, self._client, self._name = notes, client, name
        self._partitions, self._dice, self._is_over = partitions, dice, is_over

    def run(self) -> None:
        life = self._new_life()
        while not self._is_over.is_set():
            try:
                for _ in range(0 if life.is_behind else self._dice.randint(1, 5)):
                    life.send(self._dice.choice(self._partitions))
                life.flush(0)
            except ClientError:
                life.close()
                life = self._new_life()
            self._is_over.wait(self._dice.choice([0.01, 0.05]))
        life.flush(PATIENCE_S)
        life.close()

    def _new_life(self) -> Life:
        return Life(self._notes, self._client, self._name, None)
