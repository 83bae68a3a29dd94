"""The security options in KAFKA_OPTS: options of Kafka's JVM, as the start scripts of a cluster set them.

`-Djava.security.auth.login.config=FILE` names a JAAS file, which is read, and
`-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=URL,…` lists the only URLs that token keys may come from. Any other
option of Java's security would be ignored here, and so is refused, except those that only choose the source of random
numbers or print debug output. Values of the JAAS file may refer to properties of any name.

Kafka's scripts split the text at blanks and treat quotes like other characters; so does this module. Words other than
-D options (memory, agents) have no effect here, and are reported by the beginning of an option's name: the rest, or a
word that is no option, may be a part of a quoted secret.
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
    """The options that have an effect."""

    login_config: str | None
    """The path of a JAAS file."""
    allowed_token_urls: frozenset[str] | None
    properties: Mapping[str, str]
    """All properties set with -D, by name."""
    warnings: tuple[str, ...]


def java_options(options: str) -> JavaOptions:
    """Read the options. ConfigError for a security option that has no effect here."""
    words = re.findall(r"[^ \t\n]+", options)
    properties = dict(word[2:].partition("=")[::2] for word in words if word.startswith("-D"))
    for name in properties:
        if name.startswith(_OF_SECURITY) and name not in (*_HARMLESS, _LOGIN_CONFIG, ALLOWED_URLS):
            raise ConfigError(f"{VARIABLE}: -D{name} has no effect in this broker: remove it to start", VARIABLE)
    path, urls = properties.get(_LOGIN_CONFIG), properties.get(ALLOWED_URLS)
    if path is not None:
        path = path.removeprefix("=").removeprefix("file:")  # == is Java's syntax for: only this file
    if path == "":
        raise ConfigError(f"{VARIABLE}: -D{_LOGIN_CONFIG} names no file", VARIABLE)
    allowed = None if urls is None else frozenset(url.strip() for url in urls.split(","))
    return JavaOptions(path, allowed, properties, tuple(_warnings(words)))


def _warnings(words: list[str]) -> list[str]:
    """Return one warning about all words that set no property, if there are any."""
    others = [word for word in words if not word.startswith("-D")]
    if not others:
        return []
    named = sorted({found[0] for word in others if (found := _OPTION.match(word))})
    count = sum(_OPTION.match(word) is None for word in others)
    if count:
        named.append("1 word that is not an option" if count == 1 else f"{count} words that are not options")
    return [
        f"no effect here: of {VARIABLE} {', '.join(named)}. It is split at blanks, also in quotes, and only -D is read"
    ]
