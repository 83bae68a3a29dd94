"""Keys that ask for protection or limits this broker does not give: it refuses to start rather than pretend.

Whoever sets one of these counts on it, and a broker that ignored it would be open where its owner thinks it is shut.
A key that is left at Kafka's own default, or set to nothing, asks for nothing.
"""

from barnabas.broker.config.keys import Key

_BY_PREFIX = (
    ("ssl.", "TLS"),
    ("sasl.", "SASL"),
    ("quota.producer.", "a quota"),
    ("quota.consumer.", "a quota"),
)
_BY_NAME = {
    "authorizer.class.name": "an authorizer",
    "delegation.token.secret.key": "SASL delegation tokens",
    "client.quota.callback.class": "a quota",
    "max.connection.creation.rate": "a quota",
    "max.connections.per.ip": "a quota",
    "max.connections.per.ip.overrides": "a quota",
    "create.topic.policy.class.name": "a policy class",
    "alter.config.policy.class.name": "a policy class",
}
_LISTENER_PREFIX = "listener.name."


def asks_for(name: str, value: str | None, key: Key | None) -> str | None:
    """What the setting `name=value` asks for that is not enforced here, or None. `key` is its row, if it has one."""
    if not value or (key is not None and value.strip() == key.default):
        return None
    if name == "security.inter.broker.protocol":
        return None if value.strip() == "PLAINTEXT" else value.strip()
    if name.startswith(_LISTENER_PREFIX):  # listener.name.NAME.ssl.…, listener.name.NAME.MECHANISM.sasl.…
        words = name.split(".")[3:]
        if words == ["max", "connections"]:
            return "a limit of one listener"
        return _asked_by(".".join(words)) or _asked_by(".".join(words[1:]))
    return _asked_by(name)


def _asked_by(name: str) -> str | None:
    for prefix, what in _BY_PREFIX:
        if name.startswith(prefix):
            return what
    return _BY_NAME.get(name)
