"""What KAFKA_OPTS says about security: options of Kafka's JVM, as the start scripts of a cluster have them.

`-Djava.security.auth.login.config=FILE` names a JAAS file, which is read, and
`-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=URL,…` the only URLs that keys of tokens may come from. Any other
option that Java's security goes by would be ignored here, and so is refused; but for those that only say where random
numbers come from, or what is printed for debugging. Properties of any name are known to values of the JAAS file.

Kafka's scripts cut the text up at blanks and take quotes for characters like others; so do we. Words that are no -D
(memory, agents) have no effect here, and are told by the beginning of an option's name: the rest, and a word that is no
option, may be a part of a secret that somebody put in quotes.
"""

import re
from collections.abc import Mapping
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
_OPTION = re.compile(r"-javaagent|-agent(?:lib|path)|-XX|-X[a-z]{,4}|--add-[a-z]+|-(?:ea|server|verbose)\b")


class JavaOptions(NamedTuple):
    """Those that have an effect."""

    login_config: str | None
    """The path of a JAAS file."""
    allowed_token_urls: frozenset[str] | None
    properties: Mapping[str, str]
    """Everything that a -D sets, by name."""
    warnings: tuple[str, ...]


def java_options(options: str) -> JavaOptions:
    """ConfigError for an option of security that has no effect here."""
    words = re.findall(r"[^ \t\n]+", options)
    properties = dict(word[2:].partition("=")[::2] for word in words if word.startswith("-D"))
    for name in properties:
        if name.startswith(_OF_SECURITY) and name not in (*_HARMLESS, _LOGIN_CONFIG, ALLOWED_URLS):
            raise ConfigError(f"{VARIABLE}: -D{name} has no effect in this broker: remove it to start", VARIABLE)
    path, urls = properties.get(_LOGIN_CONFIG), properties.get(ALLOWED_URLS)
    if path is not None:
        path = path.removeprefix("=").removeprefix("file:")  # == is Java's way to say: this file alone
    if path == "":
        raise ConfigError(f"{VARIABLE}: -D{_LOGIN_CONFIG} names no file", VARIABLE)
    allowed = None if urls is None else frozenset(url.strip() for url in urls.split(","))
    return JavaOptions(path, allowed, properties, tuple(_warnings(words)))


def _warnings(words: list[str]) -> list[str]:
    """One, about all words that set no property."""
    others = [word for word in words if not word.startswith("-D")]
    if not others:
        return []
    named = sorted({found[0] for word in others if (found := _OPTION.match(word))})
    count = sum(_OPTION.match(word) is None for word in others)
    if count:
        named.append("1 word that is no option" if count == 1 else f"{count} words that are no options")
    return [
        f"no effect here: of {VARIABLE} {', '.join(named)}. It is cut at blanks, also in quotes, and only -D is read"
    ]
