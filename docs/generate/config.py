"""docs/config.md, from the tables of keys."""

from collections.abc import Iterable, Iterator

from barnabas.broker.config.definitions.ignored_keys import ACCEPTED
from barnabas.broker.config.definitions.keys import KEYS, Key, Update
from barnabas.broker.config.environment import NOT_KEYS
from barnabas.broker.config.reference.descriptions import documentation, why_without_effect
from barnabas.broker.config.reference.differences import DIFFERENT_DEFAULTS
from barnabas.broker.config.refused_keys import asks_for
from barnabas.broker.config.resources.client_metrics import ATTRIBUTES, CLIENT_METRICS_KEYS
from barnabas.broker.config.resources.group_configs import GROUP_KEYS, GroupKey
from barnabas.broker.config.resources.topic_configs import TOPIC_KEYS, TopicKey

_HEAD = """\
# Configuration

Keys have Apache Kafka's names, types and ranges (4.4.0); keys that Kafka does not have begin with `barnabas.`. Values
come from four places; the first place with the key has priority:

1. the flags of `barnabas serve` (`--host`, `--port`, `--data-dir` …),
2. `--set key=value`,
3. `KAFKA_*` environment variables,
4. the file given with `--config`, a `server.properties`; of several files with a key, the last one.

The broker does not start with an invalid value, or with a key or listener that requires unsupported protection (a
policy class). A key that Kafka does not know is reported and ignored; a key without effect here is checked and
reported. `barnabas configs` shows the values in force and their sources, `barnabas doctor` explains the errors of a
configuration.

While the broker runs, `per-broker` and `cluster-wide` keys can be changed with IncrementalAlterConfigs
(`kafka-configs.sh`, `barnabas configs`), and so can the keys of topics, groups and client metrics. Such values are
stored in `__cluster_metadata` and override the four places. The levels of loggers (`--entity-type broker-loggers`:
`root`, `kafka`, `kafka.net` …) can be changed, too, until the broker stops.

## Properties files

A file is read as `java.util.Properties` reads it for Kafka: as ISO-8859-1, with backslash escapes. So a value in UTF-8
is misread, as in Kafka, and is reported: write characters that are not ASCII as `\\u00e9`. A `\\u` without four
hexadecimal digits (`C:\\users`) prevents the start, as in Kafka; so does half of a surrogate pair, which Java accepts.
Files of configuration providers are read as UTF-8. Environment variables are UTF-8, too, and are read correctly.

## Environment variables

Environment variables are read as in Apache Kafka's container image: without `KAFKA_`, in lower case, `_` is a dot, `__`
an underscore, `___` a dash. `KAFKA_LOG_SEGMENT_BYTES` is `log.segment.bytes`. A value is read like one in a properties
file, with backslash escapes: write a line break in it as `\\n`, because the value ends at a real one. The following
lines are not printed, because they may be a secret. Errors name the variable. These variables are not keys: {not_keys}.

`KAFKA_CFG_LOG_SEGMENT_BYTES` is the same key: set-ups for Bitnami's images of Kafka have these names. A key that is
set under both names with different values is an error that names both.

| variable | effect |
|---|---|
| `CLUSTER_ID` | the cluster id of a new data directory; any text. An existing directory keeps its id, with a warning |
| `KAFKA_CLUSTER_ID`, `KAFKA_KRAFT_CLUSTER_ID` | Bitnami's names for `CLUSTER_ID` |
| `ALLOW_PLAINTEXT_LISTENER` | no effect: listeners are PLAINTEXT. A value other than `yes`, `true` or `1` is reported |
| `KAFKA_SSL_KEYSTORE_FILENAME`, `KAFKA_SSL_TRUSTSTORE_FILENAME` | a store in /etc/kafka/secrets: its location |
| `KAFKA_SSL_KEY_CREDENTIALS` | a file in /etc/kafka/secrets with the password of the key |
| `KAFKA_SSL_KEYSTORE_CREDENTIALS`, `KAFKA_SSL_TRUSTSTORE_CREDENTIALS` | the same for a store |
| `BARNABAS_SECRETS_DIR` | another directory than /etc/kafka/secrets |
| `BARNABAS_CONTAINER` | any value: the broker runs in a container (see below). The image sets it |

## Listeners and advertised addresses

`listeners` is a list of `NAME://host:port`. A name is a protocol, or `listener.security.protocol.map` maps it to one,
PLAINTEXT, SSL ([TLS](security/tls.md)), SASL_PLAINTEXT or SASL_SSL ([SASL](security/sasl.md)). An empty host is every
interface, IPv4 and IPv6; `0.0.0.0` is every IPv4 interface.
127.0.0.1 and `localhost` include ::1. Port 0 selects a free port. Two listeners cannot share a port, except with one
IPv4 and one IPv6 address. Listeners in `controller.listener.names` are not opened: there is no controller quorum.
`--host` and `--port` replace all listeners; then `advertised.listeners` and `inter.broker.listener.name` are ignored
if they come from the same file as `listeners`.

The broker advertises an address to its clients. For the listener of the client's request, this is

1. the address in `advertised.listeners`;
2. else the listener's host, if that is a name;
3. else the local address of the client's connection.

In a container (`BARNABAS_CONTAINER`) the third rule has an exception. Connections from the default gateway come
through a port that the container engine maps; with rootless engines they come from the container's own address. These
clients get `localhost` and the listener's port. So `docker run -p 9092:9092` works for clients on the same machine,
and clients in other containers of the network get the container's address. `KAFKA_ADVERTISED_LISTENERS` is needed for
a port mapped to another number, for clients on other machines, and for engines that use another source address for
mapped connections. `barnabas doctor --bootstrap-server` checks it.
"""


def page() -> str:
    """Return the whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD.format(not_keys=", ".join(f"`{name}`" for name in sorted(NOT_KEYS)))
    yield "## Where defaults differ from Kafka's\n"
    yield "| key | here | in Kafka | why |"
    yield "|---|---|---|---|"
    for name, difference in DIFFERENT_DEFAULTS.items():
        kafkas = "none: it must be set" if difference.kafkas is None else _shown(difference.kafkas)
        yield f"| `{name}` | {_shown((KEYS | ACCEPTED)[name].default)} | {kafkas} | {difference.why} |"
    yield "\n## The broker\n"
    yield "A default with a * is not Kafka's.\n"
    yield from _table(KEYS.values())
    yield "\n## Topics\n"
    yield "A topic without its own value has the value of the broker's key in `inherits`, or else the default."
    yield "All of them can be changed while the broker runs.\n"
    yield "| key | type | default | values | inherits | what it does |"
    yield "|---|---|---|---|---|---|"
    for topic_key in TOPIC_KEYS.values():
        inherits = f"`{topic_key.inherits}`" if topic_key.inherits else ""
        yield f"{_columns(topic_key)} {inherits} | {documentation(topic_key.name)} |"
    yield "\n## Groups\n"
    yield "A group without its own value has the value of the broker's key in `inherits`, or else the default."
    yield "Its own value must be within the broker's bounds (`group.consumer.min.session.timeout.ms` and the like).\n"
    yield "| key | type | default | values | inherits | what it does |"
    yield "|---|---|---|---|---|---|"
    for group_key in GROUP_KEYS.values():
        if not group_key.is_internal:
            inherits = f"`{group_key.inherits}`" if group_key.inherits else ""
            yield f"{_columns(group_key)} {inherits} | {documentation(group_key.name)} |"
    yield "\n## Client metrics\n"
    yield "A subscription has a name of the operator's choice. An attribute of `match` is one of "
    yield ", ".join(f"`{name}`" for name in ATTRIBUTES) + ".\n"
    yield "| key | type | default | what it does |"
    yield "|---|---|---|---|"
    for client_key in CLIENT_METRICS_KEYS.values():
        kind = client_key.type.name.lower()
        yield f"| `{client_key.name}` | {kind} | {_shown(client_key.default)} | {documentation(client_key.name)} |"
    yield "\n## Kafka's keys without effect here\n"
    yield "They are checked and described, so that the broker starts with a configuration written for Kafka.\n"
    yield "| key | type | default | while running | why |"
    yield "|---|---|---|---|---|"
    for key in ACCEPTED.values():
        columns = f"| `{key.name}` | {key.type.name.lower()} | {_default(key)} | {_update(key)} |"
        yield f"{columns} {why_without_effect(key.name)} |"
    yield "\n## Keys that stop the start\n"
    refusing = ", ".join(f"`{name}`" for name in _refusing())
    yield f"The broker does not start if one of these does not have Kafka's default: {refusing}."


def _table(keys: Iterable[Key]) -> Iterator[str]:
    yield "| key | type | default | values | while running | what it does |"
    yield "|---|---|---|---|---|---|"
    for key in keys:
        yield f"{_columns(key)} {_update(key)} | {documentation(key.name)} |"


def _columns(key: Key | TopicKey | GroupKey) -> str:
    values = "" if key.check is None else str(key.check)
    return f"| `{key.name}` | {key.type.name.lower()} | {_default(key)} | {values} |"


def _default(key: Key | TopicKey | GroupKey) -> str:
    mark = " *" if isinstance(key, Key) and key.name in DIFFERENT_DEFAULTS else ""
    return f"`{key.default}`{mark}" if key.default else mark.strip()


def _shown(default: str | None) -> str:
    return f"`{default}`" if default else "none"


def _update(key: Key) -> str:
    return "" if key.update is Update.READ_ONLY else key.update.value


def _refusing() -> list[str]:
    return [name for name, key in ACCEPTED.items() if asks_for(name, "anything else", key)]
