"""The environment of a process as Apache Kafka's container image reads it: `KAFKA_*` names and `CLUSTER_ID`.

`KAFKA_` is removed, capitals become small, `_` stands for a dot, `__` for an underscore and `___` for a dash:
KAFKA_LOG_SEGMENT_BYTES is log.segment.bytes. A few names are for Kafka's scripts, JVM or logging, and are no keys. The
result is read as a server.properties file, with backslashes and line breaks, since the image writes such a file.

`KAFKA_CFG_*` are the same keys, as in Bitnami's images of Kafka: KAFKA_CFG_LOG_SEGMENT_BYTES. Those images made a
dot of every `_`; here `__` and `___` keep their meaning, since no key has two dots in a row. Bitnami's other names are
in `NOT_KEYS` and `_IDLE`. Two variables for the same setting must agree.

`BARNABAS_CONTAINER` is ours: any value except an empty one means that this is a container, whose gateway forwards the
connections to a mapped port (`broker/network/advertised_address.py`). This module knows no particular key and does not
read the environment itself.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import properties

_PREFIX = "KAFKA_"
_BITNAMI_PREFIX = "KAFKA_CFG_"
_CLUSTER_IDS = ("CLUSTER_ID", "KAFKA_CLUSTER_ID", "KAFKA_KRAFT_CLUSTER_ID")
_CONTAINER = "BARNABAS_CONTAINER"
_ALLOW_PLAINTEXT = "ALLOW_PLAINTEXT_LISTENER"
_YES = frozenset({"1", "yes", "true"})
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
        # The image takes these for keys of the broker, which ignores unknown keys; this broker ignores them silently.
        "KAFKA_JMX_PORT",
        "KAFKA_LOG4J_CMD_OPTS",
        # Of Bitnami's images: they request the default behaviour, or they name a directory.
        "KAFKA_CLUSTER_ID",
        "KAFKA_KRAFT_CLUSTER_ID",
        "KAFKA_ENABLE_KRAFT",
        "KAFKA_MOUNTED_CONF_DIR",
        # Files of TLS, which `secrets.py` reads.
        "KAFKA_SSL_KEYSTORE_FILENAME",
        "KAFKA_SSL_KEYSTORE_CREDENTIALS",
        "KAFKA_SSL_KEY_CREDENTIALS",
        "KAFKA_SSL_TRUSTSTORE_FILENAME",
        "KAFKA_SSL_TRUSTSTORE_CREDENTIALS",
    }
)
_IDLE = frozenset(
    {
        "KAFKA_CERTIFICATE_PASSWORD",
        "KAFKA_CLIENT_LISTENER_NAME",
        "KAFKA_CLIENT_PASSWORDS",
        "KAFKA_CLIENT_USERS",
        "KAFKA_CONTROLLER_PASSWORD",
        "KAFKA_CONTROLLER_USER",
        "KAFKA_INITIAL_CONTROLLERS",
        "KAFKA_INTER_BROKER_PASSWORD",
        "KAFKA_INTER_BROKER_USER",
        "KAFKA_NODE_ID_COMMAND",
        "KAFKA_CONTROLLER_QUORUM_VOTERS_COMMAND",
        "KAFKA_SKIP_KRAFT_STORAGE_INIT",
        "KAFKA_TLS_CLIENT_AUTH",
        "KAFKA_TLS_TRUSTSTORE_FILE",
        "KAFKA_TLS_TYPE",
    }
)
"""Of Bitnami's images, for users, certificates and other nodes: ignored with a warning."""


class EnvironmentSettings(NamedTuple):
    """The broker's settings from the environment."""

    settings: dict[str, str]
    """Values by configuration key."""
    variables: dict[str, str]
    """The variable that each of them comes from, if it is known."""
    cluster_id: str | None = None
    """The cluster id for a new data directory."""
    is_container: bool = False
    warnings: tuple[str, ...] = ()
    """Warnings about variables that are no keys."""
    java_options: str = ""
    """KAFKA_OPTS: options of Kafka's JVM, some of which are about security."""
    conflict: str | None = None
    """A sentence about two variables that contradict each other, or one that cannot be read: the start has to fail."""
    cut_off: Mapping[str, str] = MappingProxyType({})
    """The variables whose values end at a line break, each with a sentence about that."""
    process: Mapping[str, str] = MappingProxyType({})
    """All variables of the process, for values that name one: `${env:NAME}`, see `providers.py`."""


def read_environment(variables: Mapping[str, str]) -> EnvironmentSettings:
    """Read the settings from `variables` (such as os.environ). Never fails: values are checked later."""
    names: dict[str, str] = {}
    conflict = None
    for name in variables:
        if not name.startswith(_PREFIX) or name in NOT_KEYS or name in _IDLE:
            continue
        key, other = key_of(name), names.setdefault(key_of(name), name)
        if variables[other] != variables[name]:
            conflict = conflict or f"{_named(other, name)} are both {key}, with different values: remove one"
    unreadable = next((wrong for name in names.values() if (wrong := _unreadable(name, variables[name]))), None)
    read = {} if unreadable else {key: variables[name] for key, name in names.items()}
    cut_off = {name: _cut_off(name) for name in sorted(names[key] for key in read) if _has_line_breaks(variables[name])}
    given = {name: variables[name].strip() for name in _CLUSTER_IDS if variables.get(name, "").strip()}
    if len(set(given.values())) > 1:
        conflict = conflict or f"{_named(*given)} name different clusters: remove all but one"
    return EnvironmentSettings(
        settings=properties.decode_text("\n".join(f"{key}={text}" for key, text in read.items())),
        variables=names,
        cluster_id=next(iter(given.values()), None),
        is_container=bool(variables.get(_CONTAINER)),
        warnings=(*_warnings(variables), *cut_off.values()),
        java_options=variables.get("KAFKA_OPTS", ""),
        conflict=conflict or unreadable,
        cut_off=cut_off,
        process=variables,
    )


def key_of(variable: str) -> str:
    """Return the configuration key of a variable that begins with KAFKA_."""
    prefix = _BITNAMI_PREFIX if variable.startswith(_BITNAMI_PREFIX) else _PREFIX
    dotted = variable.removeprefix(prefix).lower().replace("_", ".")
    return dotted.replace("...", "-").replace("..", "_")


def _unreadable(variable: str, value: str) -> str | None:
    """Return why a value cannot be read, in a sentence without the value; None if it can."""
    try:
        value.encode()
        properties.decode_text(f"={value}")
    except UnicodeEncodeError:
        return f"{variable}: its value has bytes that are not UTF-8"
    except DecodeError as wrong:
        return f"{variable}: {str(wrong).removeprefix('line 1: ')}"
    return None


def _has_line_breaks(value: str) -> bool:
    """Return whether the value has further lines, which the image's file would take for separate settings."""
    return len(value.splitlines()) > 1 and len(properties.decode_text(f"={value}")) > 1


def _cut_off(variable: str) -> str:
    return (
        f"{variable}: its value has line breaks and ends at the first, as in Apache Kafka's image: write \\n for each"
    )


def _warnings(variables: Mapping[str, str]) -> Iterator[str]:
    idle = sorted(_IDLE & variables.keys())
    if idle:
        yield f"no effect here: {', '.join(idle)}. Kafka's own keys control access, and there are no other nodes"
    allowed = variables.get(_ALLOW_PLAINTEXT)
    if allowed is not None and allowed.strip().lower() not in _YES:
        yield f"{_ALLOW_PLAINTEXT} is {allowed}, which has no effect here: the listeners set their protocols"


def _named(*names: str) -> str:
    *first, last = sorted(names)
    return f"{', '.join(first)} and {last}"
