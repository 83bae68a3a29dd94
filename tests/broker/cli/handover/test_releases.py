"""Which releases of Apache Kafka read which levels."""

import pytest

from barnabas.broker.cli.handover.releases import NEWEST, RELEASES, readers, release_of, why_not
from barnabas.broker.metadata.image.features import NEW_LEVELS
from barnabas.broker.metadata.image.image import SUPPORTED_FEATURES


def test_every_kafka_from_4_0_on_reads_a_directory_that_began_here() -> None:
    assert readers(NEW_LEVELS) == list(RELEASES)


def test_the_newest_release_reads_all_that_is_read_here() -> None:
    highest = {name: high for name, (_, high) in SUPPORTED_FEATURES.items() if name != "kraft.version"}
    assert RELEASES[NEWEST] == highest


@pytest.mark.parametrize(
    ("levels", "release", "says"),
    [
        ({"metadata.version": 26}, "4.0", "metadata.version is at level 26, and Apache Kafka 4.0 knows it up to 25"),
        ({"share.version": 1}, "4.0", "share.version is at level 1, and Apache Kafka 4.0 does not know it"),
        ({"share.version": 2, "metadata.version": 33}, "4.3", "metadata.version is at level 33, and Apache Kafka 4.3"),
        ({"share.version": 2, "metadata.version": 30}, "4.3", "share.version is at level 2, and Apache Kafka 4.3"),
    ],
)
def test_the_first_level_that_a_release_does_not_know_is_named(levels: dict[str, int], release: str, says: str) -> None:
    found = why_not(levels, release)
    assert found is not None
    assert found.startswith(says)


@pytest.mark.parametrize(
    ("version", "release"), [("4.3.1", "4.3"), ("4.4", "4.4"), ("4", None), ("3.9.2", None), ("", None)]
)
def test_a_version_is_of_a_release(version: str, release: str | None) -> None:
    assert release_of(version) == release
