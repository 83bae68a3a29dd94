"""Random lives of a transactional id: producers come and go, end twice, crash, wait too long, under either protocol.

Whatever happens: an epoch is given once and never goes back; only the holder of the newest moves anything; what was
prepared is completed the same way; an error writes nothing; every record follows legally from the one before; and
reading the log back gives the state that is live.
"""

import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.coordinator.transaction.decisions import records
from barnabas.broker.coordinator.transaction.decisions.model import (
    LAST_PRODUCER_EPOCH,
    AddRequest,
    EndReply,
    EndRequest,
    InitReply,
    InitRequest,
    TransactionConfig,
    TransactionMetadata,
)
from barnabas.broker.coordinator.transaction.decisions.states import LEGAL_TRANSITIONS, TransactionState
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.support.worlds.transaction import PARTITION, TransactionWorld

_Pair = tuple[int, int]
_NOBODY: _Pair = (-1, -1)
_CONFIG = TransactionConfig(max_timeout_ms=10_000, expiration_ms=20_000, two_phase_commit_enabled=True)


class _Life:
    """An id, its producers with what they remember, and what must be true of them."""

    def __init__(self, world: TransactionWorld, first_epoch: int) -> None:
        self.world = world
        self.pairs: list[_Pair] = [_NOBODY] * 3
        self.told: list[_Pair] = []
        """Every pair that was given out to go on with, in order."""
        self.seen_records = 0
        if first_epoch >= 0:
            world.write(
                TransactionMetadata(
                    transactional_id="x",
                    producer_id=1,
                    producer_epoch=first_epoch,
                    timeout_ms=5_000,
                    state=TransactionState.EMPTY,
                    last_update_timestamp_ms=world.clock.now_ms(),
                )
            )

    def play(self, step: tuple[str, int, int]) -> None:
        verb, who, number = step
        before = self.world.transaction()
        written = len(self.world.topic.records(PARTITION))
        try:
            reply = getattr(self, "_" + verb)(who, number)
        except KafkaError:
            assert len(self.world.topic.records(PARTITION)) == written, "what was refused is in the log"
            assert self.world.transaction() == before
            return
        error = reply if isinstance(reply, ErrorCode) else getattr(reply, "error", ErrorCode.NONE)
        if error not in (ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS):
            assert self.world.transaction() is before, f"{verb} answered {error.name} and changed something"
        self._check_log()
        self._check_replay()

    # What producers and the world do

    def _init(self, who: int, number: int) -> InitReply:
        known = self.pairs[who] if number % 3 == 0 else _NOBODY
        enable_2pc, keep = number % 5 == 0, number % 7 < 3
        before = self.world.transaction()
        reply = self.world.initialise(InitRequest("x", 1 + number * 100, *known, enable_2pc, keep))
        if reply.error is ErrorCode.NONE:
            self._hear(who, (reply.producer_id, reply.producer_epoch), is_retry=known != _NOBODY)
            if reply.ongoing_producer_id != -1:
                assert before is not None
                assert (reply.ongoing_producer_id, reply.ongoing_producer_epoch) == (
                    before.producer_id,
                    before.producer_epoch,
                )
        return reply

    def _lost_init(self, who: int, number: int) -> InitReply:
        remembered = list(self.pairs)
        reply = self._init(who, number)
        self.pairs = remembered
        return reply

    def _add(self, who: int, number: int) -> ErrorCode:
        before = self.world.transaction()
        code = self.world.add(AddRequest("x", *self.pairs[who], frozenset({("t", number % 4)}), number % 2 * 2))
        if code is ErrorCode.NONE:
            assert before is not None
            assert self.pairs[who] == (before.producer_id, before.producer_epoch)
        return code

    def _end(self, who: int, number: int) -> EndReply:
        before = self.world.transaction()
        version = 0 if number % 3 == 0 else 2
        reply = self.world.end(EndRequest("x", *self.pairs[who], number % 2 == 0, version))
        if reply.error is ErrorCode.NONE:
            assert before is not None
            has_moved = self.world.transaction() is not before
            if has_moved:
                assert self.pairs[who] == before.holder, "somebody ended a transaction that was not theirs"
            if version == 2 and number % 4:
                self._hear(who, (reply.producer_id, reply.producer_epoch), is_retry=not has_moved)
        return reply

    def _finish(self, who: int, number: int) -> None:
        self.world.finish()

    def _time(self, who: int, number: int) -> None:
        self.world.clock.advance((0, 1, 999, 5_000, 20_000)[number % 5])
        self.world.sweep()

    def _crash(self, who: int, number: int) -> None:
        self.world.crash()

    def _disk(self, who: int, number: int) -> None:
        self.world.topic.refuse_with = ErrorCode.KAFKA_STORAGE_ERROR if number % 4 == 0 else None

    def _ids(self, who: int, number: int) -> None:
        self.world.may_allocate = number % 4 != 0

    def _feature(self, who: int, number: int) -> None:
        self.world.transaction_version = 1 + number % 2

    # What must be true

    def _hear(self, who: int, pair: _Pair, *, is_retry: bool) -> None:
        producer_id, producer_epoch = pair
        assert 0 <= producer_epoch < LAST_PRODUCER_EPOCH
        same_id = [epoch for told_id, epoch in self.told if told_id == producer_id]
        if same_id:
            assert self.told[-1][0] == producer_id, "a producer id came back"
            assert producer_epoch > max(same_id) or (is_retry and producer_epoch == max(same_id))
        self.told.append(pair)
        self.pairs[who] = pair

    def _check_log(self) -> None:
        written = self.world.topic.records(PARTITION)
        stored = [decoded.stored for raw in written if (decoded := records.decode(raw.key, raw.value)) is not None]
        for before, after in pairwise(stored[max(self.seen_records - 1, 0) :]):
            if before is None:
                assert after is not None
                assert (after.state, after.producer_epoch) == (TransactionState.EMPTY, 0)
                continue
            assert (before.state, TransactionState.DEAD if after is None else after.state) in LEGAL_TRANSITIONS
            if after is not None and after.producer_id == before.producer_id:
                assert after.producer_epoch >= before.producer_epoch
        self.seen_records = len(stored)

    def _check_replay(self) -> None:
        """What a crash would leave: all but the epoch for lost answers."""
        live = self.world.transaction()
        world = self.world
        other = type(world.machine)(lambda: 2)
        for raw in world.topic.records(PARTITION):
            record = other.decode(raw.key, raw.value)
            assert record is not None
            other.replay(record, raw.offset)
        expected = None if live is None else live._replace(last_producer_epoch=-1)
        found = other.transaction("x")
        assert (None if found is None else found._replace(last_producer_epoch=-1)) == expected
        assert other.prepared() == sorted(set(world.prepared))

    def end(self) -> None:
        """All is well again: somebody new begins, and everybody else is fenced."""
        self.world.topic.refuse_with = None
        self.world.may_allocate = True
        self.world.finish()
        reply = self.world.initialise(InitRequest("x", 1_000))
        if reply.error is ErrorCode.CONCURRENT_TRANSACTIONS:
            self.world.finish()
            reply = self.world.initialise(InitRequest("x", 1_000))
        assert reply.error is ErrorCode.NONE
        assert (reply.producer_id, reply.producer_epoch) not in self.told
        for pair in self.told:
            code = self.world.add(AddRequest("x", *pair, frozenset({("t", 0)}), 2))
            assert code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING)


_VERBS = ["init"] * 4 + ["add"] * 8 + ["end"] * 7 + ["finish"] * 6
_VERBS += ["lost_init", "time", "time", "crash", "disk", "ids", "feature"]
_STEPS: Any = st.lists(st.tuples(st.sampled_from(_VERBS), st.integers(0, 2), st.integers(0, 99)), max_size=60)
_FIRST_EPOCHS = (-1, 0, 32_760, 32_764, 32_765, 32_766)


@given(_STEPS, st.sampled_from(_FIRST_EPOCHS))
def test_no_life_of_an_id_breaks_its_promises(steps: list[tuple[str, int, int]], first_epoch: int) -> None:
    with TransactionWorld(_CONFIG) as world:
        life = _Life(world, first_epoch)
        for step in steps:
            life.play(step)
        life.end()


@pytest.mark.parametrize("seed", range(30))
def test_no_long_life_does_either(seed: int) -> None:
    """Not for shrinking, but for depth: hundreds of steps of one life."""
    _live_long(seed)


@pytest.mark.long
def test_no_life_of_hundreds_does() -> None:
    for seed in range(30, 330):
        _live_long(seed)


def _live_long(seed: int) -> None:
    dice = random.Random(seed)
    with TransactionWorld(_CONFIG) as world:
        life = _Life(world, dice.choice(_FIRST_EPOCHS))
        for _ in range(dice.randrange(100, 250)):
            life.play((dice.choice(_VERBS), dice.randrange(3), dice.randrange(100)))
        life.end()
