"""The audit of authorization: what was denied, in the log at INFO; what was allowed, at DEBUG; and how much of both.

Whoever makes it may want to hear of each denial (`when_denied`).

The logger is Kafka's `kafka.authorizer.logger`, and a line says what Kafka's does. What one request is denied beyond
DENIALS_TOLD_MAX names is told as a number: a request of nobody's may name a hundred thousand.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from barnabas.broker.runtime.log_lines import line, logger
from barnabas.protocol.registry import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.security.acl.rules import Rule
    from barnabas.broker.security.session.operations import Operation, Resource
    from barnabas.broker.security.session.principal import Principal

_log = logger("authorizer.logger")
DENIALS_TOLD_MAX: Final = 100
_TEXT_MAX: Final = 300


class Denial(NamedTuple):
    """Something that somebody asked for and may not do."""

    principal: Principal
    host: str
    client_id: str | None
    api_key: int
    operation: Operation
    resource: Resource
    name: str
    rule: Rule


def _nobody(_: Denial) -> None:
    """Nobody wants it."""


class Audit:
    """Of one authorizer."""

    def __init__(self, when_denied: Callable[[Denial], None] = _nobody) -> None:
        self.when_denied = when_denied
        self.allowed_count = 0
        self.denied_count = 0

    @property
    def tells_allowed(self) -> bool:
        """Whether anybody wants to know what is allowed."""
        return _log.isEnabledFor(logging.DEBUG)

    def tell(
        self,
        principal: Principal,
        host: str,
        api_key: int,
        asked: tuple[Operation, Resource, str],
        rule: Rule,
        count: int,
    ) -> None:
        """One decision."""
        level = logging.DEBUG if rule.is_allowed else logging.INFO
        if not _log.isEnabledFor(level):
            return  # one request may name a hundred thousand, and a line takes longer to make than to decide
        operation, resource, name = asked
        _log.log(
            level,
            line(
                "allowed" if rule.is_allowed else "denied",
                principal=_short(str(principal)),
                operation=operation.name,
                resource=_short(f"{resource.name.title().replace('_', '')}:LITERAL:{name}"),
                host=host,
                request=ApiKey(api_key).api_name,
                count=count if count > 1 else None,
                rule=_short(str(rule)),
            ),
        )

    def tell_more(
        self, principal: Principal, host: str, api_key: int, operation: Operation, resource: Resource, untold: int
    ) -> None:
        """How many more names of the same request were denied than are told each."""
        if _log.isEnabledFor(logging.INFO):
            _log.info(
                line(
                    "denied more",
                    principal=_short(str(principal)),
                    operation=operation.name,
                    resource=resource.name.title().replace("_", ""),
                    host=host,
                    request=ApiKey(api_key).api_name,
                    untold=untold,
                )
            )


def _short(text: str) -> str:
    return text if len(text) <= _TEXT_MAX else text[:_TEXT_MAX] + "…"
