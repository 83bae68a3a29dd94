"""Keys that request protection or limits that this broker does not offer: it refuses to start with them.

An operator who sets one of these relies on it, and a broker that ignored it would be open without its owner's
knowledge. A key with Kafka's own default, or with an empty value, requests nothing.
"""

from barnabas.broker.config.definitions.keys import Key
from barnabas.broker.config.listeners.listener_keys import key_within

_BY_NAME = {
    "principal.builder.class": "a class that builds principals",
    "security.providers": "a security provider",
    "client.quota.callback.class": "a class that decides about quotas",
    "create.topic.policy.class.name": "a policy class",
    "alter.config.policy.class.name": "a policy class",
}


def asks_for(name: str, value: str | None, key: Key | None) -> str | None:
    """Return what the setting `name=value` requests that is not enforced here, or None. `key`: its row, if any."""
    if not value or (key is not None and value.strip() == key.default):
        return None
    within = key_within(name)
    return _BY_NAME.get(name if within is None else within)
