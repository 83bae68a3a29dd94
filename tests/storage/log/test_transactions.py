"""Transactions on one partition: the last stable offset, markers and their fences, the transaction index."""

import errno

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.files.txn_index import AbortedTxn, decode
from barnabas.protocol.records.batch import BatchHeader, parse_header
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.config import LogConfig
from barnabas.storage.errors import StorageError
from barnabas.storage.producers.producer_state_entry import ProducerState
from barnabas.storage.producers.producer_state_manager import PRODUCER_EPOCH_MAX
from barnabas.storage.recovery import log_loader
from barnabas.storage.recovery.producer_state_rebuild import ProducerRebuild
from barnabas.storage.refusals import AppendRefused
from tests.support.worlds.log import START_MS, LogWorld, open_world

PID = 7
OTHER = 8


def begin(world: LogWorld, producer_id: int = PID, *, epoch: int = 0, sequence: int = 0) -> int:
    """One record inside a transaction; its offset."""
    return world.append(
        b"t", producer_id=producer_id, epoch=epoch, sequence=sequence, transactional=True, produce_version=11
    ).base_offset


def index_of(world: LogWorld, base_offset: int = 0) -> list[AbortedTxn]:
    """The transaction index of a segment, as it is on the disk after a flush."""
    world.flush()
    return decode(world.files.open(f"{world.path}/{base_offset:020d}.txnindex").pread(1 << 20, 0))


def test_an_open_transaction_holds_back_committed_readers(world: LogWorld) -> None:
    world.append(b"before")
    world.append(b"a", producer_id=PID, epoch=0, sequence=0, transactional=True)
    world.append(b"after")
    assert world.log.last_stable_offset == 1
    assert world.values(committed=True) == [b"before"]
    result = world.mark(PID, 0, commit=True)
    assert result.base_offset == 3
    assert world.log.last_stable_offset == 4
    assert world.values(committed=True) == [b"before", b"a", b"after"]


def test_an_aborted_transaction_is_read_by_the_uncommitted_alone(world: LogWorld) -> None:
    world.append(b"a", producer_id=PID, epoch=0, sequence=0, transactional=True)
    world.append(b"b", producer_id=8, epoch=0, sequence=0, transactional=True)
    world.mark(PID, 0, commit=False)
    world.mark(8, 0, commit=True)
    assert world.values() == [b"a", b"b"]
    assert world.values(committed=True) == [b"b"]
    result = world.log.read(0, 1 << 20, committed=True, force_first_batch=True)
    assert result.aborted == [(PID, 0)]
    assert world.log.read(0, 1 << 20, committed=False, force_first_batch=True).aborted is None


def test_with_two_replicas_required_a_marker_does_not_free_what_is_above_the_high_watermark() -> None:
    world = open_world(min_insync_replicas=2)
    world.append(b"a", producer_id=PID, epoch=0, sequence=0, transactional=True)
    world.mark(PID, 0, commit=True)
    assert world.log.last_stable_offset == world.log.high_watermark == 0
    world.log.config = LogConfig()
    assert world.log.last_stable_offset == world.log.high_watermark == 2


def test_markers_are_fenced(world: LogWorld) -> None:
    world.append(b"a", producer_id=PID, epoch=2, sequence=0, transactional=True)
    world.mark(PID, 2, commit=True, coordinator_epoch=5)
    with pytest.raises(AppendRefused, match="INVALID_PRODUCER_EPOCH"):
        world.mark(PID, 1, commit=True, coordinator_epoch=5)
    with pytest.raises(AppendRefused, match="TRANSACTION_COORDINATOR_FENCED"):
        world.mark(PID, 2, commit=True, coordinator_epoch=4)
    assert world.log.log_end_offset == 2


# --- markers of transaction.version 2: KIP-1228 ---


def test_a_marker_of_version_2_carries_the_epoch_after_the_transactions(world: LogWorld) -> None:
    begin(world, epoch=3)
    with pytest.raises(AppendRefused) as refused:
        world.mark(PID, 3, commit=True, transaction_version=2)
    assert refused.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    world.mark(PID, 4, commit=True, transaction_version=2)
    assert world.log.last_stable_offset == world.log.high_watermark == 2
    assert world.log.producers_state() == [ProducerState(PID, 4, -1, START_MS, 0, -1)]


def test_it_may_be_written_again_while_nothing_is_open_and_completes_nothing_then(world: LogWorld) -> None:
    begin(world)
    world.mark(PID, 1, commit=False, transaction_version=2)
    world.mark(PID, 1, commit=False, transaction_version=2)
    assert index_of(world) == [AbortedTxn(PID, 0, 1, 2)]
    begin(world, epoch=1)
    with pytest.raises(AppendRefused, match="INVALID_PRODUCER_EPOCH"):
        world.mark(PID, 1, commit=False, transaction_version=2)
    assert world.log.has_open_transaction(PID, 1)


def test_the_last_epoch_there_is_ends_its_own_transaction(world: LogWorld) -> None:
    begin(world, epoch=PRODUCER_EPOCH_MAX)
    world.mark(PID, PRODUCER_EPOCH_MAX, commit=True, transaction_version=2)
    assert world.log.last_stable_offset == 2


def test_markers_of_the_older_versions_keep_the_epoch(world: LogWorld) -> None:
    for version in (0, 1):
        begin(world, sequence=version)
        world.mark(PID, 0, commit=True, transaction_version=version)
    assert world.log.last_stable_offset == world.log.high_watermark == 4


# --- held ---


def test_a_held_transaction_is_over_but_not_shown_until_it_is_released(world: LogWorld) -> None:
    begin(world)
    world.mark(PID, 0, commit=True, hold=True)
    world.append(b"later")
    assert not world.log.has_open_transaction(PID, 0)
    assert (world.log.last_stable_offset, world.log.high_watermark) == (0, 3)
    world.log.release_marker(PID)
    assert world.log.last_stable_offset == 3


def test_a_release_shows_no_more_than_its_own_transaction(world: LogWorld) -> None:
    begin(world)
    begin(world, OTHER)
    world.mark(OTHER, 0, commit=True, hold=True)
    world.mark(PID, 0, commit=True, hold=True)
    world.log.release_marker(OTHER)
    assert world.log.last_stable_offset == 0
    world.log.release_marker(PID)
    assert world.log.last_stable_offset == 4
    world.log.release_marker(PID)
    assert world.log.last_stable_offset == 4


def test_the_transaction_after_a_held_one_is_open_on_its_own(world: LogWorld) -> None:
    begin(world)
    world.mark(PID, 0, commit=False, hold=True)
    begin(world, sequence=1)
    world.log.release_marker(PID)
    assert world.log.last_stable_offset == 2
    assert world.log.has_open_transaction(PID, 0)
    assert index_of(world) == [AbortedTxn(PID, 0, 1, 2)]


def test_with_two_replicas_required_a_release_does_not_free_what_is_above_the_high_watermark() -> None:
    world = open_world(min_insync_replicas=2)
    begin(world)
    world.mark(PID, 0, commit=True, hold=True)
    world.log.release_marker(PID)
    assert world.log.last_stable_offset == 0
    world.log.config = LogConfig()
    assert world.log.last_stable_offset == 2


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_nothing_is_held_after_a_restart(world: LogWorld, how: str) -> None:
    begin(world)
    begin(world, OTHER)
    world.mark(PID, 0, commit=True, hold=True)
    world.restart(how)  # type: ignore[arg-type]  # because parametrize gives plain strings
    assert world.log.last_stable_offset == 1
    world.mark(OTHER, 0, commit=True)
    assert world.log.last_stable_offset == 4


# --- what bounds the beginning ---


def test_deleting_records_of_an_open_transaction_leaves_the_rest_of_it_undecided(world: LogWorld) -> None:
    begin(world)
    begin(world, sequence=1)
    world.append(b"after")
    assert world.log.delete_records_before(2) == 2
    assert world.log.last_stable_offset == 2
    world.append(b"later")
    assert world.log.last_stable_offset == 2, "an append does not show what is not decided"
    assert world.values(committed=True) == []
    world.mark(PID, 0, commit=False)
    assert world.values(committed=True) == [b"after", b"later"]


def test_a_marker_whose_index_cannot_be_read_is_not_written(world: LogWorld) -> None:
    """After a clean start the index of aborted transactions is read when the first ABORT comes."""
    begin(world)
    world.restart("stop")
    world.files.fail("open", errno.EMFILE, path=".txnindex")

    with pytest.raises(StorageError):
        world.mark(PID, 0, commit=False)
    assert world.log.log_end_offset == 1
    assert world.log.size == len(world.files.peek(f"{world.path}/{0:020d}.log") or b"")

    world.files.heal()
    assert world.mark(PID, 0, commit=False).base_offset == 1
    assert world.append(b"after").base_offset == 2
    world.restart("stop")
    assert world.findings() == []
    assert world.values(committed=True) == [b"after"]


def test_retention_waits_for_an_open_transaction_whose_commit_then_shows_all_of_it() -> None:
    world = open_world(segment_bytes=200, retention_ms=1_000, values=[b"before"])
    for sequence in range(4):
        begin(world, sequence=sequence)
    world.now_ms += 10_000
    world.log.apply_retention(world.now_ms)
    assert world.log.log_start_offset <= 1, "the record before it may go, none of its own"
    world.restart("kill")
    world.log.apply_retention(world.now_ms)
    world.mark(PID, 0, commit=True)
    assert [value for value in world.values(committed=True) if value != b"before"] == [b"t"] * 4
    world.log.apply_retention(world.now_ms + 10_000)
    assert world.log.log_start_offset == world.log.log_end_offset, "nothing holds it any more"


# --- the first batch of a transaction ---


def code_of(world: LogWorld, sequence: int, *, produce_version: int) -> ErrorCode:
    with pytest.raises(AppendRefused) as refused:
        world.append(
            b"t", producer_id=PID, epoch=0, sequence=sequence, transactional=True, produce_version=produce_version
        )
    return refused.value.code


def test_where_nothing_is_known_a_transaction_of_version_2_begins_with_the_first_sequence(world: LogWorld) -> None:
    assert code_of(world, 1, produce_version=12) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    world.append(b"t", producer_id=PID, epoch=0, sequence=1, transactional=True, produce_version=11)
    world.append(b"v", producer_id=OTHER, epoch=0, sequence=1, produce_version=12)


def test_no_batch_overtakes_the_one_that_was_refused_for_now(world: LogWorld) -> None:
    world.append(b"v", producer_id=OTHER, epoch=0, sequence=0)
    note_refused(world, sequence=5)
    note_refused(world, sequence=7)
    assert code_of(world, 6, produce_version=11) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    begin(world, sequence=5)
    begin(world, sequence=6)


def note_refused(world: LogWorld, *, sequence: int) -> None:
    batch = build_batch(
        [(None, b"t", (), START_MS)], producer_id=PID, producer_epoch=0, base_sequence=sequence, transactional=True
    )
    world.log.note_refused(parse_header(batch), world.now_ms)


def test_a_marker_or_a_day_lets_the_one_that_was_refused_be_forgotten(world: LogWorld) -> None:
    note_refused(world, sequence=5)
    world.log.remove_expired_producers(world.now_ms + 86_400_000, 86_400_000)
    begin(world, sequence=6)
    world.mark(PID, 0, commit=True)
    assert world.log.last_stable_offset == 2


def test_a_replay_forgets_each_transaction_as_it_ends(world: LogWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(world, OTHER)
    for number in range(200):
        begin(world, PID, epoch=number)
        world.mark(PID, number + 1, commit=bool(number % 2))
    held: list[int] = []
    replay = ProducerRebuild.replay

    def counting(rebuild: ProducerRebuild, header: BatchHeader, marker: EndTxnMarker | None) -> AbortedTxn | None:
        aborted = replay(rebuild, header, marker)
        held.append(len(rebuild.producers.unstable))
        return aborted

    monkeypatch.setattr(ProducerRebuild, "replay", counting)
    world.restart()

    assert len(held) == 401
    assert max(held) == 2, "the one that stays open, and the one replayed now"
    assert world.log.last_stable_offset == 0


def test_a_replay_remembers_what_ended_behind_the_high_watermark(world: LogWorld) -> None:
    world.append(b"a")
    world.checkpoint()
    begin(world)
    world.mark(PID, 0, commit=True)
    world.config = world.config._replace(min_insync_replicas=2)
    world.restart()
    assert (world.log.high_watermark, world.log.last_stable_offset) == (1, 1)
    assert list(world.log.producers.unstable) == [1]


@pytest.mark.parametrize("segment_bytes", [1 << 20, 600])
def test_aborted_transactions_are_written_while_a_segment_is_reread(
    segment_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = open_world(segment_bytes=segment_bytes)
    for number in range(10):
        begin(world, PID, epoch=number)
        world.mark(PID, number + 1, commit=False)
    world.append(b"after")
    monkeypatch.setattr(log_loader, "_ABORTED_HELD_MAX", 3)
    world.restart()

    files = [world.files.open(f"{world.path}/{name}") for name in world.names() if name.endswith(".txnindex")]
    written = [entry for file in files for entry in decode(file.pread(1 << 20, 0))]
    assert len(written) >= 8
    assert written == sorted(written, key=lambda entry: entry.last_offset)
    assert world.values(committed=True) == [b"after"]
    world.restart("stop")
    assert world.values(committed=True) == [b"after"]
