"""The settings that differ between several nodes of one process: ids, addresses and racks.

The configuration is given for the first node. The ids of the others count up from it, and so do the ports of their
listeners (port 0 stays 0); the racks are the elements of the list `broker.rack`. All other settings are common to all
nodes, except settings that were made for a single node and have no effect here, such as replication throttles.

The address of the HTTP server is described as a setting of every node, which cannot be set: `barnabas.http.address`.
So a Kafka client can find the HTTP server, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.definitions.keys import KEYS, STRING, Key
from barnabas.broker.config.racks import racks
from barnabas.broker.config.resources.dynamic import usable

HTTP_ADDRESS = Key("barnabas.http.address", STRING, None)
"""Described if the broker serves HTTP."""


def set_http_address(config: BrokerConfig, address: str | None) -> None:
    """Set the HTTP address, HOST:PORT, in the configuration; None removes it, whatever a file says."""
    setting = {} if address is None else {HTTP_ADDRESS.name: address}
    config.static = {**{key: text for key, text in config.static.items() if key != HTTP_ADDRESS.name}, **setting}


def config_of_node(shared: BrokerConfig, number: int, nodes: int, made: Mapping[str, str]) -> BrokerConfig:
    """Return the current configuration of node `number`, counted from 0. made: settings made for that node."""
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
    """Return the listener, NAME://host:port, with its port increased by `number`."""
    rest, _, port = listener.rpartition(":")
    return f"{rest}:{int(port) + number}" if port.isdecimal() and int(port) else listener
