"""How feature levels are changed: pure decisions for UpdateFeatures and `--feature`, and the levels that are offered.

Knows Kafka's rules, error codes and messages; writes nothing and changes nothing. The rules are those of Apache Kafka
4.4.0's controller: one feature that may not be changed refuses the whole request, of a feature named twice the last
update counts, `metadata.version` may be lowered only over levels that changed no record.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from barnabas.broker.metadata.image.framing import Versioned
from barnabas.broker.metadata.image.image import BROKER_RESOURCE, METADATA_VERSION, Image
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.log_records.catalogue import ConfigRecord, FeatureLevelRecord

TRANSACTION_VERSION = "transaction.version"
GROUP_VERSION = "group.version"
KRAFT_VERSION = "kraft.version"
ELIGIBLE_LEADER_REPLICAS_VERSION = "eligible.leader.replicas.version"
SHARE_VERSION = "share.version"
"""Share groups (KIP-932): 0 none, 1 with them, 2 with their dead-letter queues, too."""
STREAMS_VERSION = "streams.version"
"""Streams groups (KIP-1071): 0 none, 1 with them."""

OFFERED_FEATURES = {
    ELIGIBLE_LEADER_REPLICAS_VERSION: (0, 1),
    GROUP_VERSION: (0, 1),
    KRAFT_VERSION: (0, 1),
    METADATA_VERSION: (7, 33),
    SHARE_VERSION: (0, 2),
    STREAMS_VERSION: (0, 1),
    TRANSACTION_VERSION: (0, 2),
}
"""The features that have an effect here, with the supported levels. Others are added together with the code that
supports them, whatever levels an opened directory has."""

KRAFT_LEVEL = 1
"""The level of kraft.version, which has no FeatureLevelRecord: the voters are in the log from the first run on."""

NEW_LEVELS = {METADATA_VERSION: 25, GROUP_VERSION: 1, SHARE_VERSION: 2, STREAMS_VERSION: 1, TRANSACTION_VERSION: 2}
"""The levels of a new directory. 25 (4.0-IV3) is the lowest level that includes everything stored here. Groups have the
levels of Kafka 4.4; with share.version and streams.version at 0 every Kafka from 4.0 on can open the directory."""

_RECORDS_CHANGED_AT = (7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33)  # levels of metadata.version that changed records
_ELR_NEEDS_METADATA_VERSION = 23
_MIN_ISR = "min.insync.replicas"


class UpgradeType(IntEnum):
    """The direction in which a level may be changed."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    """A requested level. `upgrade_type` may be a number that Kafka does not know."""

    name: str
    level: int
    upgrade_type: int = UpgradeType.UPGRADE


def initial_records(levels: Mapping[str, int]) -> list[Stored]:
    """Return the first records of a new directory; `metadata.version` comes first, as Kafka requires."""
    return [FeatureLevelRecord(name=name, feature_level=level) for name, level in levels.items() if level]


def updates_to(levels: Mapping[str, int], held: Mapping[str, int]) -> list[FeatureUpdate]:
    """Return the updates that change features from the levels held to these levels."""
    held = {**held, KRAFT_VERSION: KRAFT_LEVEL}
    return [
        FeatureUpdate(name, level, UpgradeType.SAFE_DOWNGRADE if level < held.get(name, 0) else UpgradeType.UPGRADE)
        for name, level in levels.items()
        if level != held.get(name, 0)
    ]


def update_features(updates: Sequence[FeatureUpdate], image: Image, node_id: int, min_isr: int) -> list[Versioned]:
    """Return the records that change levels. Raise KafkaError INVALID_UPDATE_VERSION for the first invalid update.

    min_isr: the value of the broker's configuration, which is written when eligible leader replicas are switched on.
    """
    wished = {update.name: update for update in updates}
    proposed = {**image.features, **{name: update.level for name, update in wished.items()}}
    records: list[Versioned] = []
    for update in wished.values():
        why_not = _why_not(update, image, node_id, proposed)
        if why_not is not None:
            raise KafkaError(
                ErrorCode.INVALID_UPDATE_VERSION,
                f"The update failed for all features since the following feature had an error: {why_not}",
            )
        if update.name == ELIGIBLE_LEADER_REPLICAS_VERSION and update.level:
            records += _min_isr_records(image, min_isr)
        if update.name != KRAFT_VERSION:
            records.append(Versioned(FeatureLevelRecord(name=update.name, feature_level=update.level)))
    return records


def _why_not(update: FeatureUpdate, image: Image, node_id: int, proposed: Mapping[str, int]) -> str | None:
    name, level, upgrade_type = update
    invalid = f"Invalid update version {level} for feature {name}."
    current = KRAFT_LEVEL if name == KRAFT_VERSION else image.features.get(name, 0)
    low, high = OFFERED_FEATURES.get(name, (0, -1))
    if upgrade_type not in UpgradeType.__members__.values():
        return f"{invalid} The controller does not support the given upgrade type."
    if level < 0:
        return f"{invalid} A feature version cannot be less than 0."
    if high < 0:
        unknown = (
            f"Local controller {node_id} does not support this feature." if level else f"Feature {name} not found."
        )
        return f"{invalid} {unknown}"
    if not low <= level <= high:
        return f"{invalid} Local controller {node_id} only supports versions {low}-{high}"
    if level < current and upgrade_type == UpgradeType.UPGRADE:
        return (
            f"{invalid} Can't downgrade the version of this feature without setting the "
            "upgrade type to either safe or unsafe downgrade."
        )
    if level > current and upgrade_type != UpgradeType.UPGRADE:
        return f"{invalid} Can't downgrade to a newer version."
    if name == KRAFT_VERSION and level < current:
        return f"{invalid} Can't downgrade the version of this feature."
    if name == METADATA_VERSION and level < current:
        return _why_no_downgrade(current, level, upgrade_type)
    needed = _ELR_NEEDS_METADATA_VERSION
    if name == ELIGIBLE_LEADER_REPLICAS_VERSION and level and proposed.get(METADATA_VERSION, 0) < needed:
        return f"{invalid} {name} could not be set to {level} because it depends on {METADATA_VERSION} level {needed}"
    return None


def _why_no_downgrade(current: int, level: int, upgrade_type: int) -> str | None:
    """Return why `metadata.version` may not be lowered so far; None if no level in between changed a record."""
    if not any(level < changed <= current for changed in _RECORDS_CHANGED_AT):
        return None
    refused = f"Unsupported {METADATA_VERSION} downgrade from {current} to {level}."
    if upgrade_type == UpgradeType.UNSAFE_DOWNGRADE:
        return f"{refused} Unsafe metadata downgrade is not supported in this version."
    return f"{refused} Refusing to perform the requested downgrade because it might delete metadata information."


def _min_isr_records(image: Image, min_isr: int) -> list[Versioned]:
    """Return the records for ELR: `min.insync.replicas` is set for the cluster, once, and for no single broker."""
    records = []
    for (resource_type, name), configs in image.configs.items():
        if resource_type == BROKER_RESOURCE and name and _MIN_ISR in configs:
            records.append(_min_isr_record(name, None))
    if _MIN_ISR not in image.configs.get((BROKER_RESOURCE, ""), {}):
        records.insert(0, _min_isr_record("", str(min_isr)))
    return records


def _min_isr_record(broker: str, value: str | None) -> Versioned:
    return Versioned(ConfigRecord(resource_type=BROKER_RESOURCE, resource_name=broker, name=_MIN_ISR, value=value))
