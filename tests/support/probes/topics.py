"""Topics and configurations: made, changed, described and deleted in ways that are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protocol.messages.alter_configs import AlterableConfig as ReplacedConfig
from protocol.messages.alter_configs import AlterConfigsRequest
from protocol.messages.alter_configs import AlterConfigsResource as ReplacedResource
from protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.support.probes.wire import Target

TOPICS: dict[str, dict[str, str]] = {"m": {}, "grown": {}, "set": {}, "set2": {}, "a.b": {}}
OWN_ID = b"an unknown id !!"


def creatable(
    name: str,
    partitions: int = 1,
    replication: int = 1,
    configs: dict[str, str | None] | None = None,
    assignments: dict[int, list[int]] | None = None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=ids)
            for index, ids in (assignments or {}).items()
        ],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
    )


def _sorted(outcome: Any, *names: str) -> Any:
    """Lists whose order is that of a hash map in Kafka."""
    if isinstance(outcome, dict):
        for name in names:
            outcome[name].sort(key=str)
    return outcome


def _created(*topics: CreatableTopic, validate_only: bool = False, version: int = 7) -> Callable[[Target], Any]:
    def probe(target: Target) -> Any:
        request = CreateTopicsRequest(topics=list(topics), timeout_ms=5000, validate_only=validate_only)
        outcome = _sorted(target.ask(request, version), "topics")
        for topic in outcome["topics"]:
            topic["configs"] = None if topic["configs"] is None else "told"
        return outcome

    return probe


def _deleted(*topics: tuple[str | None, bytes], version: int = 6) -> Callable[[Target], Any]:
    return lambda target: _sorted(
        target.ask(
            DeleteTopicsRequest(
                topics=[DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in topics],
                topic_names=[name or "" for name, _ in topics],
                timeout_ms=5000,
            ),
            version,
        ),
        "responses",
    )


def _grown(*topics: tuple[str, int, list[list[int]] | None], validate_only: bool = False) -> Callable[[Target], Any]:
    return lambda target: _sorted(
        target.ask(
            CreatePartitionsRequest(
                topics=[
                    CreatePartitionsTopic(
                        name=name,
                        count=count,
                        assignments=None
                        if assigned is None
                        else [CreatePartitionsAssignment(broker_ids=ids) for ids in assigned],
                    )
                    for name, count, assigned in topics
                ],
                timeout_ms=5000,
                validate_only=validate_only,
            )
        ),
        "results",
    )


def _altered(
    *changes: tuple[int, str, list[tuple[str, int, str | None]]], validate_only: bool = False
) -> Callable[[Target], Any]:
    return lambda target: _sorted(
        target.ask(
            IncrementalAlterConfigsRequest(
                resources=[
                    AlterConfigsResource(
                        resource_type=kind,
                        resource_name=name,
                        configs=[
                            AlterableConfig(name=key, config_operation=operation, value=value)
                            for key, operation, value in configs
                        ],
                    )
                    for kind, name, configs in changes
                ],
                validate_only=validate_only,
            )
        ),
        "responses",
    )


def _replaced(*changes: tuple[int, str, dict[str, str | None]]) -> Callable[[Target], Any]:
    return lambda target: _sorted(
        target.ask(
            AlterConfigsRequest(
                resources=[
                    ReplacedResource(
                        resource_type=kind,
                        resource_name=name,
                        configs=[ReplacedConfig(name=key, value=value) for key, value in configs.items()],
                    )
                    for kind, name, configs in changes
                ],
                validate_only=False,
            )
        ),
        "responses",
    )


def _described(*resources: tuple[int, str, list[str] | None], version: int = 4, **options: bool) -> Callable[..., Any]:
    def probe(target: Target) -> Any:
        outcome = target.ask(
            DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
                    for kind, name, keys in resources
                ],
                **options,
            ),
            version,
        )
        for result in outcome["results"]:
            told = [each for each in result["configs"] if each["name"] not in _FORMATTED]
            result["configs"] = sorted(told, key=lambda each: str(each["name"]))
        return _sorted(outcome, "results")

    return probe


def _metadata(
    *topics: tuple[str | None, bytes], version: int = 12, create: bool = False, **options: bool
) -> Callable[[Target], Any]:
    return lambda target: _sorted(
        target.ask(
            MetadataRequest(
                topics=[MetadataRequestTopic(name=name, topic_id=topic_id) for name, topic_id in topics],
                allow_auto_topic_creation=create,
                **options,
            ),
            version,
        ),
        "topics",
    )


def _pages(*names: str, limit: int = 2000, cursor: Cursor | None = None) -> Callable[[Target], Any]:
    return lambda target: target.ask(
        DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in names], response_partition_limit=limit, cursor=cursor
        )
    )


_NO_ID = bytes(16)
_FORMATTED = ("min.insync.replicas",)  # Kafka's format tool sets it for the cluster
_NAMES = ("", ".", "..", "a/b", "x" * 249, "y" * 250, "a b", "ä", "__consumer_offsets", "a_b", "_ok-1.x")

PROBES: dict[str, Callable[[Target], Any]] = {
    **{f"create {name[:5]!r} of {len(name)}": _created(creatable(name)) for name in _NAMES},
    "create v2 a bad one": _created(creatable("a/b"), version=2),
    "create an existing one": _created(creatable("m")),
    "create the same twice": _created(creatable("double"), creatable("double"), creatable("single")),
    "create with defaults": _created(creatable("defaults", -1, -1)),
    "create with 0 partitions": _created(creatable("none", 0)),
    "create with -2 partitions": _created(creatable("none", -2)),
    "create with 10001 partitions": _created(creatable("none", 10001)),
    "create with replication 0": _created(creatable("none", 1, 0)),
    "create with replication -2": _created(creatable("none", 1, -2)),
    "create with replication 3": _created(creatable("none", 1, 3)),
    "create with assignments": _created(creatable("placed", -1, -1, assignments={0: [1], 1: [1]})),
    "create with assignments and a count": _created(creatable("none", 2, -1, assignments={0: [1], 1: [1]})),
    "create with assignments and a factor": _created(creatable("none", -1, 1, assignments={0: [1]})),
    "create with an unknown broker": _created(creatable("none", -1, -1, assignments={0: [7]})),
    "create with a broker twice": _created(creatable("none", -1, -1, assignments={0: [1, 1]})),
    "create with an empty assignment": _created(creatable("none", -1, -1, assignments={0: []})),
    "create with a gap in the assignments": _created(creatable("none", -1, -1, assignments={0: [1], 2: [1]})),
    "create with a negative partition": _created(creatable("none", -1, -1, assignments={-1: [1]})),
    "create with an unknown config": _created(creatable("none", configs={"no.such": "1"})),
    "create with a null config": _created(creatable("none", configs={"retention.ms": None})),
    "create with a bad value": _created(creatable("none", configs={"retention.ms": "soon"})),
    "create with a value out of range": _created(creatable("none", configs={"segment.bytes": "1"})),
    "create with a bad policy": _created(creatable("none", configs={"cleanup.policy": "burn"})),
    "create only for validation": _created(creatable("validated"), creatable("m"), validate_only=True),
    "create none": _created(),
    "delete an unknown one": _deleted(("missing", _NO_ID)),
    "delete an unknown id": _deleted((None, OWN_ID)),
    "delete neither name nor id": _deleted((None, _NO_ID)),
    "delete name and id": _deleted(("m", OWN_ID)),
    "delete the same twice": _deleted(("missing", _NO_ID), ("missing", _NO_ID)),
    "delete a bad name": _deleted(("a/b", _NO_ID), ("", _NO_ID)),
    "delete v4 an unknown one": _deleted(("missing", _NO_ID), version=4),
    "grow to fewer": _grown(("grown", 1, None)),
    "grow to as many": _grown(("grown", 3, None)),
    "grow to 0": _grown(("grown", 0, None)),
    "grow to -1": _grown(("grown", -1, None)),
    "grow an unknown one": _grown(("missing", 5, None)),
    "grow twice in a request": _grown(("grown", 4, None), ("grown", 5, None)),
    "grow with too few assignments": _grown(("grown", 6, [[1]])),
    "grow with an unknown broker": _grown(("grown", 4, [[9]])),
    "grow with two replicas": _grown(("grown", 4, [[1, 1]])),
    "grow with none": _grown(("grown", 4, [[]])),
    "grow for validation": _grown(("grown", 9, None), validate_only=True),
    "grow": _grown(("grown", 7, None)),
    "set unknown": _altered((2, "set", [("no.such", 0, "1")])),
    "set a bad value": _altered((2, "set", [("retention.ms", 0, "x")])),
    "set null": _altered((2, "set", [("retention.ms", 0, None)])),
    "set empty": _altered((2, "set", [("retention.ms", 0, "")])),
    "set by an unknown operation": _altered((2, "set", [("retention.ms", 9, "1")])),
    "append to what is no list": _altered((2, "set", [("retention.ms", 2, "1")])),
    "append and subtract": _altered((2, "set", [("cleanup.policy", 2, "compact")])),
    "subtract what is not there": _altered((2, "set2", [("cleanup.policy", 3, "compact")])),
    "delete a key that is not set": _altered((2, "set", [("retention.ms", 1, None)])),
    "a key twice": _altered((2, "set", [("retention.ms", 0, "1"), ("retention.ms", 0, "2")])),
    "a resource twice": _altered((2, "set", [("retention.ms", 0, "1")]), (2, "set", [("retention.ms", 0, "2")])),
    "an unknown topic's": _altered((2, "missing", [("retention.ms", 0, "1")])),
    "an empty topic's": _altered((2, "", [("retention.ms", 0, "1")])),
    "another broker's": _altered((4, "9", [("log.retention.ms", 0, "1")])),
    "a broker of no number": _altered((4, "one", [("log.retention.ms", 0, "1")])),
    "a read-only broker key": _altered((4, "1", [("log.dirs", 0, "/x")])),
    "an unknown resource type": _altered((99, "set", [("retention.ms", 0, "1")])),
    "one good and one bad": _altered((2, "set", [("retention.ms", 0, "5"), ("no.such", 0, "1")])),
    "set nothing": _altered((2, "set", [])),
    "set for validation": _altered((2, "set", [("retention.ms", 0, "77")]), validate_only=True),
    "replace": _replaced((2, "set2", {"retention.ms": "1000"})),
    "replace by null": _replaced((2, "set2", {"retention.ms": None})),
    "replace by unknown": _replaced((2, "set2", {"no.such": "1"})),
    "replace an unknown topic's": _replaced((2, "missing", {})),
    "what the changed topics have": _described(
        (2, "set", ["retention.ms", "cleanup.policy"]), (2, "set2", ["retention.ms", "cleanup.policy"])
    ),
    "describe with synonyms": _described((2, "m", ["segment.bytes"]), include_synonyms=True),
    "describe all of a topic": lambda target: [
        (each["name"], each["value"], each["config_type"])
        for each in _described((2, "m", None))(target)["results"][0]["configs"]
    ],
    "describe an unknown key": _described((2, "m", ["no.such"])),
    "describe no keys": _described((2, "m", [])),
    "describe an unknown topic": _described((2, "missing", None)),
    "describe a bad topic": _described((2, "a/b", None)),
    "describe a broker that is not there": _described((4, "9", None)),
    "describe a broker of no number": _described((4, "one", None)),
    "describe an unknown type": _described((77, "m", None)),
    "describe twice": _described((2, "m", ["segment.ms"]), (2, "m", ["segment.ms"])),
    "metadata of an unknown one": _metadata(("missing", _NO_ID)),
    "metadata of bad names": _metadata(("", _NO_ID), ("a/b", _NO_ID), ("..", _NO_ID)),
    "metadata of bad names, creating": _metadata(("", _NO_ID), ("a/b", _NO_ID), ("z" * 250, _NO_ID), create=True),
    "metadata of the same twice": _metadata(("m", _NO_ID), ("m", _NO_ID)),
    "metadata of an unknown id": _metadata((None, OWN_ID)),
    "metadata of a zero id": _metadata((None, _NO_ID)),
    "metadata by null name v10": _metadata((None, OWN_ID), version=10),
    "metadata by id v11": _metadata(("m", OWN_ID), version=11),
    "metadata by name and id": _metadata(("m", OWN_ID)),
    "metadata with operations v8": _metadata(
        ("m", _NO_ID), version=8, include_topic_authorized_operations=True, include_cluster_authorized_operations=True
    ),
    "metadata with operations": _metadata(("m", _NO_ID), include_topic_authorized_operations=True),
    "metadata v0": _metadata(("m", _NO_ID), version=0, create=True),
    "metadata v13": _metadata(("m", _NO_ID), version=13),
    "metadata of none": _metadata(version=4),
    "pages": _pages("m", "missing", "grown"),
    "pages by 2": _pages("m", "grown", limit=2),
    "pages by 0": _pages("m", "grown", limit=0),
    "pages by -1": _pages("m", limit=-1),
    "pages from a cursor": _pages("m", "f", "p", limit=2, cursor=Cursor(topic_name="m", partition_index=1)),
    "pages from a topic that is gone": _pages("m", "p", cursor=Cursor(topic_name="n", partition_index=0)),
    "pages from partition -1": _pages("m", cursor=Cursor(topic_name="m", partition_index=-1)),
    "pages of a bad name": _pages("a/b"),
    "pages of the same twice": _pages("m", "m"),
}
