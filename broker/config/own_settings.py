"""What of the configuration is a node's own where several nodes of one process share it: who and where it is.

The configuration is given for the first node. The ids of the others follow, and so do the ports of their listeners
(port 0 stays 0); racks are in the list that `broker.rack` is. Whatever else is set is set for all of them, but for
settings made for one of them that have no effect here, such as limits of what is replicated.

Where the broker serves HTTP is told as a setting of any node, which nobody can set: `barnabas.http.address`. So whoever
reaches it as a client finds the other door, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.definitions.keys import KEYS, STRING, Key
from barnabas.broker.config.racks import racks
from barnabas.broker.config.resources.dynamic import usable

HTTP_ADDRESS = Key("barnabas.http.address", STRING, None)
"""Described where the broker serves HTTP."""


def tell_http(config: BrokerConfig, address: str | None) -> None:
    """Have the configuration tell where HTTP is served, HOST:PORT; None where it is not, whatever a file says."""
    told = {} if address is None else {HTTP_ADDRESS.name: address}
    config.static = {**{key: text for key, text in config.static.items() if key != HTTP_ADDRESS.name}, **told}


def config_of_node(shared: BrokerConfig, number: int, nodes: int, made: Mapping[str, str]) -> BrokerConfig:
    """The configuration as the node of this number, from 0 on, tells it now. made: settings made for it."""
    own = dict(shared.static)
    for name in ("node.id", "broker.id"):
        if name in own or number:
            own[name] = str(shared.node_id + number)
    rack = racks(own.pop("broker.rack", None), nodes)[number]
    if rack is not None:
        own["broker.rack"] = rack
    controllers = {name.upper() for name in shared.strings("controller.listener.names")}
    for key in ("listeners", "advertised.listeners"):
        if key in own:
            listeners = (word.strip() for word in own[key].split(","))
            own[key] = ",".join(
                each if each.partition("://")[0].upper() in controllers else _shifted(each, number)
                for each in listeners
            )
    config = BrokerConfig(own, cluster_id=shared.cluster_id, is_container=shared.is_container)
    in_force = shared.per_broker
    if number:
        in_force = {key: text for key, text in in_force.items() if key in KEYS} | usable(made)
    config.follow(in_force, shared.cluster_wide)
    return config


def _shifted(listener: str, number: int) -> str:
    """With the port that many behind: NAME://host:port."""
    rest, _, port = listener.rpartition(":")
    return f"{rest}:{int(port) + number}" if port.isdecimal() and int(port) else listener
