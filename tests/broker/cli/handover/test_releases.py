"""Which releases of Apache Kafka read which levels."""

import pytest

from barnabas.broker.cli.handover.releases import NEWEST, RELEASES, readers, release_of, why_not
from barnabas.broker.metadata.image.features import NEW_LEVELS, SHARE_VERSION, STREAMS_VERSION
from barnabas.broker.metadata.image.image import SUPPORTED_FEATURES


@pytest.mark.parametrize(
    ("share_version", "streams_version", "releases"),
    [(2, 1, [NEWEST]), (1, 1, ["4.1", "4.2", "4.3", NEWEST]), (0, 0, list(RELEASES))],
)
def test_a_new_directory_is_read_by_the_releases_that_know_its_groups(
    share_version: int, streams_version: int, releases: list[str]
) -> None:
    assert readers({**NEW_LEVELS, SHARE_VERSION: share_version, STREAMS_VERSION: streams_version}) == releases


def test_a_new_directory_has_the_groups_of_the_newest_release() -> None:
    assert {name: NEW_LEVELS[name] for name in (SHARE_VERSION, STREAMS_VERSION)} == {
        SHARE_VERSION: 2,
        STREAMS_VERSION: 1,
    }


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
