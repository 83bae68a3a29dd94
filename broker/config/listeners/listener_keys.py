"""The names of one listener's settings: `listener.name.NAME.KEY` and `listener.name.NAME.MECHANISM.KEY` (KIP-103).

NAME and MECHANISM are in small letters. A listener may have its own values of Kafka's `dynamic per-broker` keys of TLS
and SASL, and of its limits of connections; others are unknown keys.
"""

from barnabas.broker.config.definitions.keys import Key, Update

PREFIX = "listener.name."
_OF_A_MECHANISM = ("sasl.", "connections.max.reauth.ms")
_OF_A_LISTENER = ("ssl.", "sasl.", "connections.max.reauth.ms", "max.connection", "principal.builder.class")


ONLY_OF_A_LISTENER = frozenset(
    (
        "ssl.key.password",
        *(f"ssl.keystore.{word}" for word in ("certificate.chain", "key", "location", "password", "type")),
        *(f"ssl.truststore.{word}" for word in ("certificates", "location", "password", "type")),
    )
)
"""Keys that may change at run time, but only for one listener: SslConfigs.RECONFIGURABLE_CONFIGS."""


def key_within(name: str) -> str | None:
    """Return KEY of `listener.name.NAME.KEY` or `listener.name.NAME.MECHANISM.KEY`; None for a name of another form."""
    if not name.startswith(PREFIX):
        return None
    _, _, rest = name[len(PREFIX) :].partition(".")
    if rest.startswith(_OF_A_LISTENER):
        return rest
    _, _, key = rest.partition(".")
    return key if key.startswith(_OF_A_MECHANISM) else None


def row_of_listener(name: str, key: Key) -> Key:
    """Return the row of `name`, a listener's setting, made from the row of its key, without a default."""
    update = Update.PER_BROKER if key.update is not Update.READ_ONLY else Update.READ_ONLY
    return key._replace(name=name, default=None, update=update)
