"""What a start would meet in a data directory; looking changes nothing."""

import os
import sys
from pathlib import Path

import pytest

from barnabas.broker.cli.doctor import directory
from barnabas.broker.cli.doctor.finding import CheckResult
from barnabas.broker.config import load_config
from barnabas.broker.config.environment import EnvironmentSettings
from barnabas.broker.metadata.image.framing import Versioned
from barnabas.broker.metadata.image.image import ReplayError
from barnabas.protocol.files import meta_properties
from barnabas.protocol.files.checkpoints import encode_offsets
from barnabas.protocol.files.names import CATALOGUE_END, CLEAN_SHUTDOWN
from barnabas.protocol.log_records.catalogue import FeatureLevelRecord
from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.disk.files import RealFiles
from tests.support.files.data_directory import locked, open_catalogue, snapshot


def examine(path: Path, cluster_id: str | None = None, **settings: str) -> list[CheckResult]:
    """The findings but the room on the disk, and a check that nothing was changed."""
    before = snapshot(path.parent)
    words = [f"log.dirs={path}", *(f"{name.replace('_', '.')}={value}" for name, value in settings.items())]
    config = load_config(settings=words, environment=EnvironmentSettings({}, {}, cluster_id)).config
    found = [each for each in directory.examine(config) if each.check != "disk"]
    assert snapshot(path.parent) == before
    return found


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A directory that a broker of cluster `blue` was stopped in cleanly."""
    path = tmp_path / "data"
    opened = LogDirectory.open(str(path), RealFiles(), node_id=1, new_id=lambda: os.urandom(16), cluster_id="blue")
    opened.close(clean=True)
    catalogue = open_catalogue(path)
    catalogue.create_topic("t", 3)
    catalogue.close()
    (path / "t-0").mkdir()
    (path / ".kafka_cleanshutdown").write_text("")
    return path


def test_a_path_where_nothing_is_becomes_a_new_cluster(tmp_path: Path) -> None:
    (found,) = examine(tmp_path / "a" / "b")
    assert (found.level, "does not exist yet" in found.text) == ("ok", True)
    (tmp_path / "empty").mkdir()
    (found,) = examine(tmp_path / "empty")
    assert (found.level, "is empty" in found.text) == ("ok", True)


def test_the_room_is_told_even_where_nothing_is(tmp_path: Path) -> None:
    config = load_config(settings=[f"log.dirs={tmp_path / 'a' / 'b'}"]).config
    assert [each.check for each in directory.examine(config)] == ["data directory", "disk"]


def test_a_directory_that_was_stopped_cleanly_is_fine_and_one_that_was_killed_is_worth_a_note(used: Path) -> None:
    (found,) = examine(used, cluster_id="blue")
    assert (found.level, found.text) == ("ok", f"{used} was stopped cleanly, with 2 partitions of cluster blue")
    (used / ".kafka_cleanshutdown").unlink()
    (found,) = examine(used)
    assert (found.level, "was not stopped cleanly" in found.text) == ("note", True)


def test_a_directory_of_another_node_or_cluster_is_reported_with_what_would_help(used: Path) -> None:
    other, _ = examine(used, node_id="7")
    assert (other.level, other.text) == ("problem", f"{used} belongs to node.id 1, and node.id is 7")
    assert other.advice == "set node.id=1, or choose another directory"
    other, _ = examine(used, cluster_id="red")
    text = f"{used} belongs to cluster blue: CLUSTER_ID has no effect"
    assert (other.level, other.text) == ("warning", text)


def test_a_directory_that_is_locked_is_reported_with_the_process_that_holds_it(used: Path) -> None:
    with locked(used) as pid:
        (found,) = examine(used)
    assert (found.level, f"is locked by process {pid} ({sys.executable}" in found.text) == ("problem", True)
    (found,) = examine(used)  # the lock is let go, though a process that is killed leaves the file
    assert found.level == "ok"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"version=0\nbroker.id=1\n", "meta.properties has version 0"),
        (b"version=1\nnode.id=1\n", "meta.properties has no cluster.id"),
        (None, "not a data directory: it has no meta.properties, but it has photo.jpg"),
    ],
)
def test_a_directory_of_something_else_is_reported(tmp_path: Path, content: bytes | None, text: str) -> None:
    path = tmp_path / "data"
    path.mkdir()
    (path / "photo.jpg").write_bytes(b"x")
    if content is not None:
        (path / "meta.properties").write_bytes(content)
    (found,) = examine(path)
    assert (found.level, text in found.text) == ("problem", True), found


def test_a_foreign_directory_among_partitions_is_reported(used: Path) -> None:
    (used / "holiday").mkdir()
    (found,) = examine(used)
    assert (found.level, "holiday" in found.text) == ("problem", True)


def test_a_catalogue_that_a_newer_version_wrote_is_reported(used: Path) -> None:
    catalogue = open_catalogue(used)
    newer = FeatureLevelRecord(name="metadata.version", feature_level=99)
    with pytest.raises(ReplayError):
        catalogue.journal.commit([Versioned(newer)])
    (found,) = examine(used)
    assert found.level == "problem"
    assert "metadata.version is at level 99: this version knows 7 to 33" in found.text
    assert found.advice is not None
    assert "newer" in found.advice


def test_a_damaged_catalogue_is_reported_and_a_torn_tail_is_only_worth_a_note(used: Path) -> None:
    segment = next(used.glob("__cluster_metadata-0/*.log"))
    data = bytearray(segment.read_bytes())
    data[-3] ^= 0xFF
    segment.write_bytes(bytes(data))
    (found,) = examine(used)
    assert (found.level, "stopped cleanly: restore the file" in found.text) == ("problem", True)
    (used / CLEAN_SHUTDOWN).unlink()
    (found,) = examine(used)
    assert (found.level, "stopped cleanly: restore the file" in found.text) == ("problem", True)
    (used / "__cluster_metadata-0" / CATALOGUE_END).unlink()
    (found,) = examine(used)
    assert (found.level, "is incomplete: the next start removes it" in found.text) == ("note", True)
    data[80] ^= 0xFF
    segment.write_bytes(bytes(data))
    (found,) = examine(used)
    assert (found.level, "damaged" in found.text) == ("problem", True), found


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"x")
    (found,) = examine(tmp_path / "data")
    assert (found.level, found.text) == ("problem", f"{tmp_path / 'data'} is a file, not a directory")


def test_the_newest_change_is_that_of_the_files_right_in_it(used: Path) -> None:
    os.utime(used / "meta.properties", (0, 4_000_000_000))
    assert directory.newest_change_s(str(used)) == 4_000_000_000
    assert directory.newest_change_s(str(used / "nothing")) is None
    assert meta_properties.decode((used / "meta.properties").read_bytes()).cluster_id == "blue"


def test_a_clock_that_was_moved_ahead_is_reported(used: Path) -> None:
    (used / "barnabas-clock-ahead").write_text("694800000\n")
    (found,) = (each for each in examine(used) if each.check == "clock")
    assert (found.level, found.text) == (
        "warning",
        f"it is 8 days, 1:00:00 ahead of the machine's clock, and stays so in {used}",
    )
    (used / "barnabas-clock-ahead").write_text("soon\n")
    (found,) = (each for each in examine(used) if each.check == "clock")
    assert found.level == "problem"


def test_partitions_that_the_cleaner_set_aside_are_reported(used: Path) -> None:
    (used / "uncleanable-partitions").write_text("orders-0 x.log: the CRC of the batch at offset 2 is wrong\n")
    (found,) = (each for each in examine(used) if each.check == "compaction")
    assert found.text == "orders-0 is not compacted any more: x.log: the CRC of the batch at offset 2 is wrong"


def test_a_partition_whose_directory_is_gone_is_a_problem_and_one_that_is_deleted_none(used: Path) -> None:
    rows = {("t", 0): 5, ("t", 1): 3, ("t", 2): 4, ("deleted", 0): 7}
    (used / "recovery-point-offset-checkpoint").write_bytes(encode_offsets(rows))
    (used / f"t-2.{bytes(16).hex()}-delete").mkdir()
    (found,) = (each for each in examine(used) if each.check == "partitions" and "t-1" in each.text)
    assert found.level == "problem"
    assert "t-1 cannot be opened" in found.text
    assert "the directory is missing, but was synced up to offset 3" in found.text
    assert "barnabas log repair" in (found.advice or "")
    assert not [each for each in examine(used) if "t-2 cannot" in each.text or "deleted-0" in each.text]
