"""Is a stopped directory ready for a release of Apache Kafka, and what will be different there?

Combines the findings of the other modules. A problem prevents Kafka's start, or loses something; a warning is a
difference in behaviour that the operator must know before; a note is a change that needs no action.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from barnabas.broker.cli.doctor.finding import CheckResult, Level, note, ok, problem, warning
from barnabas.broker.cli.handover import open_transactions, partitions
from barnabas.broker.cli.handover.releases import RELEASES, readers, too_high, why_not
from barnabas.broker.cli.handover.stopped_directory import CATALOGUE_CHECK, Stopped, open_stopped
from barnabas.broker.metadata.cluster.topology_file import FILE_NAME
from barnabas.broker.metadata.image.features import SHARE_VERSION
from barnabas.broker.metadata.image.image import BROKER_RESOURCE, METADATA_VERSION
from barnabas.protocol.files.names import SHARE_GROUP_STATE_TOPIC

_OWN_PREFIX = "barnabas."
_CARRIED = (("user", "SCRAM credential"), ("rule", "ACL"), ("token", "delegation token"))


class HandoverReport(NamedTuple):
    """The findings for a release, and the contents; the catalogue's figures are None if it cannot be read."""

    release: str
    findings: list[CheckResult]
    facts: dict[str, Any]

    @property
    def is_ready(self) -> bool:
        """Whether Kafka can be started now."""
        return not any(each.level is Level.PROBLEM for each in self.findings)


def check(paths: Sequence[str], metadata_dir: str, release: str) -> HandoverReport:
    """Check all directories of a node. release: one of `RELEASES`."""
    stopped, findings = open_stopped(paths, metadata_dir)
    if stopped is None:
        return HandoverReport(release, findings, {})
    findings = [
        _levels(stopped, release),
        *findings,
        *partitions.examine(stopped),
        *open_transactions.examine(stopped, release),
        *_settings(stopped),
        *_quotas(stopped),
        *_queues(stopped, release),
        *_carried(stopped),
        *_nodes(stopped),
    ]
    return HandoverReport(release, findings, _facts(stopped))


def _facts(stopped: Stopped) -> dict[str, Any]:
    image = stopped.image
    return {
        "cluster_id": stopped.meta.cluster_id,
        "node_id": stopped.meta.node_id,
        "topics": len(image.topics),
        "partitions": sum(len(topic.partitions) for topic in image.topics.values()),
        "features": dict(sorted(image.features.items())),
        "opens_in": readers(image.features),
    }


def _levels(stopped: Stopped, release: str) -> CheckResult:
    levels = stopped.image.features
    refusal = why_not(levels, release)
    able = readers(levels)
    if refusal is not None:
        newer = next((each for each in able if list(RELEASES).index(each) > list(RELEASES).index(release)), None)
        lowered = too_high(levels, release)
        advice = [f"hand it over to Apache Kafka {newer}"] if newer else []
        if METADATA_VERSION not in lowered:
            flags = " ".join(f"--feature {name}={level}" for name, level in lowered.items())
            advice.append(f"start barnabas serve once with {flags}")
        return problem(CATALOGUE_CHECK, refusal, ", or ".join(advice) or "lower it with barnabas serve --feature")
    return ok(CATALOGUE_CHECK, f"its levels are known to Apache Kafka {', '.join(able)}")


def _settings(stopped: Stopped) -> list[CheckResult]:
    """Return notes on settings in the catalogue that Kafka does not know; those of the command line are not in it."""
    own = sorted(
        name
        for (kind, _), configs in stopped.image.configs.items()
        if kind == BROKER_RESOURCE
        for name in configs
        if name.startswith(_OWN_PREFIX)
    )
    found = [note("settings", f"{name} is unknown to Apache Kafka, and stays in the catalogue") for name in own]
    says = "settings from flags, environment or file of barnabas serve are not in the directory"
    return [
        *found,
        note("settings", says, "barnabas handover --properties, with the same options, prints them for Apache Kafka"),
    ]


def _carried(stopped: Stopped) -> list[CheckResult]:
    counts = ((stopped.carried.count(kind), noun) for kind, noun in _CARRIED)
    some = [f"{count} {noun}{'s' if count > 1 else ''}" for count, noun in counts if count]
    if not some:
        return []
    says = f"{', '.join(some)}: Barnabas and Apache Kafka apply them if they are configured for it"
    return [note("security", says)]


def _quotas(stopped: Stopped) -> list[CheckResult]:
    count = sum(map(len, stopped.image.quotas.values()))
    return (
        [note("quotas", f"{count} quota{'s' if count > 1 else ''} of clients: Apache Kafka applies them")]
        if count
        else []
    )


def _queues(stopped: Stopped, release: str) -> list[CheckResult]:
    """Return a warning where there were share groups that Kafka does not serve with the directory's levels."""
    if SHARE_GROUP_STATE_TOPIC not in stopped.image.topics or stopped.image.features.get(SHARE_VERSION):
        return []
    highest = RELEASES[release].get(SHARE_VERSION)
    if highest is None:
        says = f"the directory has share groups, and Apache Kafka {release} has none: their state stays there"
        return [warning("queues", says, "hand it over to Apache Kafka 4.1 or later to use them")]
    says = f"the directory has share groups, and Apache Kafka {release} refuses them until {SHARE_VERSION} is raised"
    return [warning("queues", says, f"kafka-features.sh upgrade --feature {SHARE_VERSION}={highest}")]


def _nodes(stopped: Stopped) -> list[CheckResult]:
    if not any(root.directory.exists(FILE_NAME) for root in stopped.roots):
        return []
    says = (
        f"it was used with --brokers: Kafka sees node {stopped.meta.node_id} alone, and one replica of each partition"
    )
    return [note("nodes", says, "give clients the one address")]
