"""UpdateFeatures: what may be changed, what is refused with which words, and what a restart still knows.

Codes and sentences were recorded from Apache Kafka 4.4.0.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from barnabas.protocol.errors import MESSAGE_CHARS_MAX, ErrorCode
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.support.worlds.catalogue_api import CatalogueApi, versions

UP, SAFE, UNSAFE = 1, 2, 3
TRANSACTIONS, METADATA, GROUPS = "transaction.version", "metadata.version", "group.version"
KRAFT, ELIGIBLE = "kraft.version", "eligible.leader.replicas.version"
OF_GROUPS = {GROUPS: 1, "share.version": 2, "streams.version": 1}
Wish = tuple[str, int, int]


@pytest.fixture
def api() -> CatalogueApi:
    return CatalogueApi()


def update(api: CatalogueApi, *wishes: Wish, version: int = 2, validate_only: bool = False) -> Any:
    keys = [FeatureUpdateKey(feature=name, max_version_level=to, upgrade_type=kind) for name, to, kind in wishes]
    return api.ask(UpdateFeaturesRequest(feature_updates=keys, validate_only=validate_only), version)


def told(api: CatalogueApi) -> dict[str, int]:
    """What ApiVersions says of the finalized levels, without kraft.version, which never changes."""
    answer = api.ask(ApiVersionsRequest(client_software_name="a", client_software_version="1"))
    return {each.name: each.max_version_level for each in answer.finalized_features if each.name != KRAFT}


@pytest.mark.parametrize("version", versions(UpdateFeaturesRequest))
def test_a_level_is_raised_in_every_version_and_outlives_a_restart(api: CatalogueApi, version: int) -> None:
    assert update(api, (TRANSACTIONS, 0, SAFE)).error_code == ErrorCode.NONE
    answer = update(api, (TRANSACTIONS, 1, UP), version=version)
    named = [(each.feature, each.error_code) for each in answer.results]
    assert (answer.error_code, named) == (ErrorCode.NONE, [(TRANSACTIONS, 0)] if version < 2 else [])
    api.restart()
    assert told(api) == {**OF_GROUPS, METADATA: 25, TRANSACTIONS: 1}


def test_a_level_of_0_is_not_reported(api: CatalogueApi) -> None:
    assert update(api, (TRANSACTIONS, 0, UNSAFE)).error_code == ErrorCode.NONE
    assert told(api) == {**OF_GROUPS, METADATA: 25}
    assert api.services.catalogue.feature_level(TRANSACTIONS) == 0


def test_every_change_raises_the_epoch_of_the_features(api: CatalogueApi) -> None:
    before = api.services.catalogue.features_epoch
    update(api, (TRANSACTIONS, 2, UP))
    assert api.services.catalogue.features_epoch > before


@pytest.mark.parametrize(
    "wishes",
    [
        [],
        [(TRANSACTIONS, 2, UP)],
        [(TRANSACTIONS, 2, SAFE)],
        [(KRAFT, 1, UP)],
        [(METADATA, 30, UP)],
        [(METADATA, 24, SAFE)],
        [(METADATA, 24, UNSAFE)],
        [(TRANSACTIONS, 9, UP), (TRANSACTIONS, 1, SAFE)],  # named twice, the last one counts
    ],
)
def test_a_valid_change_can_be_validated_without_effect(api: CatalogueApi, wishes: Sequence[Wish]) -> None:
    before = told(api), api.services.catalogue.features_epoch
    assert update(api, *wishes, validate_only=True).error_code == ErrorCode.NONE
    assert (told(api), api.services.catalogue.features_epoch) == before
    assert update(api, *wishes).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("wishes", "sentence"),
    [
        (
            [("x.y", 1, UP)],
            "Invalid update version 1 for feature x.y. Local controller 1 does not support this feature.",
        ),
        ([("x.y", 0, UNSAFE)], "Invalid update version 0 for feature x.y. Feature x.y not found."),
        ([(TRANSACTIONS, 3, UP)], "Local controller 1 only supports versions 0-2"),
        ([(TRANSACTIONS, -1, UP)], "A feature version cannot be less than 0."),
        ([(TRANSACTIONS, 1, UP)], "without setting the upgrade type to either safe or unsafe downgrade."),
        ([(TRANSACTIONS, 1, 0)], "The controller does not support the given upgrade type."),
        ([(TRANSACTIONS, 1, 4)], "The controller does not support the given upgrade type."),
        ([(METADATA, 30, SAFE)], "Can't downgrade to a newer version."),
        ([(METADATA, 22, SAFE)], "Refusing to perform the requested downgrade because it might delete metadata"),
        ([(METADATA, 22, UNSAFE)], "Unsafe metadata downgrade is not supported in this version."),
        ([(METADATA, 34, UP)], "Local controller 1 only supports versions 7-33"),
        ([(METADATA, 0, UNSAFE)], "Local controller 1 only supports versions 7-33"),
        ([(KRAFT, 0, SAFE)], "Can't downgrade the version of this feature."),
        ([(TRANSACTIONS, 1, SAFE), ("x.y", 1, UP)], "Local controller 1 does not support this feature."),
    ],
)
def test_one_invalid_entry_refuses_the_whole_request(api: CatalogueApi, wishes: Sequence[Wish], sentence: str) -> None:
    before = told(api), api.services.catalogue.features_epoch
    answer = update(api, *wishes)
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert answer.error_message.startswith(
        "The update failed for all features since the following feature had an error:"
    )
    assert sentence in answer.error_message
    assert (told(api), api.services.catalogue.features_epoch) == before


@pytest.mark.parametrize("version", versions(UpdateFeaturesRequest))
def test_an_endless_name_is_refused_and_told_shortened(api: CatalogueApi, version: int) -> None:
    endless = "é" * 16_000  # 32,000 bytes: the wire carries it, but not with a sentence around it
    answer = update(api, (endless, 1, UP), version=version)
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert answer.error_message.endswith("éé…")
    assert len(answer.error_message) == MESSAGE_CHARS_MAX


def test_version_0_cannot_lower_a_level_whatever_it_allows(api: CatalogueApi) -> None:
    key = FeatureUpdateKey(feature=TRANSACTIONS, max_version_level=1, allow_downgrade=True)
    answer = api.ask(UpdateFeaturesRequest(feature_updates=[key]), 0)
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION


def test_eligible_leader_replicas_need_metadata_that_has_them(api: CatalogueApi) -> None:
    low = {"eligible.leader.replicas.version": 1, METADATA: 30}
    assert update(api, (METADATA, 24, SAFE)).error_code == ErrorCode.NONE
    assert update(api, *((name, level, UP) for name, level in low.items())).error_code == ErrorCode.NONE
    assert told(api) == {**low, **OF_GROUPS, TRANSACTIONS: 2}


def test_eligible_leader_replicas_write_down_the_replicas_that_must_be_in_sync(api: CatalogueApi) -> None:
    assert update(api, (ELIGIBLE, 1, UP)).error_code == ErrorCode.NONE
    assert api.services.catalogue.configs_of(4, "") == {"min.insync.replicas": "1"}
    api.services.catalogue.create_topic("a")
    api.services.catalogue.leader_epoch("a", 0)
    api.restart()
    assert told(api)[ELIGIBLE] == 1


def test_a_failing_disk_is_reported_and_nothing_is_changed(api: CatalogueApi) -> None:
    api.world.files.fail("pwrite")
    answer = update(api, (TRANSACTIONS, 1, SAFE))
    assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert told(api) == {**OF_GROUPS, METADATA: 25, TRANSACTIONS: 2}
