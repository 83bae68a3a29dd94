"""What `barnabas handover --check` finds in a stopped directory; looking changes nothing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from barnabas.broker.cli.doctor.finding import Level
from barnabas.broker.cli.handover.check import HandoverReport, check
from barnabas.broker.coordinator.transaction.decisions.model import (
    NO_TIMEOUT_MS,
    TransactionMetadata,
    TransactionStored,
)
from barnabas.broker.coordinator.transaction.decisions.records import encode
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.metadata.catalogue import Catalogue
from barnabas.broker.metadata.image.framing import Versioned, encode_record
from barnabas.protocol.files.checkpoints import encode_leader_epochs, encode_offsets, encode_partition_metadata
from barnabas.protocol.files.meta_properties import MetaProperties, decode
from barnabas.protocol.files.meta_properties import encode as encode_meta
from barnabas.protocol.files.names import CLEAN_SHUTDOWN, SHARE_GROUP_STATE_TOPIC
from barnabas.protocol.log_records.catalogue import (
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    UserScramCredentialRecord,
)
from barnabas.protocol.records.builder import NewRecord, build_batch
from tests.support.files.data_directory import CLUSTER_METADATA, locked, open_catalogue, snapshot, write_partition

LOG = "00000000000000000000.log"


class Left:
    """A directory that a broker has left, after `catalogue` was closed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.catalogue: Catalogue = open_catalogue(path)
        self.catalogue.create_topic("t", 2)
        write_partition(path, self.catalogue, "t", 0, [b"x"])
        write_partition(path, self.catalogue, "t", 1, [b"y"])

    def stopped(self, *, cleanly: bool = True) -> Left:
        self.catalogue.close()
        if cleanly:
            (self.path / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
        return self

    def checked(self, release: str = "4.4", *others: Path) -> HandoverReport:
        before = snapshot(self.path)
        report = check([str(self.path), *map(str, others)], str(self.path), release)
        assert snapshot(self.path) == before
        return report

    def problem(self) -> str:
        """The only problem there is."""
        report = self.checked()
        assert not report.is_ready
        (found,) = [each for each in report.findings if each.level is Level.PROBLEM]
        return found.text


def said(report: HandoverReport, of: str) -> list[str]:
    return [each.text for each in report.findings if each.check == of]


@pytest.fixture
def left(tmp_path: Path) -> Left:
    return Left(tmp_path / "data")


def test_a_directory_that_was_stopped_cleanly_is_ready(left: Left) -> None:
    report = left.stopped().checked()
    assert report.is_ready
    assert [each.level for each in report.findings] == [Level.OK, Level.NOTE], "levels, and that flags are not in it"
    assert (report.facts["topics"], report.facts["partitions"]) == (1, 2)
    assert report.facts["opens_in"] == ["4.4"]


def test_one_that_was_killed_is_ready_and_told_so(left: Left) -> None:
    report = left.stopped(cleanly=False).checked()
    assert report.is_ready
    assert len(said(report, "stop")) == 1


def test_a_torn_last_change_is_reported_and_left_as_it_is(left: Left) -> None:
    left.stopped()
    with (left.path / CLUSTER_METADATA / LOG).open("ab") as log:
        log.write(b"\0" * 30)
    assert not left.checked().is_ready, "after a clean stop nothing is torn: it is damage"
    (left.path / CLEAN_SHUTDOWN).unlink()
    report = left.checked()
    assert report.is_ready
    assert "the last change is incomplete" in said(report, "catalogue")[-1]


def test_levels_that_a_release_does_not_know_are_a_problem_for_it_alone(left: Left) -> None:
    left.catalogue.journal.commit([Versioned(FeatureLevelRecord(name="metadata.version", feature_level=33))])
    left.stopped()
    assert left.checked("4.4").is_ready
    report = left.checked("4.3")
    assert not report.is_ready
    (says,) = said(report, "catalogue")
    assert says == "metadata.version is at level 33, and Apache Kafka 4.3 knows it up to 30"
    assert report.findings[0].advice == "hand it over to Apache Kafka 4.4"


def test_levels_of_groups_can_be_lowered_for_an_older_release(left: Left) -> None:
    left.stopped()
    assert [left.checked(release).findings[0].advice for release in ("4.3", "4.0")] == [
        "hand it over to Apache Kafka 4.4, or start barnabas serve once with --feature share.version=1",
        "hand it over to Apache Kafka 4.4, "
        "or start barnabas serve once with --feature share.version=0 --feature streams.version=0",
    ]


def test_a_directory_without_meta_properties_is_none(tmp_path: Path) -> None:
    report = check([str(tmp_path)], str(tmp_path), "4.4")
    assert not report.is_ready
    assert "not a data directory" in report.findings[0].text


def test_a_directory_in_use_is_not_looked_at(left: Left) -> None:
    left.stopped()
    (left.path / ".lock").touch()
    with locked(left.path) as pid:
        assert f"in use by process {pid}" in left.problem()


def test_a_directory_that_is_no_partition_is_named(left: Left) -> None:
    (left.stopped().path / "lost+found").mkdir()
    assert "lost+found" in left.problem()


@pytest.mark.parametrize("what", ["missing", "of another topic"])
def test_directories_that_kafka_would_set_aside_are_a_problem(left: Left, what: str) -> None:
    path = left.stopped().path / "t-1" / "partition.metadata"
    if what == "missing":
        path.unlink()
    else:
        path.write_bytes(encode_partition_metadata(bytes(range(16))))
    assert "t-1 aside as -stray" in left.problem()


def test_a_leader_epoch_missing_in_the_catalogue_is_a_problem(left: Left) -> None:
    (left.stopped().path / "t-1" / "leader-epoch-checkpoint").write_bytes(encode_leader_epochs([(0, 0), (7, 1)]))
    assert left.problem().startswith("t-1 has leader epoch 7, the catalogue only")


def test_a_used_partition_without_a_directory_is_a_warning_and_an_unused_one_a_note(left: Left) -> None:
    left.catalogue.create_topic("unused", 7)
    left.stopped()
    shutil.rmtree(left.path / "t-1")
    (left.path / "replication-offset-checkpoint").write_bytes(encode_offsets({("t", 0): 1, ("t", 1): 1}))
    report = left.checked()
    assert report.is_ready
    used, unused = said(report, "partitions")
    assert used.startswith("t-1 has records by the checkpoints, but no directory")
    assert "unused-4 and 2 more are without records" in unused


@pytest.mark.parametrize(
    ("suffix", "what"),
    [
        ("delete", "remains from a deletion: Apache Kafka removes it"),
        ("future", "a copy of a move that did not finish"),
    ],
)
def test_leftovers_of_a_move_or_a_deletion_are_a_note(left: Left, suffix: str, what: str) -> None:
    name = f"t-1.{'0' * 32}-{suffix}"
    shutil.copytree(left.stopped().path / "t-1", left.path / name)
    report = left.checked()
    assert report.is_ready
    (note,) = said(report, "partitions")
    assert name in note
    assert what in note


def test_a_partition_in_a_directory_that_was_not_named_is_a_problem(left: Left) -> None:
    elsewhere = PartitionChangeRecord(
        partition_id=1, topic_id=left.catalogue.topics["t"].topic_id, directories=[bytes(range(1, 17))]
    )
    left.catalogue.journal.commit([Versioned(elsewhere, 2)])
    left.stopped()
    (left.path / "t-1").rename(left.path.parent / "t-1")
    assert left.problem() == "t-1 is in a data directory that was not given"


def test_directories_of_two_nodes_do_not_belong_together(left: Left, tmp_path: Path) -> None:
    left.stopped()
    other = tmp_path / "other"
    other.mkdir()
    mine = decode((left.path / "meta.properties").read_bytes())
    for meta, says in (
        (MetaProperties(mine.cluster_id, 2, os.urandom(16)), "belongs to another cluster or node"),
        (mine, "is a copy of the other"),
    ):
        (other / "meta.properties").write_bytes(encode_meta(meta))
        report = left.checked("4.4", other)
        assert not report.is_ready
        assert says in report.findings[0].text


def test_a_cluster_of_several_is_refused_by_name(left: Left) -> None:
    other = RegisterBrokerRecord(
        broker_id=2, incarnation_id=bytes(16), broker_epoch=5, end_points=[], features=[], rack=None
    )
    left.catalogue.journal._log.append(  # past the image, which would refuse it
        build_batch(
            [NewRecord(None, encode_record(Versioned(other, 3)), (), 0)],
            base_offset=left.catalogue.journal.end_offset,
            leader_epoch=left.catalogue.journal.epoch,
        )
    )
    assert "broker 2 is registered in the log of node 1" in left.problem()


def test_settings_without_effect_are_counted(left: Left) -> None:
    users = [
        UserScramCredentialRecord(name=name, mechanism=1, salt=b"", stored_key=b"", server_key=b"", iterations=4096)
        for name in ("u", "v", "u")
    ]
    left.catalogue.journal.commit([Versioned(user) for user in users])
    (says,) = said(left.stopped().checked(), "security")
    assert says.startswith("2 SCRAM credentials: Barnabas and Apache Kafka apply them if")


@pytest.mark.parametrize(
    ("release", "level", "says"),
    [
        (
            "4.0",
            0,
            ["the directory has share groups, and Apache Kafka 4.0 has none: their state stays there"],
        ),
        ("4.4", 0, ["the directory has share groups, and Apache Kafka 4.4 refuses them until share.version is raised"]),
        ("4.4", 1, []),
    ],
)
def test_share_groups_need_their_feature_in_kafka(left: Left, release: str, level: int, says: list[str]) -> None:
    left.catalogue.create_internal_topic(SHARE_GROUP_STATE_TOPIC)
    left.catalogue.journal.commit([Versioned(FeatureLevelRecord(name="share.version", feature_level=level))])
    assert said(left.stopped().checked(release), "queues") == says


def test_findings_across_nodes_are_reported(left: Left) -> None:
    left.catalogue.journal.commit(
        [Versioned(ConfigRecord(resource_type=4, resource_name="", name="barnabas.nodes.stopped", value="2"))]
    )
    (left.stopped().path / "barnabas-nodes.json").write_text("{}")
    report = left.checked()
    assert report.is_ready
    assert said(report, "settings")[0].startswith("barnabas.nodes.stopped is unknown to Apache Kafka")
    assert said(report, "nodes") == [
        "it was used with --brokers: Kafka sees node 1 alone, and one replica of each partition"
    ]


def test_transactions_that_are_not_ended_are_reported_with_what_becomes_of_them(left: Left) -> None:
    def txn(name: str, state: TransactionState, timeout_ms: int = 60_000) -> TransactionMetadata:
        return TransactionMetadata(name, 7, 1, timeout_ms, state, last_update_timestamp_ms=1)

    ongoing = TransactionState.ONGOING
    states = [
        txn("ended", ongoing),
        txn("expired", ongoing),
        txn("open", ongoing),
        txn("two-phases", ongoing, NO_TIMEOUT_MS),
        txn("decided", TransactionState.PREPARE_COMMIT),
        txn("ended", TransactionState.COMPLETE_COMMIT),
    ]
    rows = [encode(TransactionStored(each.transactional_id, each), 2) for each in states]
    rows.append(encode(TransactionStored("expired", None), 2))
    left.catalogue.create_topic("__transaction_state", 1)
    write_partition(left.path, left.catalogue, "__transaction_state", 0, [])
    batch = build_batch([NewRecord(key, value, (), 0) for key, value in rows])
    (left.path / "__transaction_state-0" / LOG).write_bytes(batch)
    report = left.stopped().checked()
    assert report.is_ready
    decided, is_open, two_phases = [each for each in report.findings if each.check == "transactions"]
    assert "its end is decided" in decided.text
    assert is_open.text.startswith("open (producer 7, epoch 1) is open: Apache Kafka aborts it when")
    assert (two_phases.level, "in a two-phase commit" in two_phases.text) == (Level.WARNING, True)


def test_a_damaged_transaction_log_is_a_warning(left: Left) -> None:
    left.catalogue.create_topic("__transaction_state", 1)
    write_partition(left.path, left.catalogue, "__transaction_state", 0, [b"a record without a key"])
    report = left.stopped().checked()
    assert "cannot be read" in said(report, "transactions")[0]
