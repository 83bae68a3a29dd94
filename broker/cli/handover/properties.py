"""A server.properties with which Apache Kafka serves a directory as this broker did, on one node.

Pure. Kafka needs explicit settings for this broker's defaults: that it is broker and controller, the controller's
listener, and one replica for its internal topics. The user's own settings follow, without those that only have a
meaning here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from barnabas.broker.config import BrokerConfig, Listener
from barnabas.protocol.files.properties import ascii_value

CONTROLLER_PORT = 9093
_CONTROLLER = "CONTROLLER"
_ONE_NODE = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
_SET_OTHERWISE = frozenset(
    {
        *("node.id", "broker.id", "process.roles", "log.dir", "log.dirs", "metadata.log.dir"),
        *("listeners", "advertised.listeners", "listener.security.protocol.map", "inter.broker.listener.name"),
        *("security.inter.broker.protocol", "controller.listener.names"),
        *("controller.quorum.bootstrap.servers", "controller.quorum.voters"),
        *("default.replication.factor", *_ONE_NODE),
    }
)
_DEFAULTS_HERE = ("group.initial.rebalance.delay.ms",)
"""Defaults that differ from Kafka's in a way that clients notice."""
_OWN_PREFIX = "barnabas."
_UNSTABLE = "unstable.api.versions.enable"
_TWO_PHASES = "transaction.two.phase.commit.enable"


class NodeDirectories(NamedTuple):
    """The node id and the directories: paths are absolute; `metadata_dir` may be one of the directories, or another."""

    node_id: int
    directories: Sequence[str]
    metadata_dir: str
    has_voters: bool


def server_properties(config: BrokerConfig, place: NodeDirectories, controller_port: int) -> str:
    """Return the file's content. ValueError if the controller's port is the port of a listener."""
    return "".join(f"{line}\n" for line in _lines(config, place, controller_port))


def _lines(config: BrokerConfig, place: NodeDirectories, controller_port: int) -> Iterator[str]:
    listeners = config.listeners
    if any(each.port == controller_port for each in listeners):
        raise ValueError(f"port {controller_port} is used by a listener: give another one for the controller")
    names = [each.name for each in listeners]
    controller = _CONTROLLER if _CONTROLLER not in names else f"{_CONTROLLER}_QUORUM"
    yield "# one node, broker and controller, on the data of barnabas"
    yield "process.roles=broker,controller"
    yield f"node.id={place.node_id}"
    yield f"log.dirs={ascii_value(','.join(place.directories))}"
    if place.metadata_dir != place.directories[0]:
        yield f"metadata.log.dir={ascii_value(place.metadata_dir)}"
    yield f"listeners={','.join([*map(_address, listeners), f'{controller}://localhost:{controller_port}'])}"
    advertised = config.configured_advertised_listeners
    if advertised:
        yield f"advertised.listeners={','.join(map(_address, advertised))}"
    elif any(each.is_every_interface for each in listeners):
        yield "# clients get the name of this machine; if they cannot use it, set advertised.listeners"
    protocols = [f"{each.name}:{each.protocol}" for each in listeners]
    yield f"listener.security.protocol.map={','.join([*protocols, f'{controller}:PLAINTEXT'])}"
    yield f"inter.broker.listener.name={(advertised or listeners)[0].name}"
    yield f"controller.listener.names={controller}"
    if place.has_voters:
        yield f"controller.quorum.bootstrap.servers=localhost:{controller_port}"
    else:
        yield f"controller.quorum.voters={place.node_id}@localhost:{controller_port}"
    yield from (f"{name}={value}" for name, value in _ONE_NODE.items())
    yield from (f"{name}={config.text(name)}" for name in _DEFAULTS_HERE if name not in config.static)
    if config.boolean(_TWO_PHASES) and _UNSTABLE not in config.static:
        yield f"{_UNSTABLE}=true"  # without it Kafka offers no two-phase commits
    kept = {name: text for name, text in config.static.items() if _is_kept(name)}
    if kept:
        yield "# as set for barnabas"
    yield from (f"{name}={ascii_value(text)}" for name, text in sorted(kept.items()))


def _is_kept(name: str) -> bool:
    return name not in _SET_OTHERWISE and not name.startswith(_OWN_PREFIX)


def _address(listener: Listener) -> str:
    """Return a listener in Kafka's form: every interface has no host, since Kafka does not advertise 0.0.0.0."""
    host = "" if listener.is_every_interface else listener.host
    return f"{listener.name}://{f'[{host}]' if ':' in host else host}:{listener.port}"
