"""The environment of a process as Apache Kafka's container image reads it: `KAFKA_*` names and `CLUSTER_ID`.

`KAFKA_` goes, capitals become small, `_` stands for a dot, `__` for an underscore and `___` for a dash:
KAFKA_LOG_SEGMENT_BYTES is log.segment.bytes. A few names mean Kafka's scripts, JVM or logging, and are no keys. What is
found is a server.properties file, backslashes and line breaks included, since a file is what the image makes of it.

`BARNABAS_CONTAINER` is ours: set to anything but nothing it says that this is a container, whose gateway brings those
that come in by a mapped port (`broker/net/advertised.py`). Knows no particular key and reads no environment itself.
"""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.protocol.files import properties

_PREFIX = "KAFKA_"
_CLUSTER_ID = "CLUSTER_ID"
_CONTAINER = "BARNABAS_CONTAINER"
NOT_KEYS = frozenset(
    {
        "KAFKA_VERSION",
        "KAFKA_HEAP_OPTS",
        "KAFKA_LOG4J_OPTS",
        "KAFKA_OPTS",
        "KAFKA_JMX_OPTS",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_GC_LOG_OPTS",
        "KAFKA_LOG4J_ROOT_LOGLEVEL",
        "KAFKA_LOG4J_LOGGERS",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL",
        "KAFKA_JMX_HOSTNAME",
        # The image takes these for keys of the broker, which does not know them and ignores them; so do we, in silence.
        "KAFKA_JMX_PORT",
        "KAFKA_LOG4J_CMD_OPTS",
    }
)


class Environment(NamedTuple):
    """What the environment says about the broker."""

    settings: dict[str, str]
    """Values by configuration key."""
    variables: dict[str, str]
    """The variable each of them comes from, as far as it is known."""
    cluster_id: str | None = None
    """The id of the cluster that a new data directory begins."""
    is_container: bool = False


def read_environment(variables: Mapping[str, str]) -> Environment:
    """What `variables` (such as os.environ) say. Never fails: whether a value can be used is looked at later."""
    names = {key_of(name): name for name in variables if name.startswith(_PREFIX) and name not in NOT_KEYS}
    text = "\n".join(f"{key}={variables[name]}" for key, name in names.items())
    return Environment(
        settings=properties.decode(text.encode("utf-8", "replace")),
        variables=names,
        cluster_id=variables.get(_CLUSTER_ID, "").strip() or None,
        is_container=bool(variables.get(_CONTAINER)),
    )


def key_of(variable: str) -> str:
    """The configuration key that a variable beginning with KAFKA_ stands for."""
    dotted = variable.removeprefix(_PREFIX).lower().replace("_", ".")
    return dotted.replace("...", "-").replace("..", "_")
