"""docs/metrics.md, from the table of metrics."""

from collections.abc import Iterator

from barnabas.broker.clients.telemetry.points import BUCKETS_MAX
from barnabas.broker.clients.telemetry.series import SERIES_MAX, SERIES_OF_CLIENT_MAX
from barnabas.broker.http.metrics.metric import JMX, LAG, OWN
from barnabas.broker.http.metrics.metric_table import (
    GROUP_PARTITIONS_MAX,
    GROUPS_MAX,
    METRICS,
    PARTITIONS_MAX,
    SHARE_PARTITIONS_MAX,
    TOPICS_MAX,
)

_HEAD = f"""\
# Metrics

`barnabas serve --http HOST:PORT` serves pages over HTTP/1.1. In the container the port is 9404, and open by default.

| Path | Answer |
|---|---|
| `/live` | 200 while the broker's event loop runs |
| `/ready` | 200 when clients can use the broker; else 503 and the reason: starting, stopping, data directory failed |
| `/listeners` | the addresses for clients, and the cluster, in JSON |
| `/metrics` | metrics in Prometheus' text format 0.0.4 |

With `/listeners` the HTTP address is enough for every command ([cli.md](cli.md#common-to-all-commands)). In the other
direction, clients can read the HTTP address in the read-only setting `barnabas.http.address`.

`POST /clean?partition=TOPIC[:N,…]` compacts logs, only from this machine; `barnabas log clean --now --http`
([cli.md](cli.md#barnabas-log)) uses it.

While partitions are recovered after a kill, `/ready` has their number in a second line.

While a data directory is full ([0122](decisions/0122-a-full-disk-is-a-state.md)) `/ready` answers 200 with a second
line: consumers, and the operator who frees space, need access.

Without `--http` there is no port, and nothing is counted. Port 0 selects a free port, which is in the log (`http
listening`). The pages are open to all clients, unless the port is [secured](#who-may-look). Requests for `/metrics` or
`/listeners` from this machine must use an address, `localhost` or a name without dots, because a web page could map its
own host name to this address.

A [schema registry](cli.md#barnabas-serve) has a port of its own, and its figures are here.

The names are those of the common exporters for Apache Kafka, so that dashboards and alerts work unchanged:
the [Prometheus JMX exporter](https://github.com/prometheus/jmx_exporter) with its rules for Kafka, and
[kafka_exporter](https://github.com/danielqsj/kafka_exporter). Metrics that neither has begin with
`barnabas_`. `process_*` and `python_*` are the metrics of prometheus-client.

[grafana.json](grafana.json) is a dashboard: in Grafana, *Dashboards*, *New*, *Import*.

```yaml
scrape_configs:
  - job_name: barnabas
    static_configs:
      - targets: ["localhost:9404"]
```

## Who may look

With `--http-secure`, which [`--secure`](security/secure.md) implies, the port uses HTTPS and requires a login. The
certificate is that of the first TLS listener; the users are those of the first listener with PLAIN or SCRAM users.
`/live` and `/ready` stay open.

With an [authorizer](security/acls.md), metrics and `/listeners` need Describe on the cluster; the console, `/control`
and `/clean` need Alter on the cluster, because they show records and make changes. Super users have both rights. A
client with the `--control-token` may do everything.

```sh
curl --cacert data.security/authority.pem --user admin:PASSWORD https://localhost:9404/metrics
barnabas why hanging --http localhost:9404 --command-config data.security/admin.properties
```

In Prometheus, with a user with Describe on the cluster:

```yaml
scrape_configs:
  - job_name: barnabas
    scheme: https
    tls_config:
      ca_file: data.security/authority.pem
    basic_auth:
      username: prometheus
      password: PASSWORD
    static_configs:
      - targets: ["localhost:9404"]
```

A wrong password is answered after `connection.failed.authentication.delay.ms`; this never delays correct ones. Checking
a SCRAM password costs thousands of hashes, so a correct one is cached until it changes.
There are 32 connections; a new one replaces the oldest that has not yet authenticated. Without an authorizer every user
may do everything. OAUTHBEARER tokens and rights for single pages are not supported.

## Cost of a scrape

A scrape runs on the event loop in slices of a few milliseconds, at most once a second; requests in between get the
same result. Counters start at 0 with the broker. Histogram bounds are powers of two of a microsecond; `le` is in
milliseconds.

A scrape opens no partition. A partition that was not used since the start has the values of the last run if it ended
cleanly; after a kill it has no series until it is used. The first scrape loads the groups, which appear from the
second on.

With metrics, a Produce request of one record takes about 0.25 µs more than without (medians of 1,500 rounds: 7.7 and
7.95 µs from its frame to its answer). Over a socket, where it takes the broker 17 µs, no difference could be measured.

## Limits

| What | Maximum with their own series |
|---|--:|
| partitions | {PARTITIONS_MAX:,}: the users' before the broker's own, by name |
| topics | {TOPICS_MAX:,}, likewise |
| groups | {GROUPS_MAX:,}, by name |
| pairs of a group and a partition with a committed offset | {GROUP_PARTITIONS_MAX:,} |
| share partitions | {SHARE_PARTITIONS_MAX:,}, by group and topic |
| metrics that clients push | {SERIES_MAX:,}, and {SERIES_OF_CLIENT_MAX:,} of one client; the first ones |

`barnabas_metrics_left_out` counts the others, which are still part of sums without such a label. No label has a member
id or transactional id, and only metrics that clients push have the clients' ids. Other labels have values from Kafka's
protocol: APIs, versions, error codes, states.

## What clients push

With `barnabas.client.telemetry.enable=true` clients may push their own metrics to the broker (KIP-714), and `/metrics`
serves them. Java clients (3.7 and later) and librdkafka (2.5 and later) do this without any setting. A subscription
selects the metrics, the interval, and the clients:

```sh
kafka-client-metrics.sh --bootstrap-server localhost:9092 --alter --name producers \\
  --metrics org.apache.kafka.producer. --interval 30000 --match client_software_name=apache-kafka-java
```

`org.apache.kafka.producer.record.queue.time.avg` is `barnabas_client_producer_record_queue_time_avg`, with the labels
`client_instance_id`, `client_id` and those of the client. A sum counts from the client's start on. A histogram has
Prometheus's form, `…_bucket` with `le`, `…_count` and `…_sum`, also if the client pushes only the increase since its
last push; it has at most {BUCKETS_MAX} buckets, each of which counts as a metric above. Exponential histograms and
summaries are not served. A client's series end with its connection, or after three intervals without a push. The pushed
values are not checked.
"""
_OF = {
    JMX: "Under the JMX exporter's names",
    LAG: "Under kafka_exporter's names",
    OWN: "Barnabas's own",
}


def page() -> str:
    """Return the whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    for like, title in _OF.items():
        yield f"## {title}\n"
        yield "| metric | kind | labels | meaning |"
        yield "|---|---|---|---|"
        for metric in METRICS:
            if metric.like == like:
                labels = ", ".join(f"`{label}`" for label in metric.labels)
                yield f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |"
        if like != OWN:
            yield ""
