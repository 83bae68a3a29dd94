"""A running broker: is it reachable, which addresses does it advertise, and do they lead to it?

Works with Apache Kafka, too. The requests change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from barnabas.broker.cli.doctor import queues
from barnabas.broker.cli.doctor.finding import CheckResult, note, ok, problem, warning
from barnabas.broker.cli.doctor.machine import examine_volume
from barnabas.broker.cli.doctor.processes import descriptors_of, listening_processes, named
from barnabas.broker.cli.doctor.server_probe import ProbedBroker, ProbeFailure, probe
from barnabas.client.addresses import Address
from barnabas.client.client import Client
from barnabas.client.clock import ClientClock
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResult
from barnabas.storage.disk.files import Volume

if TYPE_CHECKING:
    from barnabas.client.security.settings import SecuritySettings

_LOOPBACK = ("127.", "::1", "localhost")
_NAMED_MAX = 10
_DESCRIPTORS_USED_SHARE_MAX = 0.8


def examine(
    bootstrap: Sequence[Address], clock: ClientClock, timeout_ms: int, security: SecuritySettings | None = None
) -> list[CheckResult]:
    """Return what a client finds with these addresses and these security settings of its connections."""

    def met_at(place: Address) -> ProbedBroker | ProbeFailure:
        return probe(place, clock, timeout_ms, security)

    findings: list[CheckResult] = []
    reached: list[tuple[Address, ProbedBroker]] = []
    for address in bootstrap:
        probed = met_at(address)
        findings.append(_reached(address, probed))
        if isinstance(probed, ProbedBroker):
            reached.append((address, probed))
    if not reached:
        return findings
    address, probed = reached[0]
    for _, other in reached[1:]:
        if other.cluster.cluster_id != probed.cluster.cluster_id:
            findings.append(
                problem("bootstrap", "the addresses lead to different clusters", "give the addresses of one cluster")
            )
    for node_id, advertised in sorted(probed.cluster.brokers.items()):
        findings.append(_advertised(address, node_id, advertised, probed, met_at))
    if not any(each.level == "problem" for each in findings):
        with Client([address], clock=clock, timeout_ms=timeout_ms, security=security) as client:
            findings += [*_volumes(client), *queues.examine(client, address)]
    return [*findings, *_descriptors(address), _hanging(address)]


def _hanging(address: Address) -> CheckResult:
    advice = f"`barnabas why hanging --bootstrap-server {address}` explains it, if the broker runs with --control"
    return note("hanging", "the doctor does not check what clients wait for", advice)


def _reached(address: Address, probed: ProbedBroker | ProbeFailure) -> CheckResult:
    if isinstance(probed, ProbedBroker):
        cluster = probed.cluster.cluster_id or "without an id"
        return ok("bootstrap", f"{address} answers in {probed.took_ms:.0f} ms: cluster {cluster}")
    if probed.connects:
        advice = "check that it speaks Kafka's protocol, and whether it needs TLS or SASL (--command-config)"
        return problem("bootstrap", probed.reason, advice)
    return problem(
        "bootstrap",
        probed.reason,
        "check that a broker is running there, and that its port is mapped and open in the firewall",
    )


def _advertised(
    address: Address,
    node_id: int,
    advertised: Address,
    probed: ProbedBroker,
    met_at: Callable[[Address], ProbedBroker | ProbeFailure],
) -> CheckResult:
    check = f"node {node_id}"
    if advertised == address:
        return ok(check, f"advertises {advertised}, the address that was used")
    there = met_at(advertised)
    if isinstance(there, ProbeFailure):
        text = f"advertises {advertised}, which does not lead to it: {there.reason}"
        return problem(check, text, _remedy(address, advertised))
    if there.cluster.cluster_id != probed.cluster.cluster_id:
        text = f"advertises {advertised}, which leads to another cluster: {there.cluster.cluster_id}"
        return problem(check, text, _remedy(address, advertised))
    return ok(check, f"advertises {advertised}: it leads to the same cluster")


def _remedy(address: Address, advertised: Address) -> str:
    """Return advice for an advertised address that does not lead to its broker."""
    if _is_local(advertised.host) and _is_local(address.host) and advertised.port != address.port:
        return (
            f"port {advertised.port} seems to be mapped to {address.port}: map it to the same number, "
            f"or set KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://{address}"
        )
    if _is_local(advertised.host):
        return f"clients on other machines would look for it on their own machine: set advertised.listeners=PLAINTEXT://{address}"
    return f"set advertised.listeners to an address that clients can connect to, such as PLAINTEXT://{address}"


def _is_local(host: str) -> bool:
    return host.startswith(_LOOPBACK)


def _volumes(client: Client) -> list[CheckResult]:
    try:
        answer = client.ask_any(DescribeLogDirsRequest(topics=None))
    except KafkaError as failed:
        return [warning("disk", f"the broker does not report the state of its disk: {failed}")]
    findings = []
    for found in answer.results:
        if found.error_code != ErrorCode.NONE:
            findings.append(problem("disk", f"{found.log_dir} failed: {ErrorCode(found.error_code).name}"))
        elif found.total_bytes >= 0:
            findings.append(examine_volume(found.log_dir, Volume(found.total_bytes, found.usable_bytes)))
        findings += _not_opened(found)
    return findings


def _not_opened(found: DescribeLogDirsResult) -> list[CheckResult]:
    """Return problems about partitions that the broker could not open: it does not know their lag."""
    refused = [
        f"{topic.name}-{partition.partition_index}"
        for topic in found.topics
        for partition in topic.partitions
        if partition.offset_lag < 0 and not partition.is_future_key
    ]
    if not refused:
        return []
    named_ones = ", ".join(refused[:_NAMED_MAX]) + (" …" if len(refused) > _NAMED_MAX else "")
    text = f"{len(refused)} in {found.log_dir} could not be opened, and requests get KAFKA_STORAGE_ERROR: {named_ones}"
    return [problem("partitions", text, "the broker's log has the reason (could not open partition)")]


def _descriptors(address: Address) -> list[CheckResult]:
    """Return findings about the descriptors of the process, if it is on this machine and visible to this user."""
    findings = []
    for pid in listening_processes(address.host, address.port) if _is_local(address.host) else []:
        found = descriptors_of(pid)
        if found is None:
            continue
        text = f"{named(pid)} has {found.used} of {found.limit} descriptors open"
        few = found.used > found.limit * _DESCRIPTORS_USED_SHARE_MAX
        findings.append(
            warning("descriptors", text, "raise its limit: ulimit -Hn") if few else note("descriptors", text)
        )
    return findings
