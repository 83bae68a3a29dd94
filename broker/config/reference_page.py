"""docs/config.md, made from the tables of keys: `python -m barnabas.broker.config.reference_page > docs/config.md`."""

import sys
from collections.abc import Iterable, Iterator

from barnabas.broker.config.accepted import ACCEPTED
from barnabas.broker.config.differences import DIFFERENT_DEFAULTS
from barnabas.broker.config.docs import documentation, why_without_effect
from barnabas.broker.config.environment import NOT_KEYS
from barnabas.broker.config.keys import KEYS, Key, Update
from barnabas.broker.config.refusals import asks_for
from barnabas.broker.config.topic_configs import TOPIC_KEYS, TopicKey

_HEAD = """\
# Configuration

Keys have Apache Kafka's names, types and ranges (4.3.1). They come from four places; the first that has a key wins:

1. the flags of `barnabas serve` (`--host`, `--port`, `--data-dir` …),
2. `--set key=value`,
3. `KAFKA_*` environment variables,
4. the file given with `--config`, a `server.properties`; of several the last.

A value that the key cannot take stops the start, and so do a key or a listener that asks for protection this broker
does not give (TLS, SASL, an authorizer, a quota, a policy class): remove it to start. A key that Kafka does not know
is reported and ignored, one that has no effect here is checked and reported. What a key inherits, or what stands in
for it, is shown by `barnabas configs`; what is wrong with a set-up, by `barnabas doctor`.

While the broker runs, `per-broker` and `cluster-wide` keys can be changed with IncrementalAlterConfigs
(`kafka-configs.sh`, `barnabas configs`); what is set so is kept in the catalogue and comes before the four places.

## Environment variables

They are read as Apache Kafka's container image reads them: `KAFKA_` goes, capitals become small, `_` is a dot, `__`
an underscore, `___` a dash. `KAFKA_LOG_SEGMENT_BYTES` is `log.segment.bytes`. A value is a line of a properties file,
with its backslashes. An error names the variable. These mean something else, and are no keys: {not_keys}.

| variable | what it does |
|---|---|
| `CLUSTER_ID` | the cluster a new data directory begins; any text. A directory that has another keeps it, and warns |
| `BARNABAS_CONTAINER` | set to anything: this is a container (see below). The image sets it |

## Listeners, and what clients are told

`listeners` are `NAME://host:port` in a list. A name is a protocol, or `listener.security.protocol.map` maps it to
one, which has to be PLAINTEXT. No host is every interface, over IPv4 and IPv6; `0.0.0.0` is every one of IPv4.
127.0.0.1 and `localhost` are also ::1. Port 0 takes a free one. Two listeners cannot have one port, except on one
IPv4 and one IPv6 address. Those that `controller.listener.names` names are not opened: there is no controller quorum.
`--host` and `--port` put one listener in place of all; then `advertised.listeners` and `inter.broker.listener.name`
of a file that gives `listeners`, too, are not used.

A client asks where the broker is, and connects there. It is told, for the listener by which it came in:

1. what `advertised.listeners` says of that listener;
2. else the listener's host, if that is a name;
3. else the address by which the client came in.

In a container (`BARNABAS_CONTAINER`) the third has an exception. Who comes from the default gateway came by a port
that the container engine maps, and so did who comes from the container's own address, where ports are mapped without
root: both are told `localhost` and the listener's port. So `docker run -p 9092:9092` works for clients on the same
machine, and clients in other containers of the same network are told the container's address. What this cannot know
needs `KAFKA_ADVERTISED_LISTENERS`: a port that is mapped to another number, clients on other machines, an engine that
gives mapped connections another source address. `barnabas doctor --bootstrap-server` tells whether that is so.
"""


def render() -> str:
    """The whole page."""
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
    yield "A topic without a value of its own takes the broker's, where `inherits` names a key, and else the default."
    yield "All of them can be changed while the broker runs.\n"
    yield "| key | type | default | values | inherits | what it does |"
    yield "|---|---|---|---|---|---|"
    for topic_key in TOPIC_KEYS.values():
        inherits = f"`{topic_key.inherits}`" if topic_key.inherits else ""
        yield f"{_columns(topic_key)} {inherits} | {documentation(topic_key.name)} |"
    yield "\n## Kafka's keys without effect here\n"
    yield "They are checked and described, so that a configuration written for Kafka starts.\n"
    yield "| key | type | default | while running | why |"
    yield "|---|---|---|---|---|"
    for key in ACCEPTED.values():
        columns = f"| `{key.name}` | {key.type.name.lower()} | {_default(key)} | {_update(key)} |"
        yield f"{columns} {why_without_effect(key.name)} |"
    yield "\n## Keys that refuse to start\n"
    yield "Set to anything but Kafka's default: " + ", ".join(f"`{name}`" for name in _refusing()) + "."


def _table(keys: Iterable[Key]) -> Iterator[str]:
    yield "| key | type | default | values | while running | what it does |"
    yield "|---|---|---|---|---|---|"
    for key in keys:
        yield f"{_columns(key)} {_update(key)} | {documentation(key.name)} |"


def _columns(key: Key | TopicKey) -> str:
    values = "" if key.check is None else str(key.check)
    return f"| `{key.name}` | {key.type.name.lower()} | {_default(key)} | {values} |"


def _default(key: Key | TopicKey) -> str:
    mark = " *" if isinstance(key, Key) and key.name in DIFFERENT_DEFAULTS else ""
    return f"`{key.default}`{mark}" if key.default else mark.strip()


def _shown(default: str | None) -> str:
    return f"`{default}`" if default else "none"


def _update(key: Key) -> str:
    return "" if key.update is Update.READ_ONLY else key.update.value


def _refusing() -> list[str]:
    return [name for name, key in ACCEPTED.items() if asks_for(name, "anything else", key)]


if __name__ == "__main__":
    sys.stdout.write(render())
