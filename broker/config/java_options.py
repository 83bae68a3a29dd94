"""What KAFKA_OPTS says about security: options of Kafka's JVM, as the start scripts of a cluster have them.

`-Djava.security.auth.login.config=FILE` names a JAAS file, which is read, and
`-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=URL,…` the only URLs that keys of tokens may come from. Any other
option that Java's security goes by would be ignored here, and so is refused; but for those that only say where random
numbers come from, or what is printed for debugging. Options that are about something else (memory, agents, logging) are
not looked at.
"""

from typing import NamedTuple

from barnabas.broker.config.broker_config import ConfigError

VARIABLE = "KAFKA_OPTS"
_LOGIN_CONFIG = "java.security.auth.login.config"
ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
_OF_SECURITY = (
    "com.sun.jndi.",
    "com.sun.security.",
    "java.security.",
    "javax.net.ssl.",
    "javax.security.",
    "jdk.security.",
    "jdk.tls.",
    "org.apache.kafka.",
    "sun.security.",
)
_HARMLESS = frozenset({"java.security.egd", "java.security.debug", "javax.net.debug", "sun.security.krb5.debug"})


class JavaOptions(NamedTuple):
    """Those that have an effect."""

    login_config: str | None
    """The path of a JAAS file."""
    allowed_token_urls: frozenset[str] | None


def java_options(options: str) -> JavaOptions:
    """ConfigError for an option of security that has no effect here."""
    path, urls = None, None
    for option in options.split():
        name, _, value = option.removeprefix("-D").partition("=")
        if not option.startswith("-D"):
            continue
        if name == _LOGIN_CONFIG:
            path = value.removeprefix("=").removeprefix("file:")  # == is Java's way to say: this file alone
        elif name == ALLOWED_URLS:
            urls = frozenset(url.strip() for url in value.split(","))
        elif name.startswith(_OF_SECURITY) and name not in _HARMLESS:
            raise ConfigError(f"{VARIABLE}: -D{name} has no effect in this broker: remove it to start", VARIABLE)
    if path == "":
        raise ConfigError(f"{VARIABLE}: -D{_LOGIN_CONFIG} names no file", VARIABLE)
    return JavaOptions(path, urls)
