"""docs/config.md, made from the tables of keys: `python -m broker.config.reference_page > docs/config.md`."""

import sys
from collections.abc import Iterable, Iterator

from broker.config.accepted import ACCEPTED
from broker.config.docs import documentation, why_without_effect
from broker.config.keys import KEYS, Key, Update
from broker.config.refusals import asks_for
from broker.config.topic_configs import TOPIC_KEYS, TopicKey

_HEAD = """\
# Configuration

Keys have Apache Kafka's names, types and ranges (4.3.1). They come from four places; the first that has a key wins:

1. the flags of `barnabas serve` (`--host`, `--port`, `--data-dir` …),
2. `--set key=value`,
3. `KAFKA_*` environment variables,
4. the file given with `--config`, a `server.properties`.

A key that Kafka does not know is reported and ignored. A value that the key cannot take stops the start. So does a key
or a listener that asks for protection this broker does not give (TLS, SASL, an authorizer, a quota, a policy class):
remove it to start. What a key inherits, or what stands in for it, is shown by `barnabas configs`.

While the broker runs, `per-broker` and `cluster-wide` keys can be changed with IncrementalAlterConfigs
(`kafka-configs.sh`, `barnabas configs`); what is set so is kept in the catalogue and comes before the four places.

Defaults are Kafka's, except: `node.id` and `broker.id` are 1, `listeners` is on loopback, `log.dir` is `data`,
`queued.max.request.bytes` is finite, `group.initial.rebalance.delay.ms` is 0, and the replication factor and the
smallest in-sync set of internal topics are 1.
"""


def render() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    yield "## The broker\n"
    yield from _table(KEYS.values())
    yield "\n## Topics\n"
    yield "A topic without a value of its own takes the broker's, where `inherits` names a key, and else the default.\n"
    yield "| key | type | default | values | inherits | what it does |"
    yield "|---|---|---|---|---|---|"
    for topic_key in TOPIC_KEYS.values():
        inherits = f"`{topic_key.inherits}`" if topic_key.inherits else ""
        yield f"{_columns(topic_key)} {inherits} | {documentation(topic_key.name)} |"
    yield "\n## Kafka's keys without effect here\n"
    yield "They are checked and described, so that a configuration written for Kafka starts.\n"
    yield "| key | type | default | why |"
    yield "|---|---|---|---|"
    for key in ACCEPTED.values():
        yield f"| `{key.name}` | {key.type.name.lower()} | {_default(key)} | {why_without_effect(key.name)} |"
    yield "\n## Keys that refuse to start\n"
    yield "Set to anything but Kafka's default: " + ", ".join(f"`{name}`" for name in _refusing()) + "."


def _table(keys: Iterable[Key]) -> Iterator[str]:
    yield "| key | type | default | values | while running | what it does |"
    yield "|---|---|---|---|---|---|"
    for key in keys:
        update = "" if key.update is Update.READ_ONLY else key.update.value
        yield f"{_columns(key)} {update} | {documentation(key.name)} |"


def _columns(key: Key | TopicKey) -> str:
    values = "" if key.check is None else str(key.check)
    return f"| `{key.name}` | {key.type.name.lower()} | {_default(key)} | {values} |"


def _default(key: Key | TopicKey) -> str:
    return f"`{key.default}`" if key.default else ""


def _refusing() -> list[str]:
    return [name for name, key in ACCEPTED.items() if asks_for(name, "anything else", key)]


if __name__ == "__main__":
    sys.stdout.write(render())
