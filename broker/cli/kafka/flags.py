"""The parsing of the command lines of Kafka's tools, their common options, and their refusals.

Flags are parsed as by Kafka's own tools: `--flag value` or `--flag=value`, never abbreviated, and words that are no
flags are ignored. Where Kafka prints the table of all its flags after a refusal, these tools print only the refusal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from barnabas.broker.cli.terminal.client_settings import settings_in
from barnabas.broker.cli.terminal.options import INT64_MAX, addresses_of
from barnabas.client.client import Client
from barnabas.client.errors import BrokerSays, ConnectionFailed
from barnabas.client.security.client_properties import read_properties
from barnabas.protocol.errors import EncodeError, ErrorCode, KafkaError

ALONE, VALUE, MAYBE_VALUE = "alone", "value", "maybe"
"""Whether a value follows a flag."""
COMMON = {"bootstrap-server": VALUE, "command-config": VALUE, "help": ALONE, "version": ALONE}
_RENAMED = {"broker-list": "bootstrap-server"}  # a flag of Kafka's console-producer until 4.0
KAFKA_VERSION = "4.4.0"
"""The release whose behaviour the tools and the broker have."""
_API_TIMEOUT, _API_TIMEOUT_MS = "default.api.timeout.ms", 60_000
_REQUEST_TIMEOUT = "request.timeout.ms"
_PAUSE_S = 0.25
_SECURITY = ("security.protocol", "sasl.", "ssl.")
_WORDS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.OFFSET_OUT_OF_RANGE: (
        "The requested offset is not within the range of offsets maintained by the server."
    ),
    ErrorCode.GROUP_ID_NOT_FOUND: "The group id does not exist.",
    ErrorCode.INVALID_GROUP_ID: "The group id is invalid.",
    ErrorCode.NON_EMPTY_GROUP: "The group is not empty.",
    ErrorCode.UNKNOWN_MEMBER_ID: "The coordinator is not aware of this member.",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: (
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it."
    ),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
}
"""The messages of Java's client for error codes without a message."""


class CommandRefused(Exception):
    """An unsupported or wrong request, in Kafka's words: a line on stderr, and status 1."""


class WrongOption(CommandRefused):
    """A flag that is unknown, or lacks its value, or has too many."""


class Options:
    """The flags of a command line, in order."""

    def __init__(self, given: Sequence[tuple[str, str | None]]) -> None:
        self.given = given

    def has(self, flag: str) -> bool:
        """Return whether the flag was given."""
        return any(name == flag for name, _ in self.given)

    def values(self, flag: str) -> list[str]:
        """Return all values given with the flag."""
        return [value for name, value in self.given if name == flag and value is not None]

    def value(self, flag: str) -> str | None:
        """Return the value given with the flag. WrongOption if there is more than one."""
        found = self.values(flag)
        if len(found) > 1:
            raise WrongOption(f"Found multiple arguments for option {flag}, but you asked for only one")
        return found[0] if found else None

    def number(self, flag: str) -> int | None:
        """Return the value as a whole number. WrongOption if it is none."""
        text = self.value(flag)
        return None if text is None else whole_number(text, f"Cannot parse argument '{text}' of option {flag}")


def whole_number(text: str, otherwise: str) -> int:
    """Return the number; raise WrongOption with the text `otherwise` if it is not a number of 64 bits."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 19 or abs(int(text)) > INT64_MAX:
        raise WrongOption(otherwise)
    return int(text)


def read(flags: Mapping[str, str], arguments: Sequence[str]) -> Options:
    """Parse the command line of a tool with these flags (name -> whether a value follows) and the common ones.

    Raises WrongOption.
    """
    known = {**COMMON, **flags}
    given: list[tuple[str, str | None]] = []
    left = list(arguments)
    while left:
        word = left.pop(0)
        if not word.startswith("-") or word in ("-", "--"):
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if name not in known:
            raise WrongOption(f"{name} is not a recognized option")
        if known[name] is not ALONE and not equals and left and (known[name] is VALUE or left[0][:1] != "-"):
            equals, value = "=", left.pop(0)
        if known[name] is VALUE and not equals:
            raise WrongOption(f"Option {name} requires an argument")
        given.append((_RENAMED.get(name, name), value if equals else None))
    return Options(given)


def says_version(options: Options, arguments: Sequence[str], purpose: str, flags: Mapping[str, str]) -> bool:
    """Return whether --version was given, and print the version then. CommandRefused with all flags for --help or no
    flags.
    """
    if not arguments or options.has("help"):
        shown = {**flags, **COMMON}
        lines = (f"--{name}{'' if shown[name] is ALONE else ' <String>'}" for name in sorted(shown))
        raise CommandRefused("\n".join([purpose, *lines]))
    if options.has("version"):
        from importlib.metadata import version

        print(f"{KAFKA_VERSION} (Barnabas:{version('barnabas')})")
        return True
    return False


def need(options: Options, *flags: str) -> None:
    """Raise CommandRefused in Kafka's words if a flag is missing."""
    for flag in flags:
        if not options.has(flag):
            raise CommandRefused(f'Missing required argument "[{flag}]"')


def check_only_with(options: Options, only_with: Mapping[str, Iterable[str]]) -> None:
    """Raise CommandRefused if a flag was given without one of those that it needs."""
    for flag, needed in only_with.items():
        if options.has(flag) and not any(map(options.has, needed)):
            raise CommandRefused(f"Option(s) [{flag}] are unavailable given other options on the command line")


def check_together(options: Options, used: str, others: Iterable[str]) -> None:
    """Raise CommandRefused if one of the others was given, too."""
    for other in others if options.has(used) else ():
        if options.has(other):
            raise CommandRefused(f'Option "[{used}]" can\'t be used with option "[{other}]"')


def refusal(action: Callable[[], object]) -> KafkaError | None:
    """Do something, and return the error with which the broker refused it; None if it is done. ConnectionFailed."""
    try:
        action()
    except ConnectionFailed:
        raise
    except KafkaError as error:
        return error
    return None


def error_text(error: Exception) -> str:
    """Return the failure as Kafka's tool prints it: the broker's own message if there is one, else that of its code."""
    if isinstance(error, BrokerSays) and error.words:
        return error.words
    if not isinstance(error, KafkaError):
        return str(error)
    return error.message if isinstance(error, ConnectionFailed) else _WORDS.get(error.code, error.message)


@contextmanager
def cluster(
    options: Options, settings_flag: str = "command-config", *, also_known: Collection[str] = ()
) -> Iterator[Client]:
    """Hold a client that has reached a broker.

    Waits for a broker that is not reachable yet, as Kafka's clients do: a minute, or default.api.timeout.ms of the
    settings. UsageError for invalid settings. also_known: settings that the tool itself knows.
    """
    path = options.value(settings_flag)
    known = (_API_TIMEOUT, *also_known)
    settings = None if path is None else settings_in(path, also_known=known)
    security = None if settings is None else settings.security
    timeouts = {} if path is None else read_properties(path)
    api_timeout_ms = _ms(timeouts, _API_TIMEOUT, _API_TIMEOUT_MS)
    bootstrap = addresses_of(options.value("bootstrap-server"), settings)
    with Client(bootstrap, client_id="barnabas-cli", timeout_ms=api_timeout_ms, security=security) as client:
        _reach(client, min(api_timeout_ms, _ms(timeouts, _REQUEST_TIMEOUT, api_timeout_ms)))
        try:
            yield client
        except EncodeError as error:
            raise CommandRefused(f"an argument does not fit in a request: {error}") from error


def _ms(settings: Mapping[str, str], key: str, default: int) -> int:
    text = settings.get(key, "").strip()
    return int(text) if text.isascii() and text.isdecimal() and 0 < int(text) < 1 << 31 else default


def _reach(client: Client, attempt_ms: int) -> None:
    deadline, has_printed = client.deadline(), False
    while True:
        try:
            client.connect(min(attempt_ms, max(1, deadline.left_ms)))
            return
        except ConnectionFailed as error:
            if deadline.left_s <= _PAUSE_S:
                raise
            if not has_printed:
                print(f"WARN {error}: trying again for {deadline.left_s:.0f} s", file=sys.stderr)
                has_printed = True
        client.clock.sleep(_PAUSE_S)


def client_properties(options: Options, flags: Sequence[str], file_flag: str, prog: str) -> dict[str, str]:
    """Return the settings of a client: those of a file, overridden by those of the command line. CommandRefused."""
    settings = pairs(word for flag in flags for word in options.values(flag))
    refuse_security(settings, prog)
    path = options.value(file_flag)
    try:
        return settings if path is None else {**read_properties(path), **settings}
    except ValueError as error:
        raise CommandRefused(str(error)) from error


def refuse_security(settings: Mapping[str, str], prog: str) -> None:
    """Raise CommandRefused for security settings on the command line, where every process of the machine could read
    them.
    """
    for key, value in settings.items():
        if key.startswith(_SECURITY) and (key, value) != ("security.protocol", "PLAINTEXT"):
            raise CommandRefused(f"{prog}: put {key} into a file, and name it with --command-config")


def pairs(words: Iterable[str]) -> dict[str, str]:
    """Return `key=value` of each word; without a value it is empty."""
    return {key: value for key, _, value in (word.partition("=") for word in words)}
