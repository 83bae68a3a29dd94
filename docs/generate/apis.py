"""docs/apis.md, from the API table."""

from __future__ import annotations

from barnabas.broker.api.api_table import API_TABLE, TELEMETRY_TABLE, ApiRow

_HEAD = """\
# APIs

Every API and version that ApiVersions returns is implemented: {count} APIs, all that Apache Kafka 4.4.0 offers, with
its version ranges. Produce is advertised from version 0, as in Kafka: without version 0 an old librdkafka assumes that
the broker does not support compression. A Produce request in version 0 to 2 closes the connection, as does a request
for anything not listed here.

The operations are those that Kafka checks with its ACLs, of the resources in a request. Some are checked only for
certain requests, some are alternatives: InitProducerId without a transactional id needs IdempotentWrite on the cluster
or Write on any topic. They are checked if `authorizer.class.name` is set ([ACLs](security/acls.md)).

| key | API | versions | flexible from | operations | message | handler |
|---:|---|---|---|---|---|---|
"""

_TELEMETRY = """
Only with `barnabas.client.telemetry.enable=true` (KIP-714); Kafka offers them if a plug-in receives metrics:

| key | API | versions | flexible from | operations | message | handler |
|---:|---|---|---|---|---|---|
"""


def page() -> str:
    """Return the whole page."""
    always, asked_for = "".join(map(_line, API_TABLE)), "".join(map(_line, TELEMETRY_TABLE))
    return _HEAD.format(count=len(API_TABLE)) + always + _TELEMETRY + asked_for


def _range(low: int, high: int) -> str:
    return f"{low}-{high}" if low < high else str(high)


def _line(row: ApiRow) -> str:
    served = _range(row.min_version, row.max_version)
    if row.advertised_min_version < row.min_version:
        served += f" (advertised from {row.advertised_min_version})"
    flexible = "-" if row.key.flexible_since is None else str(row.key.flexible_since)
    operations = ", ".join(map(str, row.accesses)) or "-"
    message = f"`protocol/messages/{row.key.name.lower()}.py`"
    handler = f"`broker/api/handlers/{row.handler}.py`"
    return f"| {int(row.key)} | {row.key.api_name} | {served} | {flexible} | {operations} | {message} | {handler} |\n"
