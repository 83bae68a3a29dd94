"""Keys that ask for protection or limits this broker does not give: it refuses to start rather than pretend.

Whoever sets one of these counts on it, and a broker that ignored it would be open where its owner thinks it is shut.
A key that is left at Kafka's own default, or set to nothing, asks for nothing.
"""

from barnabas.broker.config.definitions.keys import Key
from barnabas.broker.config.listeners.listener_keys import key_within

_BY_NAME = {
    "principal.builder.class": "a class that makes principals",
    "security.providers": "a provider of security",
    "client.quota.callback.class": "a class that decides about quotas",
    "create.topic.policy.class.name": "a policy class",
    "alter.config.policy.class.name": "a policy class",
}


def asks_for(name: str, value: str | None, key: Key | None) -> str | None:
    """What the setting `name=value` asks for that is not enforced here, or None. `key` is its row, if it has one."""
    if not value or (key is not None and value.strip() == key.default):
        return None
    within = key_within(name)
    return _BY_NAME.get(name if within is None else within)
