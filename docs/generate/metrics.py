"""docs/metrics.md, from the table of metrics."""

from collections.abc import Iterator

from barnabas.broker.clients.telemetry.points import BUCKETS_MAX
from barnabas.broker.clients.telemetry.series import SERIES_MAX, SERIES_OF_CLIENT_MAX
from barnabas.broker.http.metrics.metric_table import (
    GROUP_PARTITIONS_MAX,
    GROUPS_MAX,
    JMX,
    LAG,
    METRICS,
    OWN,
    PARTITIONS_MAX,
    TOPICS_MAX,
)

_HEAD = f"""\
# Metrics

`barnabas serve --http HOST:PORT` serves pages over HTTP/1.1. In the container it is on, at port 9404.

| Path | Answer |
|---|---|
| `/live` | 200 while the broker's event loop runs |
| `/ready` | 200 when clients can use the broker; else 503 and the reason: starting, stopping, data directory failed |
| `/listeners` | where clients connect, and to which cluster, in JSON |
| `/metrics` | metrics in Prometheus' text format 0.0.4 |

By `/listeners` the address of HTTP is enough for every command ([cli.md](cli.md#common-to-all-commands)). In the other
direction a broker that serves HTTP tells clients where, by the read-only setting `barnabas.http.address`.

`POST /clean?partition=TOPIC[:N,…]` compacts logs, from this machine only: `barnabas log clean --now --http`
([cli.md](cli.md#barnabas-log)) does it.

While partitions are recovered after a kill, `/ready` says in a second line how many are.

While a data directory is full ([0122](decisions/0122-a-full-disk-is-a-state.md)) `/ready` answers 200 and says so:
consumers, and operators who free space, must be able to connect.

Without `--http` nothing listens and nothing is counted. Port 0 takes a free port; the log has it (`http listening`).
All clients have access, unless the port is [secured](#who-may-look). A client on this machine that requests
`/metrics` or `/listeners` must use an IP address, `localhost` or a name without dots: a page in a browser here could
point its own name at this address.

Names are those of the exporters that are common for Apache Kafka, so that dashboards and alerts work unchanged:
the [Prometheus JMX exporter](https://github.com/prometheus/jmx_exporter) with its rules for Kafka, and
[kafka_exporter](https://github.com/danielqsj/kafka_exporter). Metrics that neither has begin with
`barnabas_`. `process_*` and `python_*` are those of prometheus-client.

[grafana.json](grafana.json) is a dashboard: in Grafana, *Dashboards*, *New*, *Import*.

```yaml
scrape_configs:
  - job_name: barnabas
    static_configs:
      - targets: ["localhost:9404"]
```

## Who may look

With `--http-secure`, which [`--secure`](security/secure.md) implies, the port speaks HTTPS and asks for a user. The
certificate is that of the first listener that speaks TLS; the users are those of the first listener that has users of
PLAIN or SCRAM. `/live` and `/ready` stay open.

With an [authorizer](security/acls.md), metrics and `/listeners` need Describe on the cluster; the console, `/control`
and `/clean` need Alter on the cluster, as they show records and change things. Super users have both. A client with
the `--control-token` may do everything.

```sh
curl --cacert data.security/authority.pem --user admin:PASSWORD https://localhost:9404/metrics
barnabas why hanging --http localhost:9404 --command-config data.security/admin.properties
```

In Prometheus, with a user who was granted Describe on the cluster:

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

A wrong password is answered after `connection.failed.authentication.delay.ms`. However many of these wait, a right one
is answered at once. Each password of SCRAM costs thousands of hashes, so a right one is remembered until it changes.
There are 32 connections; a new one replaces the oldest that has not yet authenticated. Without an authorizer every user
may do everything. OAUTHBEARER tokens and rights of single pages are not offered.

## Cost of a scrape

A scrape runs on the event loop in slices of a few milliseconds, at most once a second; requests in between get the
same result. Counters start at 0 with the broker. Histogram bounds are powers of two of a microsecond; `le` is in
milliseconds.

A scrape opens no partition. A partition not used since the start has the values of the last run, if that ended
cleanly; after a kill it has no series until it is used. The first scrape loads the groups, which appear from the
second on.

With metrics, a Produce request of one record takes about 0.25 µs more than without (medians of 1,500 rounds: 7.7 and
7.95 µs from its frame to its answer). Over a socket, where it takes the broker 17 µs, no difference could be measured.

## Limits

| What | Most with their own series |
|---|--:|
| partitions | {PARTITIONS_MAX:,}: the users' before the broker's own, by name |
| topics | {TOPICS_MAX:,}, likewise |
| groups | {GROUPS_MAX:,}, by name |
| pairs of a group and a partition with a committed offset | {GROUP_PARTITIONS_MAX:,} |
| metrics that clients push | {SERIES_MAX:,}, and {SERIES_OF_CLIENT_MAX:,} of one client; the first that come |

`barnabas_metrics_left_out` counts the rest, which is still part of sums without such a label. No label has a member id
or transactional id, and only what clients push has their ids. Other labels have values from Kafka's protocol: APIs,
versions, error codes, states.

## What clients push

With `barnabas.client.telemetry.enable=true` clients may push their own metrics to the broker (KIP-714), and `/metrics`
serves them. Java clients (3.7 and later) and librdkafka (2.5 and later) do so without any setting. A subscription says
which metrics are wanted, how often, and of which clients:

```sh
kafka-client-metrics.sh --bootstrap-server localhost:9092 --alter --name producers \\
  --metrics org.apache.kafka.producer. --interval 30000 --match client_software_name=apache-kafka-java
```

`org.apache.kafka.producer.record.queue.time.avg` is `barnabas_client_producer_record_queue_time_avg`, with the labels
`client_instance_id`, `client_id` and those that the client gives. A sum is one from the client's start on. A histogram
is one of Prometheus's, `…_bucket` with `le`, `…_count` and `…_sum`, also where the client pushes what was added since
its last push; it has at most {BUCKETS_MAX} buckets, each of which counts as a metric above. Exponential histograms and
summaries are not served. A client's series end with its connection, or when it was silent for three intervals. What
clients push is not checked.
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
