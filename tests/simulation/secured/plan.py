"""The part of a plan that is about security: how clients log in, who may do what, and who is throttled.

Drawn with dice of its own, and in a part of the seeds, so that a plan without it is what it was.
"""

import random
from dataclasses import dataclass
from typing import Final

_SHARE: Final = 0.2
CAST, HEAVY, BUSY = "cast", "heavy", "busy"
"""Users of PLAIN, who may do everything: all the clients of other parts; one with a quota of bytes; one of requests."""
_MODULE: Final = "org.apache.kafka.common.security"
WINDOWS: Final = 3
"""Of a second each: over which time a rate is measured."""
BYTE_RATE: Final = 2_000
REQUEST_PERCENTAGE: Final = 1
TICK_S: Final = 0.001
"""What looking at the stopwatch takes, so that a request costs something."""


def password_of(user: str) -> str:
    """Of PLAIN, where it never changes."""
    return f"{user}-secret"


@dataclass(frozen=True, slots=True)
class SecurityPlan:
    """Times in milliseconds."""

    users: int = 2
    """How many there are whose rights and passwords an operator changes, each with a client of its own."""
    reauth_ms: int = 0
    """How long a session lives; 0 for ever."""
    failure_delay_ms: int = 0
    """For how long who is refused has to wait for the answer."""
    allows_if_no_acl: bool = False
    mistakes: float = 0.0
    """How probable it is that a user has another password than was set."""
    strangers: int = 0
    """How many ask without having logged in."""
    throttled: int = 0
    """Whether there are clients with quotas: 1, or 0."""

    def settings(self) -> dict[str, str]:
        """The broker's."""
        prefix = "listener.name.sasl_plaintext."
        users = " ".join(f'user_{user}="{password_of(user)}"' for user in (CAST, HEAVY, BUSY))
        return {
            "inter.broker.listener.name": "SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            f"{prefix}plain.sasl.jaas.config": f"{_MODULE}.plain.PlainLoginModule required {users};",
            f"{prefix}scram-sha-256.sasl.jaas.config": f"{_MODULE}.scram.ScramLoginModule required;",
            "connections.max.reauth.ms": str(self.reauth_ms),
            "connection.failed.authentication.delay.ms": str(self.failure_delay_ms),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": ";".join(f"User:{user}" for user in (CAST, HEAVY, BUSY)),
            "allow.everyone.if.no.acl.found": str(self.allows_if_no_acl).lower(),
            "quota.window.num": str(WINDOWS),
            "quota.window.size.seconds": "1",
        }


def security_for(seed: int, *, has_idle_limit: bool) -> SecurityPlan | None:
    """That of the run of a seed; most have none.

    has_idle_limit: whether connections that are idle are closed soon, so that nobody may be held back for long.
    """
    dice = random.Random(f"{seed}/security")
    if dice.random() >= _SHARE:
        return None
    return SecurityPlan(
        users=dice.randint(1, 3),
        reauth_ms=dice.choice([0, 1_500, 1_500, 4_000]),
        failure_delay_ms=dice.choice([0, 100, 100 if has_idle_limit else 2_500]),
        allows_if_no_acl=dice.random() < 0.3,
        mistakes=dice.choice([0.0, 0.1, 0.3]),
        strangers=dice.randint(0, 1),
        throttled=int(dice.random() < 0.6),
    )
