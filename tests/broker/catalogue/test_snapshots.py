"""Snapshots: a clean stop writes one when the log has grown, and the next start says what the one before said."""

import errno
from typing import Any

import pytest

from barnabas.broker.catalogue.framing import Versioned, decode_record, encode_record
from barnabas.broker.catalogue.identity import Identity
from barnabas.broker.catalogue.journal import SNAPSHOT_BYTES_MAX
from barnabas.broker.catalogue.metadata_log import CatalogueError
from barnabas.broker.catalogue.quorum import Quorum, snapshot_footer
from barnabas.broker.slices import Work
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
from tests.support.worlds.catalogue import DIRECTORY_ID, NODE_ID, CatalogueWorld, state_of

DIRECTORY = "/d/__cluster_metadata-0"
USER = UserScramCredentialRecord(name="u", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096)
AT_EVERY_STOP = {"metadata.log.max.record.bytes.between.snapshots": "1"}


def names(world: CatalogueWorld) -> list[str]:
    """The snapshots and segments there are; a snapshot comes before the segment that begins at its end."""
    found = (entry.name for entry in world.files.entries(DIRECTORY))
    return sorted(name for name in found if name.endswith((".log", ".checkpoint")))


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


def fill(world: CatalogueWorld) -> None:
    """Some of everything that a catalogue holds."""
    catalogue = world.catalogue
    catalogue.create_topic("a", 3, {"retention.ms": "-1"})
    catalogue.create_topic("gone")
    catalogue.delete_topics(["gone"])
    catalogue.lead([("a", 0), ("a", 2)])
    catalogue.replace_configs(4, "", {"log.retention.ms": "5"})
    catalogue.allocate_producer_ids()


@pytest.fixture
def world() -> CatalogueWorld:
    return CatalogueWorld(settings=AT_EVERY_STOP)


def test_a_stop_behind_little_log_writes_none() -> None:
    world = CatalogueWorld()
    fill(world)
    world.stop()
    assert names(world) == ["00000000000000000000.log"]


def test_a_stop_behind_a_mebibyte_of_log_writes_one() -> None:
    world = CatalogueWorld()
    while len(world.log()) < SNAPSHOT_BYTES_MAX:
        world.catalogue.create_topic("t", 1000)
        world.catalogue.delete_topics(["t"])
    world.stop()
    assert [name for name in names(world) if name.endswith(".checkpoint")]
    assert "t" not in world.catalogue.topics


def test_the_next_start_says_what_the_one_before_said(world: CatalogueWorld) -> None:
    for _ in range(3):
        if "a" not in world.catalogue.topics:
            fill(world)
        world.catalogue.lead([("a", 1)])
        world.catalogue.close()
        before = state_of(world.catalogue)
        end_offset = world.catalogue.features_epoch
        snapshot, segment = names(world)
        assert snapshot.startswith(f"{end_offset:020d}-")
        assert segment == f"{end_offset:020d}.log"
        assert state_of(world.start()) == before
        assert world.catalogue.features_epoch == end_offset
        assert world.catalogue.allocate_producer_ids().start > 0


def test_a_snapshot_has_the_form_of_kafkas(world: CatalogueWorld) -> None:
    fill(world)
    world.catalogue.close()
    snapshot, _ = names(world)
    records = content(world, snapshot)
    kinds = ControlRecordType
    assert records[:3] == [kinds.SNAPSHOT_HEADER, kinds.KRAFT_VERSION, kinds.KRAFT_VOTERS]
    assert records[-1] == kinds.SNAPSHOT_FOOTER
    assert records[3].name == "metadata.version"
    assert [record.fenced for record in records if isinstance(record, RegisterBrokerRecord)] == [True]


def test_a_directory_that_kafka_4_4_formatted_begins_with_what_its_first_snapshot_says() -> None:
    world = CatalogueWorld(is_started=False)
    directory = Directory(Disk(world.files, "/d"), "/d").subdirectory("__cluster_metadata-0")
    directory.create()
    header = Quorum(Identity(NODE_ID, DIRECTORY_ID)).snapshot_header(0)
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
    fill(world)
    before = state_of(world.catalogue)
    assert state_of(world.kill()) == before


def test_what_means_nothing_here_is_carried_along(world: CatalogueWorld) -> None:
    user = USER
    world.catalogue._journal.commit([Versioned(user), Versioned(NoOpRecord())])  # as another Kafka would
    world.kill()
    for _ in range(2):
        world.catalogue.allocate_producer_ids()
        world.stop()
        records = content(world, names(world)[0])
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
    fill(world)
    world.catalogue._journal.commit([Versioned(record) for record in (*gone, *there)])  # as another Kafka would
    world.kill()
    for _ in range(2):
        world.catalogue.allocate_producer_ids()
        world.stop()
        records = content(world, names(world)[0])
        assert [record for record in records if record in there] == sorted(there, key=records.index)
        assert [record for record in records if record in gone] == []
        assert sum(records.count(record) for record in there) == len(there)


def test_the_directory_of_a_cluster_with_another_controller_is_refused() -> None:
    world = CatalogueWorld()
    other = controller(1)
    other.controller_id = NODE_ID + 1
    world.catalogue._journal.commit([Versioned(other)])
    with pytest.raises(CatalogueError, match="controller 2 is registered beside node 1"):
        world.kill()


@pytest.mark.parametrize("are_apart", [False, True])
def test_a_partition_nobody_leads_has_its_replica_in_sync_or_eligible(world: CatalogueWorld, are_apart: bool) -> None:
    level = FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=int(are_apart))
    world.catalogue._journal.commit(
        [Versioned(FeatureLevelRecord(name="metadata.version", feature_level=30)), Versioned(level)]
    )
    fill(world)
    world.catalogue.close()
    partitions = [record for record in content(world, names(world)[0]) if isinstance(record, PartitionRecord)]
    assert len(partitions) == 3
    for record in partitions:
        assert record.leader == -1
        assert (record.isr, record.eligible_leader_replicas) == (([], [1]) if are_apart else ([1], None))


def test_a_full_disk_leaves_the_log_and_a_clean_stop(world: CatalogueWorld) -> None:
    fill(world)
    world.files.fail("pwrite", errno.ENOSPC, path=".checkpoint")
    world.catalogue.close()
    world.files.heal()
    before = state_of(world.catalogue)
    assert names(world) == ["00000000000000000000.log"]
    assert state_of(world.start()) == before


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("survival", ["nothing", "some", "everything"])
def test_a_power_cut_at_any_moment_of_the_stop_loses_nothing(survival: Survival, torn: bool) -> None:
    def stopped(cut: int | None) -> tuple[CatalogueWorld, int]:
        """Two stops with snapshots, the power cut before change `cut` in the second; how many changes there were."""
        world = CatalogueWorld(settings=AT_EVERY_STOP)
        fill(world)
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


class Running:
    """A broker's part in it: `go_on` does what is due of a snapshot, a step at a time."""

    def __init__(self, world: CatalogueWorld) -> None:
        self.world = world
        self._steps: list[Work[None]] = []
        world.catalogue.keep_short(lambda begin: self._steps.append(begin()))

    @property
    def is_due(self) -> bool:
        return bool(self._steps)

    def go_on(self, steps_max: int = 1_000) -> int:
        """Do so many steps, or all there are; how many it were. What is for a thread is done at once."""
        for done in range(steps_max):
            if not self._steps:
                return done
            try:
                what = next(self._steps[0])
            except StopIteration:
                del self._steps[0]
            else:
                if callable(what):
                    what()
        return steps_max


def test_a_log_that_grows_is_replaced_by_a_snapshot_while_the_broker_runs(world: CatalogueWorld) -> None:
    running = Running(world)
    fill(world)
    end_offset = world.catalogue.features_epoch
    assert running.go_on() > 0
    snapshot, segment = names(world)
    assert (snapshot[:20], segment) == (f"{end_offset:020d}", f"{end_offset:020d}.log")
    assert running.go_on() == 0
    fill_more(world)
    assert running.go_on() > 0
    later, _ = names(world)
    assert later > snapshot
    before = state_of(world.catalogue)
    assert state_of(world.kill()) == before


def fill_more(world: CatalogueWorld) -> None:
    """As much as the largest snapshot there is."""
    for number in range(50):
        world.catalogue.create_topic(f"b-{number}", 3)


@pytest.mark.parametrize("steps", range(12))
def test_what_changes_while_a_snapshot_is_made_is_in_it_or_behind_it(world: CatalogueWorld, steps: int) -> None:
    running = Running(world)
    fill(world)
    running.go_on(steps)
    world.catalogue.create_topic("meanwhile", 2)
    world.catalogue.delete_topics(["a"])
    before = state_of(world.catalogue)
    assert state_of(world.kill()) == before
    running.go_on()
    assert state_of(world.kill()) == before
    assert "meanwhile" in world.catalogue.topics


def test_a_catalogue_that_always_changes_is_tried_some_times_and_then_once_it_has_grown_again() -> None:
    world = CatalogueWorld(settings={"metadata.log.max.record.bytes.between.snapshots": "3000"})
    running = Running(world)
    for tried in range(2):
        size = len(world.log())
        while not running.is_due:
            world.catalogue.allocate_producer_ids()
        assert len(world.log()) - size > 2500 * tried
        steps = 0
        while running.go_on(1):
            steps += 1
            world.catalogue.allocate_producer_ids()
        assert 1 < steps < 10
    assert names(world) == ["00000000000000000000.log"]
    while not running.is_due:
        world.catalogue.allocate_producer_ids()
    running.go_on()
    assert len(names(world)) == 2


def test_a_full_disk_leaves_the_log_and_the_next_snapshot_is_written(world: CatalogueWorld) -> None:
    running = Running(world)
    fill(world)
    world.files.fail("pwrite", errno.ENOSPC, path=".checkpoint")
    running.go_on()
    world.files.heal()
    assert not [name for name in names(world) if name.endswith(".checkpoint")]
    fill_more(world)
    running.go_on()
    assert [name for name in names(world) if name.endswith(".checkpoint")]
    before = state_of(world.catalogue)
    assert state_of(world.kill()) == before


@pytest.mark.parametrize("survival", ["nothing", "some", "everything"])
def test_a_power_cut_at_any_moment_of_a_snapshot_loses_nothing(survival: Survival) -> None:
    def run(cut: int | None) -> tuple[CatalogueWorld, int]:
        """Two snapshots while the broker runs, the power cut before change `cut`; how many changes there were."""
        world = CatalogueWorld(settings=AT_EVERY_STOP)
        running = Running(world)
        fill(world)
        before = world.files.changes_made
        world.files.cut_power_at(None if cut is None else before + cut)
        try:
            running.go_on()
            world.files.cut_power_at(None)
            fill_more(world)
            more = world.files.changes_made
            world.files.cut_power_at(None if cut is None else more + cut)
            running.go_on()
        except PowerCut:
            assert cut is not None
        world.files.cut_power_at(None)
        return world, world.files.changes_made - before

    cut = 0
    while True:
        world, _ = run(cut)
        expected = state_of(world.catalogue)
        assert state_of(world.cut_power(survival)) == expected
        if len(names(world)) == 2 and cut > 20:
            break
        cut += 1
    assert cut < 100


def first_change_of_the_second_stop() -> int:
    world = CatalogueWorld(settings=AT_EVERY_STOP)
    fill(world)
    world.stop()
    world.catalogue.lead([("a", 1)])
    return world.files.changes_made
