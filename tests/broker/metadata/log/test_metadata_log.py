"""Reading the catalogue's log: torn tails are cut, corruption is refused, segments and snapshots are put together."""

import errno
from collections.abc import Sequence
from contextlib import suppress

import pytest

from barnabas.broker.metadata.catalogue import CatalogueError
from barnabas.broker.metadata.image.framing import Versioned, encode_record
from barnabas.broker.metadata.image.node_identity import NodeIdentity
from barnabas.broker.metadata.log.quorum import Quorum
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.errors import DecodeError, KafkaError
from barnabas.protocol.files import quorum_state
from barnabas.protocol.files.checkpoints import decode_offsets
from barnabas.protocol.files.names import CATALOGUE_END
from barnabas.protocol.files.quorum_state import QuorumState
from barnabas.protocol.log_records.catalogue import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    TopicRecord,
)
from barnabas.protocol.records.batch import HEADER_SIZE, iter_batches
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.control import control_batch
from barnabas.protocol.records.record import iter_records
from tests.support.worlds.catalogue import LOG, CatalogueWorld, state_of

DIRECTORY = LOG.rpartition("/")[0]
END = f"{DIRECTORY}/{CATALOGUE_END}"


@pytest.fixture
def world() -> CatalogueWorld:
    world = CatalogueWorld()
    world.catalogue.create_topic("a")
    world.catalogue.create_topic("b")
    return world


def _write(world: CatalogueWorld, path: str, data: bytes) -> None:
    file = world.files.open(path, create=True)
    file.truncate(0)
    file.pwrite(data, 0)
    file.sync()
    world.files.sync_directory(DIRECTORY)


def _noted(world: CatalogueWorld) -> bytes:
    noted = world.files.peek(END)
    assert noted is not None
    return noted


def _batch(world: CatalogueWorld, records: Sequence[Stored], *, offset: int | None = None, epoch: int = 9) -> bytes:
    last = world.records()[-1][0]
    rows = [NewRecord(None, encode_record(Versioned(record)), (), 0) for record in records]
    return bytes(build_batch(rows, base_offset=last + 1 if offset is None else offset, leader_epoch=epoch))


@pytest.mark.parametrize("cut", [1, HEADER_SIZE - 1, HEADER_SIZE, HEADER_SIZE + 7])
def test_a_torn_tail_is_cut_off_and_its_offsets_are_used_again(world: CatalogueWorld, cut: int) -> None:
    whole = world.log()
    before = state_of(world.catalogue)
    torn = _batch(world, [TopicRecord(name="torn", topic_id=bytes(16))])
    _write(world, LOG, whole + torn[:cut])
    assert state_of(world.start()) == before
    assert world.log() == whole
    world.catalogue.create_topic("c")
    assert set(world.kill().topics) == {"a", "b", "c"}
    offsets = [offset for offset, _, _ in world.records()]
    assert offsets == list(range(len(offsets)))


@pytest.mark.parametrize("damage", ["zeros behind the last batch", "a flipped bit in the last batch"])
def test_trailing_bytes_without_a_batch_are_a_torn_tail(world: CatalogueWorld, damage: str) -> None:
    whole, is_flipped = world.log(), damage.startswith("a flipped bit")
    _write(world, LOG, whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:] if is_flipped else whole + bytes(700))
    assert set(world.start().topics) == ({"a"} if is_flipped else {"a", "b"})
    assert is_flipped or world.log() == whole


def test_after_a_clean_stop_there_is_no_torn_tail(world: CatalogueWorld) -> None:
    whole = world.log()
    for damaged in (whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:], whole[:-1], whole + bytes(700)):
        _write(world, LOG, damaged)
        with pytest.raises(CatalogueError, match="stopped cleanly: restore the file, or remove"):
            world.start(was_clean=True)
        assert world.log() == damaged, "what is refused is left as it is"
    _write(world, LOG, whole)
    assert set(world.start(was_clean=True).topics) == {"a", "b"}


def test_half_a_change_that_was_cut_off_before_a_clean_stop_does_not_come_back_in_a_power_cut() -> None:
    for seed in range(20):
        world = CatalogueWorld(seed)
        world.catalogue.create_topic("a")
        world.stop()
        world.files.fail("pwrite", errno.ENOSPC, path=LOG, short=20)
        with pytest.raises(KafkaError, match="could not be stored"):
            world.catalogue.create_topic("b")
        world.files.heal()
        world.catalogue.close()
        world.files.crash("some")
        assert set(world.start(was_clean=True).topics) == {"a"}


def test_a_log_that_was_cut_anywhere_after_a_clean_stop_is_refused_and_left_as_it_is(world: CatalogueWorld) -> None:
    world.stop()
    whole = world.log()
    ends = [position + header.size_in_bytes for position, header in iter_batches(whole)]
    assert len(ends) > 3
    for was_clean in (True, False):  # nothing was changed since: a kill of a later run is no excuse
        for size in range(len(whole)):
            _write(world, LOG, whole[:size])
            says = (
                "ended at [0-9]+ when the broker was last stopped cleanly"
                if size in (0, *ends)
                else "is damaged at byte"
            )
            with pytest.raises(CatalogueError, match=says):
                world.start(was_clean=was_clean)
            assert world.log() == whole[:size]
    _write(world, LOG, whole)
    assert set(world.start().topics) == {"a", "b"}


def test_changes_after_a_clean_stop_may_be_torn_but_not_those_before(world: CatalogueWorld) -> None:
    world.stop()
    before = len(world.log())
    world.catalogue.create_topic("later")
    after = world.log()
    _write(world, LOG, after[:-1])
    assert set(world.start().topics) == {"a", "b"}
    assert before <= len(world.log()) < len(after)


def test_the_end_is_noted_at_a_clean_stop(world: CatalogueWorld) -> None:
    assert world.files.peek(END) is None
    world.stop()
    assert decode_offsets(_noted(world)) == {("__cluster_metadata", 0): world.records()[-1][0] + 1}


def test_a_damaged_note_of_the_end_is_refused_by_name_unless_it_says_the_same(world: CatalogueWorld) -> None:
    world.stop()
    noted = _noted(world)
    said = decode_offsets(noted)
    refused = 0
    flipped = [
        noted[: bit // 8] + bytes([noted[bit // 8] ^ 1 << bit % 8]) + noted[bit // 8 + 1 :]
        for bit in range(len(noted) * 8)
    ]
    for damaged in (*flipped, *(noted[:size] for size in range(1, len(noted)))):
        _write(world, END, damaged)
        with suppress(DecodeError):  # then the start refuses it, too
            if decode_offsets(damaged).items() >= said.items():
                continue
        with pytest.raises(CatalogueError, match=END):
            world.start()
        refused += 1
    assert refused > len(flipped) / 2


def test_without_the_note_of_the_end_nothing_is_missed(world: CatalogueWorld) -> None:
    world.stop()
    whole = world.log()
    *_, (last, _) = iter_batches(whole)
    _write(world, LOG, whole[:last])
    with pytest.raises(CatalogueError, match=f"or remove {END} to continue"):
        world.start()
    world.files.remove(END)
    world.start()


@pytest.mark.parametrize("position", [9, 16, 20, 70, 200])
def test_damage_with_good_batches_behind_it_is_refused(world: CatalogueWorld, position: int) -> None:
    data = bytearray(world.log())
    data[position] ^= 0x40
    _write(world, LOG, bytes(data))
    with pytest.raises(CatalogueError, match="valid batches follow, so this is not a torn tail"):
        world.start()
    assert world.log() == data, "what is refused is left as it is"


def test_a_missing_segment_is_refused(world: CatalogueWorld) -> None:
    _write(world, f"{DIRECTORY}/00000000000000000900.log", b"")
    with pytest.raises(CatalogueError, match="are missing"):
        world.start()
    world.files.remove(LOG)
    with pytest.raises(CatalogueError, match="begins at offset 900 and no snapshot reaches that far"):
        world.start()
    _write(world, f"{DIRECTORY}/00000000000000000950.log", b"")
    with pytest.raises(CatalogueError, match="begins at offset 900 and no snapshot reaches that far"):
        world.start()


def test_a_log_in_several_segments_is_one_log(world: CatalogueWorld) -> None:
    before = state_of(world.catalogue)
    end = world.records()[-1][0] + 1
    _write(world, f"{DIRECTORY}/{end:020d}.log", _batch(world, [TopicRecord(name="c", topic_id=bytes(16))]))
    catalogue = world.start()
    assert set(catalogue.topics) == {"a", "b", "c"}
    assert state_of(catalogue)["topics"]["a"] == before["topics"]["a"]
    catalogue.delete_topics(["c"])
    catalogue.create_topic("d")
    assert set(world.kill().topics) == {"a", "b", "d"}


def test_a_snapshot_stands_for_the_log_before_it(world: CatalogueWorld) -> None:
    before = state_of(world.catalogue)
    data, end = world.log(), world.records()[-1][0] + 1
    _write(world, f"{DIRECTORY}/{end:020d}-0000000001.checkpoint", data)  # the same records, numbered from zero
    assert state_of(world.start()) == before, "the log before it is passed over"
    world.files.remove(LOG)
    assert state_of(world.start()) == before, "and may be gone"
    world.catalogue.create_topic("c")
    assert world.files.stat(f"{DIRECTORY}/{end:020d}.log").size > 0
    assert set(world.kill().topics) == {"a", "b", "c"}


def test_a_damaged_snapshot_is_refused(world: CatalogueWorld) -> None:
    data = bytearray(world.log())
    data[-3] ^= 1
    _write(world, f"{DIRECTORY}/00000000000000000005-0000000001.checkpoint", bytes(data))
    with pytest.raises(CatalogueError, match="is damaged at byte"):
        world.start()


@pytest.mark.parametrize(
    ("end", "there"), [(EndTransactionRecord(), {"a", "b", "c"}), (AbortTransactionRecord(), {"a", "b"})]
)
def test_records_in_a_transaction_count_when_it_ends_well(world: CatalogueWorld, end: Stored, there: set[str]) -> None:
    held = [BeginTransactionRecord(name="x"), TopicRecord(name="c", topic_id=bytes(16)), end]
    _write(world, LOG, world.log() + _batch(world, held))
    assert set(world.start().topics) == there


def test_a_transaction_a_killed_kafka_left_open_is_aborted_before_the_next_change(world: CatalogueWorld) -> None:
    held = [BeginTransactionRecord(), TopicRecord(name="c", topic_id=bytes(16))]
    _write(world, LOG, world.log() + _batch(world, held))
    assert set(world.start().topics) == {"a", "b"}
    world.catalogue.create_topic("c")
    kinds = [type(record).__name__ for _, _, record in world.records()[-5:]]
    assert kinds == ["TopicRecord", "ControlRecordType", "AbortTransactionRecord", "TopicRecord", "PartitionRecord"]
    assert set(world.kill().topics) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ([BeginTransactionRecord(), BeginTransactionRecord()], "BeginTransactionRecord inside a transaction"),
        ([EndTransactionRecord()], "EndTransactionRecord without a transaction"),
        ([AbortTransactionRecord()], "AbortTransactionRecord without a transaction"),
        ([TopicRecord(name="a", topic_id=bytes(16))], "topic a .or its id. exists already"),
        ([ProducerIdsRecord(broker_id=1, next_producer_id=0)], "does not rise above 0"),
        ([FeatureLevelRecord(name="metadata.version", feature_level=34)], "this version knows 7 to 33"),
    ],
)
def test_an_unreplayable_record_is_reported_with_its_offset(
    world: CatalogueWorld, records: list[Stored], why: str
) -> None:
    offset = world.records()[-1][0] + len(records)
    _write(world, LOG, world.log() + _batch(world, records))
    with pytest.raises(CatalogueError, match=f"offset {offset}: .*{why}"):
        world.start()


def test_a_new_run_has_a_higher_epoch_than_log_and_quorum_state(world: CatalogueWorld) -> None:
    world.stop()
    world.catalogue.create_topic("c")
    assert world.records()[-1][1] == 2
    world.stop()
    _write(world, f"{DIRECTORY}/quorum-state", quorum_state.encode(QuorumState(1, 40)))
    world.start().create_topic("d")
    assert world.records()[-1][1] == 41
    world.stop()
    state = world.files.open(f"{DIRECTORY}/quorum-state", read_only=True)
    assert quorum_state.decode(state.pread(state.size(), 0)) == QuorumState(1, 41)


@pytest.mark.parametrize("voters", [(1, 2), (100,), (100, 101)])
def test_a_directory_of_other_voters_is_refused(world: CatalogueWorld, voters: tuple[int, ...]) -> None:
    state = QuorumState(1, 1, data_version=0, voters=voters)
    _write(world, f"{DIRECTORY}/quorum-state", quorum_state.encode(state))
    with pytest.raises(CatalogueError, match="not a single node"):
        world.start()


def test_the_directory_of_another_node_is_refused(world: CatalogueWorld) -> None:
    world.directory_id = bytes(range(1, 17))
    with pytest.raises(CatalogueError, match="the voters in this directory's catalogue are node 1 in directory"):
        world.start()


def _told_by(*leaders: NodeIdentity, with_voters: bool) -> Quorum:
    """What node 1 learns from the epochs of these leaders, each the only voter of its time."""
    quorum = Quorum(NodeIdentity(1, bytes(range(16))))
    for leader in leaders:
        opening = Quorum(leader).leader_change(with_voters=with_voters)
        for record in iter_records(memoryview(control_batch(opening, timestamp_ms=0))):
            quorum.observe(record)
    return quorum


@pytest.mark.parametrize("with_voters", [False, True])
def test_the_last_voters_count(with_voters: bool) -> None:
    """A cluster that was shrunk to one node is that node's, and a node that left is no cluster."""
    mine, other = NodeIdentity(1, bytes(range(16))), NodeIdentity(2, bytes(range(1, 17)))
    _told_by(other, mine, with_voters=with_voters).check()
    with pytest.raises(CatalogueError, match=r"catalogue are (the nodes|node) 2"):
        _told_by(mine, other, with_voters=with_voters).check()
