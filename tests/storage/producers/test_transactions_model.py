"""Transactions of several producers on one partition against a model that remembers everything and thinks slowly.

What committed readers see, where they stop, and which transactions a fetch names as aborted, over held markers, rolled
segments, deleted records, restarts and power cuts.
"""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.worlds.log import LogWorld, open_world

PRODUCERS = (1, 2, 3)


@dataclass
class Txn:
    first_offset: int
    outcome: bool | None = None  # committed, aborted, not decided
    held: bool = False


@dataclass
class Model:
    """Every record with the transaction it belongs to."""

    log_start: int = 0
    end: int = 0
    records: list[tuple[int, bytes, Txn | None]] = field(default_factory=list)
    txns: list[tuple[int, Txn]] = field(default_factory=list)

    def open_of(self, producer_id: int) -> Txn | None:
        return next((txn for pid, txn in self.txns if pid == producer_id and txn.outcome is None), None)

    def append(self, producer_id: int, value: bytes, *, transactional: bool) -> None:
        txn = self.open_of(producer_id)
        if transactional and txn is None:
            txn = Txn(self.end)
            self.txns.append((producer_id, txn))
        self.records.append((self.end, value, txn))
        self.end += 1

    def mark(self, producer_id: int, *, commit: bool, hold: bool) -> None:
        txn = self.open_of(producer_id)
        if txn is not None:
            txn.outcome, txn.held = commit, hold
        self.end += 1

    def release(self, producer_id: int | None = None) -> None:
        for pid, txn in self.txns:
            if producer_id in (None, pid):
                txn.held = False

    def last_stable_offset(self) -> int:
        undecided = (txn.first_offset for _, txn in self.txns if txn.outcome is None or txn.held)
        return max(self.log_start, min(undecided, default=self.end))

    def seen(self, *, committed: bool) -> list[bytes]:
        bound = self.last_stable_offset() if committed else self.end
        return [
            value
            for offset, value, txn in self.records
            if self.log_start <= offset < bound and not (committed and txn is not None and txn.outcome is False)
        ]


steps = st.one_of(
    st.tuples(st.just("data"), st.sampled_from(PRODUCERS), st.booleans()),
    st.tuples(st.just("data"), st.sampled_from(PRODUCERS), st.just(True)),
    st.tuples(st.just("marker"), st.sampled_from(PRODUCERS), st.booleans(), st.booleans(), st.sampled_from((0, 2))),
    st.tuples(st.just("release"), st.sampled_from(PRODUCERS)),
    st.tuples(st.just("delete"), st.floats(0, 1)),
    st.tuples(st.just("restart"), st.sampled_from(("stop", "kill", "power"))),
)


@given(st.lists(steps, max_size=50), st.integers(0, 5))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_committed_readers_see_what_the_model_sees(script: list[tuple[Any, ...]], seed: int) -> None:
    world = open_world(seed, segment_bytes=400, index_interval_bytes=100)
    model = Model()
    epochs = dict.fromkeys(PRODUCERS, 0)
    sequences = dict.fromkeys(PRODUCERS, 0)
    for step in script:
        if step[0] == "data":
            _, producer_id, transactional = step
            transactional = transactional or model.open_of(producer_id) is not None
            value = b"%d" % model.end
            world.append(
                value,
                producer_id=producer_id,
                epoch=epochs[producer_id],
                sequence=sequences[producer_id],
                transactional=transactional,
            )
            sequences[producer_id] += 1
            model.append(producer_id, value, transactional=transactional)
        elif step[0] == "marker":
            _, producer_id, commit, hold, version = step
            if version == 2:  # the marker carries the next epoch, which the producer goes on with
                epochs[producer_id] += 1
                sequences[producer_id] = 0
            elif world.log.producers.get(producer_id) is None:
                sequences[producer_id] = 0  # the marker makes the producer known, with nothing written
            world.mark(producer_id, epochs[producer_id], commit=commit, hold=hold, transaction_version=version)
            model.mark(producer_id, commit=commit, hold=hold)
        elif step[0] == "release":
            world.log.release_marker(step[1])
            model.release(step[1])
        elif step[0] == "delete":
            model.log_start = max(model.log_start, round(step[1] * model.end))
            world.log.delete_records_before(model.log_start)
            world.log.apply_retention(world.now_ms)
        else:
            _restart(world, step[1])
            model.release()
        assert world.log.log_end_offset == model.end
        assert world.log.last_stable_offset == model.last_stable_offset()
        assert world.values() == model.seen(committed=False)
        assert world.values(committed=True) == model.seen(committed=True)


def _restart(world: LogWorld, how: str) -> None:
    if how == "power":
        world.flush()
        world.checkpoint()
        world.cut_power("nothing")
        world.open()
    else:
        if how == "kill":
            world.checkpoint()  # or a deletion of records that nobody wrote down is undone
        world.restart("stop" if how == "stop" else "kill")
