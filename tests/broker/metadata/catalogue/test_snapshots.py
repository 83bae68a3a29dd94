"""Snapshots: a clean stop writes one when the log has grown, and the next start says what the one before said."""

import errno
from typing import Any

import pytest

from barnabas.broker.metadata.image.framing import Versioned, decode_record, encode_record
from barnabas.broker.metadata.image.node_identity import NodeIdentity
from barnabas.broker.metadata.log.journal import SNAPSHOT_BYTES_MAX
from barnabas.broker.metadata.log.metadata_log import CatalogueError
from barnabas.broker.metadata.log.quorum import Quorum, snapshot_footer
from barnabas.protocol.log_records.catalogue import (
    AccessControlEntryRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    DelegationTokenRecord,
    EntityData,
    FeatureLevelRecord,
    NoOpRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.control import ControlRecordType, control_batch, parse_control_key
from barnabas.protocol.records.record import iter_records
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from tests.support.files.memory_files import PowerCut, Survival
from tests.support.worlds.catalogue import DIRECTORY, DIRECTORY_ID, NODE_ID, CatalogueWorld, state_of

USER = UserScramCredentialRecord(name="u", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096)
AT_EVERY_STOP = {"metadata.log.max.record.bytes.between.snapshots": "1"}


def content(world: CatalogueWorld, name: str) -> list[Any]:
    """The records of a snapshot, in order; of control records their types."""
    file = world.files.open(f"{DIRECTORY}/{name}", read_only=True)
    data = file.pread(file.size(), 0)
    found: list[Any] = []
    for position, header in iter_batches(data):
        assert header.base_offset == len(found)
        for record in iter_records(memoryview(data)[position:]):
            found.append(parse_control_key(record.key) if header.is_control else decode_record(record.value))
    return found


@pytest.fixture
def world() -> CatalogueWorld:
    return CatalogueWorld(settings=AT_EVERY_STOP)


def test_a_stop_behind_little_log_writes_none() -> None:
    world = CatalogueWorld()
    world.fill()
    world.stop()
    assert world.files_of_log() == ["00000000000000000000.log"]


def test_a_stop_behind_a_mebibyte_of_log_writes_one() -> None:
    world = CatalogueWorld()
    while len(world.log()) < SNAPSHOT_BYTES_MAX:
        world.catalogue.create_topic("t", 1000)
        world.catalogue.delete_topics(["t"])
    world.stop()
    assert [name for name in world.files_of_log() if name.endswith(".checkpoint")]
    assert "t" not in world.catalogue.topics


def test_the_next_start_states_what_the_one_before_said(world: CatalogueWorld) -> None:
    for _ in range(3):
        if "a" not in world.catalogue.topics:
            world.fill()
        world.catalogue.lead([("a", 1)])
        world.catalogue.close()
        before = state_of(world.catalogue)
        end_offset = world.catalogue.features_epoch
        snapshot, segment = world.files_of_log()
        assert snapshot.startswith(f"{end_offset:020d}-")
        assert segment == f"{end_offset:020d}.log"
        assert state_of(world.start()) == before
        assert world.catalogue.features_epoch == end_offset
        assert world.catalogue.allocate_producer_ids().start > 0


def test_a_snapshot_has_the_form_of_kafkas(world: CatalogueWorld) -> None:
    world.fill()
    world.catalogue.close()
    snapshot, _ = world.files_of_log()
    records = content(world, snapshot)
    kinds = ControlRecordType
    assert records[:3] == [kinds.SNAPSHOT_HEADER, kinds.KRAFT_VERSION, kinds.KRAFT_VOTERS]
    assert records[-1] == kinds.SNAPSHOT_FOOTER
    assert records[3].name == "metadata.version"
    assert [record.fenced for record in records if isinstance(record, RegisterBrokerRecord)] == [True]


def test_a_directory_that_kafka_4_4_formatted_begins_with_what_its_first_snapshot_specifies() -> None:
    world = CatalogueWorld(is_started=False)
    directory = Directory(Disk(world.files, "/d"), "/d").subdirectory("__cluster_metadata-0")
    directory.create()
    header = Quorum(NodeIdentity(NODE_ID, DIRECTORY_ID)).snapshot_header(0)
    levels = [("metadata.version", 33), ("transaction.version", 1), ("share.version", 2)]
    first = [FeatureLevelRecord(name=name, feature_level=level) for name, level in levels]
    rows = [NewRecord(None, encode_record(Versioned(record)), (), 0) for record in (*first, USER)]
    data = control_batch(header, timestamp_ms=0) + build_batch(rows, base_offset=len(header))
    data += control_batch(snapshot_footer(), timestamp_ms=0, base_offset=len(header) + len(rows))
    directory.write_atomically("00000000000000000000-0000000000.checkpoint", bytes(data))
    for _ in range(2):
        catalogue = world.start()
        assert catalogue.feature_levels == dict(levels)
        logged = [record for _, _, record in world.records()]
        assert [record for record in logged if record in (*first, USER)] == [*first, USER]
        (registered,) = [record for record in logged if isinstance(record, RegisterBrokerRecord)]
        assert (registered.broker_id, registered.broker_epoch) == (NODE_ID, catalogue.broker_epoch)
    world.fill()
    before = state_of(world.catalogue)
    assert state_of(world.kill()) == before


def test_unused_fields_are_preserved(world: CatalogueWorld) -> None:
    user = USER
    world.catalogue.journal.commit([Versioned(user), Versioned(NoOpRecord())])  # as another Kafka would
    world.kill()
    for _ in range(2):
        world.catalogue.allocate_producer_ids()
        world.stop()
        records = content(world, world.files_of_log()[0])
        assert records.count(user) == 1
        assert NoOpRecord() not in records


def rule(number: int) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=bytes([number]) * 16,
        resource_type=2,
        resource_name="a",
        pattern_type=3,
        principal="User:u",
        host="*",
        operation=3,
        permission_type=3,
    )


def quota(value: float, *, remove: bool = False, user: str | None = "u") -> ClientQuotaRecord:
    entity = [EntityData(entity_type="client-id", entity_name="c"), EntityData(entity_type="user", entity_name=user)]
    return ClientQuotaRecord(entity=entity, key="producer_byte_rate", value=value, remove=remove)


def token(expiration_timestamp: int) -> DelegationTokenRecord:
    return DelegationTokenRecord(
        owner="User:u",
        requester="User:u",
        renewers=[],
        issue_timestamp=1,
        max_timestamp=3,
        expiration_timestamp=expiration_timestamp,
        token_id="t",
    )


def controller(number: int) -> RegisterControllerRecord:
    return RegisterControllerRecord(
        controller_id=NODE_ID, incarnation_id=bytes([number]) * 16, zk_migration_ready=False, end_points=[], features=[]
    )


def test_of_what_no_image_holds_and_of_quotas_only_what_is_there_is_in_a_snapshot(world: CatalogueWorld) -> None:
    """A Kafka does not start from a snapshot with a ClearElrRecord of a topic that comes behind it."""
    there = [USER, rule(1), quota(2.0), quota(1.0, user=None), token(3), controller(2)]
    gone = [
        UserScramCredentialRecord(name="u", mechanism=2, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096),
        RemoveUserScramCredentialRecord(name="u", mechanism=2),
        rule(2),
        RemoveAccessControlEntryRecord(id=rule(2).id),
        quota(5.0, user="v"),
        quota(0.0, user="v", remove=True),
        quota(1.0),
        token(2),
        controller(1),
        ClearElrRecord(topic_name="a"),
        ClearElrRecord(topic_name=""),
    ]
    world.fill()
    world.catalogue.journal.commit([Versioned(record) for record in (*gone, *there)])  # as another Kafka would
    world.kill()
    for _ in range(2):
        world.catalogue.allocate_producer_ids()
        world.stop()
        records = content(world, world.files_of_log()[0])
        assert [record for record in records if record in there] == sorted(there, key=records.index)
        assert [record for record in records if record in gone] == []
        assert sum(records.count(record) for record in there) == len(there)


def test_the_directory_of_a_cluster_with_another_controller_is_refused() -> None:
    world = CatalogueWorld()
    other = controller(1)
    other.controller_id = NODE_ID + 1
    world.catalogue.journal.commit([Versioned(other)])
    with pytest.raises(CatalogueError, match="controller 2 is registered in the log of node 1"):
        world.kill()


@pytest.mark.parametrize("are_apart", [False, True])
def test_a_partition_without_a_leader_has_its_replica_in_sync_or_eligible(
    world: CatalogueWorld, are_apart: bool
) -> None:
    level = FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=int(are_apart))
    world.catalogue.journal.commit(
        [Versioned(FeatureLevelRecord(name="metadata.version", feature_level=30)), Versioned(level)]
    )
    world.fill()
    world.catalogue.close()
    partitions = [record for record in content(world, world.files_of_log()[0]) if isinstance(record, PartitionRecord)]
    assert len(partitions) == 3
    for record in partitions:
        assert record.leader == -1
        assert (record.isr, record.eligible_leader_replicas) == (([], [1]) if are_apart else ([1], None))


def test_a_full_disk_leaves_the_log_and_a_clean_stop(world: CatalogueWorld) -> None:
    world.fill()
    world.files.fail("pwrite", errno.ENOSPC, path=".checkpoint")
    world.catalogue.close()
    world.files.heal()
    before = state_of(world.catalogue)
    assert world.files_of_log() == ["00000000000000000000.log"]
    assert state_of(world.start()) == before


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("survival", ["nothing", "some", "everything"])
def test_a_power_cut_at_any_moment_of_the_stop_loses_nothing(survival: Survival, torn: bool) -> None:
    def stopped(cut: int | None) -> tuple[CatalogueWorld, int]:
        """Two stops with snapshots, the power cut before change `cut` in the second; how many changes there were."""
        world = CatalogueWorld(settings=AT_EVERY_STOP)
        world.fill()
        world.stop()
        world.catalogue.lead([("a", 1)])
        world.files.cut_power_at(cut)
        try:
            world.catalogue.close()
        except PowerCut:
            assert cut is not None
        world.files.cut_power_at(None)
        return world, world.files.changes_made

    whole, last = stopped(None)
    expected = state_of(whole.catalogue)
    for cut in range(first_change_of_the_second_stop(), last):
        world, _ = stopped(cut)
        found = state_of(world.cut_power(survival, torn=torn))
        assert found["topics"].keys() == expected["topics"].keys()
        assert found | {"topics": None} == expected | {"topics": None}
        world.catalogue.create_topic("afterwards")
        assert "afterwards" in world.stop().topics


def first_change_of_the_second_stop() -> int:
    world = CatalogueWorld(settings=AT_EVERY_STOP)
    world.fill()
    world.stop()
    world.catalogue.lead([("a", 1)])
    return world.files.changes_made
