"""Metrics say what is so: read from a broker that does something, checked against what it did."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.broker.api.authentication.sasl_listener import AuthenticationCounts, SaslListener
from barnabas.broker.api.dispatch import Dispatcher
from barnabas.broker.api.stages.metering import Meter
from barnabas.broker.http.metrics import groups as group_metrics
from barnabas.broker.http.metrics import partitions as partition_metrics
from barnabas.broker.http.metrics.metric_table import METRICS
from barnabas.broker.http.metrics.scrape import scrape
from barnabas.broker.http.metrics.sources import RegistryFigures, Sources
from barnabas.broker.http.pages import METRICS_TEXT
from barnabas.broker.metadata.image.client_quotas import QuotaAlteration
from barnabas.broker.partitions.share.dead_letter_queue import DeadLetterCounts
from barnabas.broker.partitions.share.persister import SharePartitionKey, ShareStateUpdate
from barnabas.broker.partitions.share.share_sessions import SessionPartition
from barnabas.broker.server.broker import RUNNING
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.support.files.memory_files import MemoryFiles
from tests.support.requests import BY_NAME, add_partitions, commit, end_txn, fetch, init_producer, produce
from tests.support.source_tree import ROOT
from tests.support.worlds.broker import BrokerWorld, settle
from tests.support.worlds.memory_persister import MemoryPersister

Labels = frozenset[tuple[str, str]]
PYTHONS_OWN = re.compile("process_|python_")
DASHBOARD = ROOT / "docs" / "grafana.json"


class Watched:
    """A broker, and what is scraped from it."""

    def __init__(self, files: MemoryFiles | None = None, *, topics: Mapping[str, int] | None = None) -> None:
        few = {"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "1"}
        self.world = BrokerWorld(few, files, topics=topics)
        self.meter = Meter(lambda: 0)
        self.world.dispatcher = Dispatcher(self.world.services, meter=self.meter)
        self.peer = self.world.connect()

    async def ask(self, request: Any, version: int | None = None) -> Any:
        await self.peer.put(request, version)
        return self.peer.answer()

    async def produce(self, topic: str, *values: bytes, **producer: Any) -> int:
        batch = self.world.batch(*values, **producer)
        transactional_id = "shop" if producer.get("transactional") else None
        await self.ask(produce(batch, topic, transactional_id=transactional_id), 11)
        return len(batch)

    async def commit(self, group: str, topic: str, offset: int) -> None:
        await self.ask(commit(group, offset, topic), 8)

    async def load_share_partition(self, topic: str) -> None:
        """Load the share partition of a group and the topic's first partition."""
        services = self.world.services
        services.deferred_persister.built = MemoryPersister()
        services.share_partitions.get("queue", SessionPartition(services.catalogue.topics[topic].topic_id, 0))
        await settle()
        services.share_partitions.dead_letters.counts["queue"] = DeadLetterCounts()

    async def scrape(self) -> dict[str, dict[Labels, float]]:
        """Series by name, each by its labels."""
        sasl_listener = SaslListener(
            listener="INSIDE",
            mechanisms={},
            frame_bytes_max=0,
            failure_delay_ms=0,
            reauth_ms={},
            clock=self.world.clock,
            machine_clock=self.world.clock,
            outcomes=AuthenticationCounts(let_in=5, refused=4, let_in_again=3, refused_again=2, expired=1),
        )
        text = await scrape(
            Sources(
                self.world.services,
                self.meter,
                lambda: {1: 3},
                lambda: RUNNING,
                [sasl_listener, sasl_listener],
                RegistryFigures(2, {"AVRO": 3, "JSON": 1}, {"AVRO": 1}, {200: 5, 404: 1, 500: 1}),
            )
        )
        found: dict[str, dict[Labels, float]] = {}
        for family in text_string_to_metric_families(text.decode()):
            for sample in family.samples:
                labels = frozenset(sample.labels.items())
                assert labels not in found.setdefault(sample.name, {}), f"{sample.name} {sample.labels} twice"
                found[sample.name][labels] = sample.value
        return found


def of(**labels: object) -> Labels:
    return frozenset((name, str(value)) for name, value in labels.items())


async def test_offsets_sizes_and_traffic_are_those_of_the_log() -> None:
    watched = Watched(topics={"t": 2})
    size = await watched.produce("t", b"a", b"b") + await watched.produce("t", b"c")
    found = await watched.scrape()
    place = of(topic="t", partition=0)
    for name, value in (
        ("kafka_topic_partition_current_offset", 3),
        ("kafka_topic_partition_oldest_offset", 0),
        ("kafka_log_log_logendoffset", 3),
        ("kafka_log_log_logstartoffset", 0),
        ("kafka_log_log_numlogsegments", 1),
        ("kafka_log_log_size", size),
        ("kafka_cluster_partition_laststableoffsetlag", 0),
    ):
        assert found[name][place] == value, name
    assert found["kafka_log_log_logendoffset"][of(topic="t", partition=1)] == 0
    assert found["kafka_topic_partitions"][of(topic="t")] == 2
    assert found["kafka_server_brokertopicmetrics_messagesin_total"] == {of(): 3, of(topic="t"): 3}
    assert found["kafka_server_brokertopicmetrics_bytesin_total"] == {of(): size, of(topic="t"): size}
    assert found["kafka_server_replicamanager_partitioncount"][of()] == 2
    assert found["kafka_network_requestmetrics_requests_total"][of(request="Produce", version=11)] == 2
    assert found["kafka_network_requestmetrics_totaltimems_count"][of(request="Produce")] == 2
    assert found["kafka_network_requestmetrics_totaltimems_bucket"][of(request="Produce", le="0.016")] == 2
    assert found["kafka_server_socket_server_metrics_connection_count"][of()] == 3


async def test_sums_keep_what_went_through_deleted_topics() -> None:
    watched = Watched()
    catalogue = watched.world.services.catalogue
    for name in ("gone", "t"):
        catalogue.create_topic(name)
        size = await watched.produce(name, b"a")
    await watched.ask(fetch(topic="", topic_id=catalogue.topics["gone"].topic_id))
    catalogue.delete_topics(["gone"])
    for _ in range(2):
        found = await watched.scrape()
        assert found["kafka_server_brokertopicmetrics_messagesin_total"] == {of(): 2, of(topic="t"): 1}
        assert found["kafka_server_brokertopicmetrics_bytesin_total"] == {of(): 2 * size, of(topic="t"): size}
        assert found["kafka_server_brokertopicmetrics_bytesout_total"] == {of(): size}


async def test_bytes_in_count_on_when_retention_deletes() -> None:
    watched = Watched()
    watched.world.services.catalogue.create_topic("t", 1, {"segment.bytes": "1048576", "retention.ms": "1000"})
    size = sum([await watched.produce("t", bytes(500_000)) for _ in range(4)])
    watched.world.clock.advance(10_000)
    (log,) = watched.world.services.partitions.open_logs()
    assert log.apply_retention(watched.world.clock.now_ms())
    found = await watched.scrape()
    assert found["kafka_server_brokertopicmetrics_bytesin_total"][of(topic="t")] == size
    assert found["kafka_log_log_size"][of(topic="t", partition=0)] < size


async def test_a_group_has_its_lag_to_the_end_and_to_the_last_stable_offset() -> None:
    watched = Watched(topics={"t": 1})
    await watched.produce("t", b"a", b"b", b"c")
    await _open_transaction(watched)
    await watched.commit("g", "t", 1)
    await watched.scrape()
    found = await watched.scrape()
    committed = of(consumergroup="g", topic="t", partition=0)
    assert found["kafka_consumergroup_current_offset"] == {committed: 1}
    assert found["kafka_consumergroup_lag"] == {committed: 3}
    assert found["kafka_consumergroup_lag_sum"] == {of(consumergroup="g", topic="t"): 3}
    assert found["barnabas_consumergroup_lag_committed"] == {committed: 2}
    assert found["kafka_consumergroup_members"] == {of(consumergroup="g"): 0}
    assert found["kafka_coordinator_group_groupmetadatamanager_numgroupsempty"] == {of(): 1}
    counts = found["kafka_server_group_coordinator_metrics_group_count"]
    assert counts == {of(protocol=each): int(each == "classic") for each in ("classic", "consumer", "share", "streams")}


async def test_group_epochs_that_begin_are_rebalances() -> None:
    watched = Watched(topics={"t": 1})
    watched.world.services.deferred_persister.built = MemoryPersister()
    coordinator = "kafka_server_group_coordinator_metrics_"
    first = ShareGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=0, subscribed_topic_names=["t"])
    joined = await watched.ask(first, 1)
    second = ShareGroupHeartbeatRequest(group_id="g", member_id="n", member_epoch=0, subscribed_topic_names=["t"])
    again = await watched.ask(second, 1)
    assert (joined.error_code, again.error_code) == (0, 0)
    found = await watched.scrape()
    counts = {each: found[f"{coordinator}{each}_group_rebalance_count"][of()] for each in ("consumer", "streams")}
    assert counts == {"consumer": 0, "streams": 0}
    epoch = watched.world.services.groups.share.describe("g").group_epoch  # of a new group it is 1
    assert found[f"{coordinator}share_group_rebalance_count"] == {of(): epoch - 1}
    partitions = {of(state="active"): 1, of(state="loading"): 0, of(state="failed"): 0}
    assert found[f"{coordinator}num_partitions"] == partitions
    assert found[f"{coordinator}classic_group_count"][of(state="empty")] == 0
    assert found[f"{coordinator}share_group_count"][of(state="stable")] == 1


async def test_stored_changes_of_share_partitions_are_counted() -> None:
    watched = Watched(topics={"t": 1})
    coordinator = watched.world.services.shares
    key = SharePartitionKey("g", watched.world.services.catalogue.topics["t"].topic_id, 0)
    coordinator.initialize(key, 1, 0)
    for _ in range(2):
        coordinator.write(key, ShareStateUpdate(1, 0, 1, 0, []))
    found = await watched.scrape()
    assert found["kafka_server_share_coordinator_metrics_write_total"] == {of(): 2}
    states = found["kafka_server_share_coordinator_metrics_num_partitions"]
    assert states == {of(state="active"): 1, of(state="loading"): 0, of(state="failed"): 0}


async def _open_transaction(watched: Watched) -> tuple[int, int]:
    """A record in an open transaction of "shop" in t-0; its producer's id and epoch."""
    begun = await watched.ask(init_producer("shop"), 4)
    await watched.ask(add_partitions("shop", (begun.producer_id, begun.producer_epoch), ("t", [0])), 3)
    await watched.produce("t", b"x", producer=(begun.producer_id, begun.producer_epoch, 0), transactional=True)
    return begun.producer_id, begun.producer_epoch


async def test_a_transaction_is_told_from_its_beginning_to_its_end() -> None:
    watched = Watched(topics={"t": 1})
    producer_id, epoch = await _open_transaction(watched)
    watched.world.clock.advance(5_000)
    found = await watched.scrape()
    assert found["barnabas_transactions_open"] == {of(): 1}
    assert found["barnabas_transactions_oldest_open_seconds"] == {of(): 5}
    assert found["barnabas_transactions"][of(state="Ongoing")] == 1
    assert found["kafka_cluster_partition_laststableoffsetlag"][of(topic="t", partition=0)] == 1
    await watched.ask(end_txn("shop", (producer_id, epoch)), 3)
    found = await watched.scrape()
    assert found["barnabas_transactions_open"] == {of(): 0}
    assert found["barnabas_transactions_oldest_open_seconds"] == {of(): 0}
    assert found["barnabas_transactions_completed_total"] == {of(result="commit"): 1, of(result="abort"): 0}
    await _open_transaction(watched)
    await watched.world.advance(75_000)
    found = await watched.scrape()
    assert found["barnabas_transactions_timed_out_total"] == {of(): 1}
    assert found["barnabas_transactions_completed_total"] == {of(result="commit"): 1, of(result="abort"): 1}


async def test_a_partition_that_was_not_used_is_reported_after_a_clean_stop_and_not_after_a_kill() -> None:
    files = MemoryFiles(0)
    first = Watched(files, topics={"t": 1})
    size = await first.produce("t", b"a", b"b")
    await first.commit("g", "t", 1)
    await first.world.close()

    second = Watched(files)
    await second.scrape()
    found = await second.scrape()
    place = of(topic="t", partition=0)
    assert not second.world.services.partitions.is_open("t", 0)
    assert found["kafka_log_log_logendoffset"][place] == 2
    assert found["kafka_log_log_size"][place] == size
    assert found["kafka_log_log_numlogsegments"][place] == 1
    assert found["kafka_consumergroup_lag"] == {of(consumergroup="g", topic="t", partition=0): 1}
    files.crash()

    third = await Watched(files).scrape()
    assert place not in third["kafka_log_log_logendoffset"]
    assert third["kafka_topic_partitions"][of(topic="t")] == 1


async def test_series_are_bounded_and_what_is_left_out_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_metrics, "PARTITIONS_MAX", 3)
    monkeypatch.setattr(partition_metrics, "TOPICS_MAX", 1)
    monkeypatch.setattr(group_metrics, "GROUPS_MAX", 2)
    monkeypatch.setattr(group_metrics, "GROUP_PARTITIONS_MAX", 1)
    watched = Watched()
    for name in ("b", "a"):
        watched.world.services.catalogue.create_topic(name, 2)
        await watched.produce(name, b"x")
    for group in ("g1", "g2", "g3"):
        await watched.commit(group, "a", 0)
    await watched.scrape()
    found = await watched.scrape()
    told = {tuple(sorted(dict(labels).values())) for labels in found["kafka_log_log_logendoffset"]}
    assert told == {("0", "a"), ("1", "a"), ("0", "b")}
    assert found["kafka_server_brokertopicmetrics_messagesin_total"].keys() == {of(), of(topic="a")}
    assert len(found["kafka_consumergroup_members"]) == 2
    assert len(found["kafka_consumergroup_lag"]) == 1
    assert {dict(labels)["what"]: value for labels, value in found["barnabas_metrics_left_out"].items()} == {
        "topics": 2,
        "partitions": 3,
        "groups": 1,
        "committed offsets": 1,
        "share partitions": 0,
    }


async def test_every_row_of_the_table_is_reported_and_nothing_else() -> None:
    watched = Watched(topics={"t": 1})
    kinds = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
    wish = QuotaAlteration({"user": None}, [(kind, 1e9) for kind in kinds])
    watched.world.services.catalogue.client_quotas.alter([wish], validate_only=False)
    await watched.ask(MetadataRequest(topics=[MetadataRequestTopic(name="new")], allow_auto_topic_creation=True), 12)
    await watched.produce("t", b"x")
    await watched.produce("nowhere", b"x")
    await watched.ask(fetch(), BY_NAME)
    await watched.commit("g", "t", 0)
    await watched.load_share_partition("t")
    await watched.scrape()
    found = {name: series for name, series in (await watched.scrape()).items() if not PYTHONS_OWN.match(name)}
    expected = {metric.name: set(metric.labels) for metric in METRICS if metric.kind != "histogram"}
    for metric in METRICS:
        if metric.kind == "histogram":
            expected[f"{metric.name}_bucket"] = {*metric.labels, "le"}
            expected |= {f"{metric.name}_{part}": set(metric.labels) for part in ("count", "sum")}
    assert found.keys() == expected.keys()
    for name, series in found.items():
        assert {name for labels in series for name, _ in labels} == expected[name], name


async def test_requests_of_the_registry_succeed_or_fail() -> None:
    found = await Watched().scrape()
    assert found["kafka_schema_registry_schemas_created"] == {of(schema_type="avro"): 3, of(schema_type="json"): 1}
    assert found["kafka_schema_registry_registered_count"] == {of(): 4}
    assert found["kafka_schema_registry_api_success_count"] == {of(): 5}
    assert found["kafka_schema_registry_api_failure_count"] == {of(): 2}


async def test_outcomes_of_authentication_are_counted_by_listener() -> None:
    watched = Watched()
    found = await watched.scrape()
    await watched.world.close()
    counted = {
        name: list(series.values())
        for name, series in found.items()
        if "authentication" in name or "expired_connections" in name
    }
    prefix = "kafka_server_socket_server_metrics_"
    assert counted == {
        f"{prefix}successful_authentication_total": [10],
        f"{prefix}failed_authentication_total": [8],
        f"{prefix}successful_reauthentication_total": [6],
        f"{prefix}failed_reauthentication_total": [4],
        f"{prefix}expired_connections_killed_total": [2],
    }


def test_the_dashboard_requests_metrics_and_labels_there_are() -> None:
    series = {metric.name: set(metric.labels) for metric in METRICS}
    series |= {f"{metric.name}_bucket": {*metric.labels, "le"} for metric in METRICS if metric.kind == "histogram"}
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    questions = [target["expr"] for panel in panels for target in panel["targets"]]
    questions += [each["definition"] for each in dashboard["templating"]["list"] if each["type"] == "query"]
    assert len(questions) > 30
    used = set()
    for question in questions:
        names = re.findall(r"\b((?:kafka|barnabas|process)_\w+)", question)
        assert names, question
        unknown = [name for name in names if name not in series and not PYTHONS_OWN.match(name)]
        assert not unknown, question
        used |= set(names)
        known = set().union(*(series.get(name, set()) for name in names), {"job", "instance"})
        labels = set(re.findall(r'(\w+)=~?"', question))
        labels |= {label.strip() for group in re.findall(r"by \(([^)]*)\)", question) for label in group.split(",")}
        assert labels <= known, question
    assert {metric.name for metric in METRICS if metric.like == "Barnabas"} - {"barnabas_transactions"} <= used | {
        name.removesuffix("_bucket") for name in used
    }


def test_the_content_type_is_that_of_the_format() -> None:
    from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

    assert METRICS_TEXT == CONTENT_TYPE_PLAIN_0_0_4


async def test_quota_use_is_exposed_while_there_are_clients() -> None:
    watched = Watched(topics={"t": 1})
    assert "kafka_server_quota_byte_rate" not in await watched.scrape()
    wish = QuotaAlteration({"client-id": "test"}, [("producer_byte_rate", 10.0)])
    watched.world.services.catalogue.client_quotas.alter([wish], validate_only=False)
    await watched.produce("t", b"x" * 1000)
    found = await watched.scrape()
    whose = of(resource="Produce", user="", clientId="test", node=1)
    assert 100 < found["kafka_server_quota_byte_rate"][whose] < 150
    assert 90_000 < found["kafka_server_quota_throttle_time"][whose] < 150_000
    assert found["barnabas_connections_muted"][of()] == 1
    assert found["barnabas_metrics_left_out"][of(what="quotas")] == 0
