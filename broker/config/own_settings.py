"""What of the configuration is a node's own where several nodes of one process share it: who and where it is.

The configuration is given for the first node. The ids of the others follow, and so do the ports of their listeners
(port 0 stays 0); racks are in the list that `broker.rack` is. Whatever else is set is set for all of them.
"""

from __future__ import annotations

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.racks import racks


def config_of_node(shared: BrokerConfig, number: int, nodes: int) -> BrokerConfig:
    """The configuration as the node of this number, from 0 on, tells it now."""
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
    config.follow(shared.per_broker, shared.cluster_wide)
    return config


def _shifted(listener: str, number: int) -> str:
    """With the port that many behind: NAME://host:port."""
    rest, _, port = listener.rpartition(":")
    return f"{rest}:{int(port) + number}" if port.isdecimal() and int(port) else listener
