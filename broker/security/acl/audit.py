"""The audit of authorization: denials in the log at INFO, permissions at DEBUG, and counts of both.

The creator may set a callback for each denial (`when_denied`).

The logger is Kafka's `kafka.authorizer.logger`, and a line has the content of Kafka's. Denials of one request beyond
DENIALS_LOGGED_MAX names are logged as a number: a request of an anonymous client may name a hundred thousand.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.security.session.operations import camel_case
from barnabas.protocol.registry import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.security.acl.rules import Rule
    from barnabas.broker.security.session.operations import Operation, Resource
    from barnabas.broker.security.session.principal import Principal

_log = logger("authorizer.logger")
DENIALS_LOGGED_MAX: Final = 100
_TEXT_MAX: Final = 300


class Denial(NamedTuple):
    """A request for an operation that is not allowed."""

    principal: Principal
    host: str
    client_id: str | None
    api_key: int
    operation: Operation
    resource: Resource
    name: str
    rule: Rule


def _ignore(_: Denial) -> None:
    """Ignore the denial."""


class AclAudit:
    """The audit of one authorizer."""

    def __init__(self, when_denied: Callable[[Denial], None] = _ignore) -> None:
        self.when_denied = when_denied
        self.allowed_count = 0
        self.denied_count = 0

    @property
    def logs_allowed(self) -> bool:
        """Whether permissions are logged."""
        return _log.isEnabledFor(logging.DEBUG)

    def log(
        self,
        principal: Principal,
        host: str,
        api_key: int,
        requested: tuple[Operation, Resource, str],
        rule: Rule,
        count: int,
    ) -> None:
        """Log one decision."""
        level = logging.DEBUG if rule.is_allowed else logging.INFO
        if not _log.isEnabledFor(level):
            return  # one request may name a hundred thousand, and to make a line takes longer than to decide
        operation, resource, name = requested
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

    def report_more(
        self, principal: Principal, host: str, api_key: int, operation: Operation, resource: Resource, not_logged: int
    ) -> None:
        """Log how many more names of the same request were denied than were logged one by one."""
        if _log.isEnabledFor(logging.INFO):
            _log.info(
                line(
                    "denied more",
                    principal=_short(str(principal)),
                    operation=operation.name,
                    resource=camel_case(resource.name),
                    host=host,
                    request=ApiKey(api_key).api_name,
                    not_logged=not_logged,
                )
            )


def _short(text: str) -> str:
    return text if len(text) <= _TEXT_MAX else text[:_TEXT_MAX] + "…"
