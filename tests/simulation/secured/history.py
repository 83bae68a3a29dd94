"""What clients did to prove who they are, what they asked for then, and what an operator set: users, ACLs and quotas.

Whatever is set has a `Key` and a value; None is that it is not there. What was never answered may have been done, once,
at any time until `late_us`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias


class AclKey(NamedTuple):
    """An ACL. Its value is True where it is there."""

    resource: int
    name: str
    pattern: int
    principal: str
    host: str
    operation: int
    permission: int


class UserKey(NamedTuple):
    """A user of SCRAM-SHA-256. Its value is the password."""

    user: str


class QuotaKey(NamedTuple):
    """A quota of a user. Its value is the number."""

    user: str
    name: str


Key: TypeAlias = AclKey | UserKey | QuotaKey
Value: TypeAlias = str | float | None


@dataclass(slots=True, eq=False)
class Setting:
    """One try to set something."""

    key: Key
    value: Value
    began_us: int
    ended_us: int | None = None
    """When it was answered; None if it never was."""
    late_us: int | None = None
    """When it was not answered: until when it may have been done."""

    @property
    def over_us(self) -> int | None:
        """When it was done, or never will be; None while nobody knows."""
        return self.late_us if self.ended_us is None else self.ended_us

    def line(self) -> str:
        state = "open" if self.over_us is None else "unknown" if self.ended_us is None else "ok"
        return f"security {self.key} = {self.value}: {state}"


@dataclass(slots=True, eq=False)
class LoginTry:
    """One exchange of SASL."""

    client: str
    user: str
    mechanism: str
    password: str
    began_us: int
    is_again: bool
    ended_us: int | None = None
    is_ok: bool | None = None
    """None if the broker never said."""
    lifetime_ms: int = 0
    said: str = ""

    def succeeded(self, now_us: int, lifetime_ms: int) -> None:
        """The broker believes it."""
        self.ended_us, self.is_ok, self.lifetime_ms = now_us, True, lifetime_ms

    def refused(self, now_us: int, said: str) -> None:
        """The broker does not."""
        self.ended_us, self.is_ok, self.said = now_us, False, said

    def line(self) -> str:
        result = {True: f"ok for {self.lifetime_ms} ms", False: self.said, None: "open"}[self.is_ok]
        again = " again" if self.is_again else ""
        return f"{self.client} login{again} {self.user}/{self.password} by {self.mechanism}: {result}"


@dataclass(slots=True, eq=False)
class Asked:
    """One request for one resource, which an ACL may allow or deny."""

    client: str
    user: str
    login: LoginTry | None
    """What had proven who it is; None for a stranger."""
    api: str
    operation: int
    resource: int
    name: str
    began_us: int
    value: bytes = b""
    """The record, if it is one to write."""
    ended_us: int | None = None
    is_allowed: bool | None = None
    """None if that was never answered."""

    def answered(self, now_us: int, *, is_allowed: bool) -> None:
        """The broker has said."""
        self.ended_us, self.is_allowed = now_us, is_allowed

    def line(self) -> str:
        result = {True: "allowed", False: "denied", None: "open"}[self.is_allowed]
        value = f" {self.value.decode()}" if self.value else ""
        return f"{self.client} {self.api}{value} of {self.resource}:{self.name} as {self.user}: {result}"


@dataclass(slots=True, eq=False)
class Used:
    """One request of a client under a quota, as it was answered."""

    client: str
    connection: int
    """Which one of the client's it came by."""
    amount: float
    """At least so much was used: bytes, or seconds."""
    began_us: int
    ended_us: int
    throttle_ms: int

    def line(self) -> str:
        return f"{self.client} uses {self.amount:g}: throttled for {self.throttle_ms} ms"


@dataclass(slots=True, eq=False)
class SecurityView:
    """All that the broker said there is of one kind of key when everything was over."""

    began_us: int
    ended_us: int
    kind: type[Key]
    values: dict[Key, Value]

    def line(self) -> str:
        return f"security {len(self.values)} of {self.kind.__name__} are there"


@dataclass(slots=True)
class SecurityHistory:
    """All of it."""

    settings: list[Setting] = field(default_factory=list)
    logins: list[LoginTry] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    used: list[Used] = field(default_factory=list)
    views: list[SecurityView] = field(default_factory=list)
    written: set[bytes] = field(default_factory=set)
    """The records that are there when everything is over."""
    allows_if_no_acl: bool = False
    passwords: dict[str, str] = field(default_factory=dict)
    """Of the users whose passwords never change."""
    rates: dict[str, float] = field(default_factory=dict)
    """What clients under a quota may use in a second."""
    _of_key: dict[Key, list[Setting]] = field(default_factory=dict)

    @property
    def keys(self) -> list[Key]:
        """All that anybody tried to set."""
        return list(self._of_key)

    def begin(self, setting: Setting) -> Setting:
        """One more try."""
        self.settings.append(setting)
        self._of_key.setdefault(setting.key, []).append(setting)
        return setting

    def entries(self) -> Iterator[tuple[int, Setting | LoginTry | Asked | Used | SecurityView]]:
        """Each with the time at which it began."""
        for kind in (self.settings, self.logins, self.asked, self.used, self.views):
            yield from ((each.began_us, each) for each in kind)

    def possible(self, key: Key, from_us: int, to_us: int) -> set[Value]:
        """What may have been the value of a key at some moment of that time."""
        mine = self._of_key.get(key, [])
        done = [each for each in mine if each.ended_us is not None and each.ended_us <= from_us]
        last_us = max((each.began_us for each in done), default=-1)
        found: set[Value] = set() if done else {None}
        for each in mine:
            is_superseded = each.over_us is not None and each.over_us <= last_us
            if each.began_us <= to_us and not is_superseded:
                found.add(each.value)
        return found
