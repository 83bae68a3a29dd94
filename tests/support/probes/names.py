"""What has another value in every run, by name: ids of topics, members, producers, sessions, tokens, addresses, times.

In a book an id is `<producer1>`: the first producer id that an answer brought, and the same wherever it comes again in
the story, in answers as in requests. `<topic f>` is the id of topic f, or one that no topic has when there is none.
A value that clients never send back is only named by its kind: `<port>`, `<time>`.
"""

import hashlib
import re
from typing import Any

from barnabas.protocol.primitives import ZERO_UUID

# Fields that hold an id, and the kind of it. What the reader of a story gave itself stays as it is.
_KINDS = {
    "member_id": "member",
    "leader": "member",
    "producer_id": "producer",
    "ongoing_txn_producer_id": "producer",
    "session_id": "session",
    "cluster_id": "cluster",
    "replica_directory_id": "directory",
    "log_dir": "path",
    "client_instance_id": "instance",
    "subscription_id": "subscription",
    "token_id": "token",
    "hmac": "hmac",
}
_ONLY_KINDS = {
    "host": "host",
    "port": "port",
    "leader_epoch": "epoch",
    "coordinator_epoch": "epoch",
    "finalized_features_epoch": "epoch",
    "log_append_time_ms": "time",
    "last_timestamp": "time",
    "transaction_start_time_ms": "time",
    "start_timestamp": "time",
    "session_lifetime_ms": "time",
    "issue_timestamp": "time",
    "expiry_timestamp": "time",
    "max_timestamp": "time",
    "issue_timestamp_ms": "time",
    "expiry_timestamp_ms": "time",
    "max_timestamp_ms": "time",
    "documentation": "text",
    "total_bytes": "bytes",
    "usable_bytes": "bytes",
    "last_fetch_timestamp": "time",
    "last_caught_up_timestamp": "time",
    "log_end_offset": "offset",
}
_LIFETIMES = (2000, 60_000)  # what pages set connections.max.reauth.ms to
_UNSET: dict[str, tuple[Any, ...]] = {"session": (0,), "producer": (0,), "time": (0, *_LIFETIMES), "subscription": (0,)}
_UNSET["hmac"] = (b"",)
_UNSET_ANYWHERE: tuple[Any, ...] = (None, "", -1, ZERO_UUID)
_NAME = re.compile(r"<([^>]*)>")
_GIVEN_PRODUCER = re.compile(r"\bproducer=(\d+)")


class Unknown(LookupError):
    """A name that no answer brought."""


class Names:
    """The names of one run of a page: those of topics for the whole of it, all others for one story."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._names: dict[tuple[str, Any], str] = {}
        self._given: set[Any] = set()
        self.signatures: set[bytes] = set()
        """What a server of SCRAM has to answer to what a story sent."""

    def begin_story(self) -> None:
        """Count from one again."""
        self._names = {key: name for key, name in self._names.items() if key[0] == "topic"}
        self._values = {name: value for (_, value), name in self._names.items()}
        self._given.clear()

    def learn_topic(self, name: str, topic_id: bytes) -> None:
        self._learn(f"topic {name}", "topic", topic_id)

    def give(self, field: str, value: Any) -> None:
        """The story itself chose this value: it may be shown."""
        if field in _KINDS:
            self._given.add(value)

    def value(self, word: str) -> Any:
        """What `<producer1>` stands for; Unknown when no answer brought it yet."""
        name = word.removeprefix("<").removesuffix(">")
        if name.startswith("topic ") and name not in self._values:
            self._learn(name, "topic", hashlib.md5(name.encode()).digest())
        if name not in self._values:
            raise Unknown(f"no answer brought {word}")
        return self._values[name]

    def in_expression(self, text: str) -> str:
        """An expression with the names in it replaced by what they stand for."""
        self._given.update(int(number) for number in _GIVEN_PRODUCER.findall(text))
        return _NAME.sub(lambda match: repr(self.value(match[0])), text)

    def word(self, field: str, value: Any) -> str | None:
        """How this field of an answer is written; None when its value may be shown."""
        if field == "topic_id" and value != ZERO_UUID:
            return f"<{self._name('topic', value)}>"
        if value in _UNSET_ANYWHERE:
            return None
        if field == "auth_bytes" and isinstance(value, bytes):
            return self._of_scram(value)
        kind = _KINDS.get(field) or _ONLY_KINDS.get(field)
        if kind is None or value in self._given or value in _UNSET.get(kind, ()):
            return None
        if field in _ONLY_KINDS:
            return f"<{kind}>"
        return f"<{self._name(kind, value)}>"

    def _of_scram(self, value: bytes) -> str | None:
        """The first message of a SCRAM server is random; its last one must be right."""
        if value.startswith(b"v="):
            return "<signature>" if value in self.signatures else "<wrong signature>"
        return f"<{self._name('challenge', value)}>" if value.startswith(b"r=") else None

    def _name(self, kind: str, value: Any) -> str:
        if (kind, value) not in self._names:
            count = sum(known == kind for known, _ in self._names)
            self._learn(f"{kind}{count + 1}", kind, value)
        return self._names[kind, value]

    def _learn(self, name: str, kind: str, value: Any) -> None:
        self._values[name] = value
        self._names[kind, value] = name
