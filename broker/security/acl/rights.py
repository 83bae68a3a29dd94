"""The rights of one request's client, as handlers and guards check them.

Kafka checks in two ways: for access, where the audit logs the result, allowed or denied, and quietly, where a refusal
only leaves something out. An operation that is only listed in a response is neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from barnabas.broker.security.acl.audit import DENIALS_LOGGED_MAX, Denial
from barnabas.broker.security.session.operations import CLUSTER_NAME, SUPPORTED, Operation, Resource
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.steps import Steps, finish

if TYPE_CHECKING:
    from collections.abc import Iterable

    from barnabas.broker.security.acl.authorizer import Authorizer
    from barnabas.broker.security.session.principal import Principal

REFUSALS: Final = {
    Resource.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    Resource.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    Resource.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    Resource.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    Resource.DELEGATION_TOKEN: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    Resource.USER: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}
"""The error code of a refusal, by kind of resource."""
_SENTENCES: Final = {
    Resource.TOPIC: "Topic authorization failed.",
    Resource.GROUP: "Group authorization failed.",
    Resource.CLUSTER: "Cluster authorization failed.",
    Resource.TRANSACTIONAL_ID: "Transactional Id authorization failed.",
    Resource.DELEGATION_TOKEN: "Delegation Token authorization failed.",
    Resource.USER: "Delegation Token authorization failed.",
}  # in Kafka's words


def refusal(resource: Resource) -> KafkaError:
    """Return the error for an operation on a kind of resource that is not allowed."""
    return KafkaError(REFUSALS[resource], _SENTENCES[resource])


class Rights:
    """The rights of one principal on one host, for one API."""

    __slots__ = ("_api_key", "_authorizer", "_client_id", "_denials", "_host", "_principal")

    def __init__(
        self, authorizer: Authorizer, principal: Principal, host: str, api_key: int, client_id: str | None = None
    ) -> None:
        self._authorizer = authorizer
        self._client_id = client_id
        self._principal = principal
        self._host = host
        self._api_key = api_key
        self._denials = 0

    def allows(
        self,
        operation: Operation,
        resource: Resource,
        name: str = CLUSTER_NAME,
        *,
        quietly: bool = False,
        count: int = 1,
    ) -> bool:
        """Return whether an operation is allowed. quietly: a refusal counts as no denial. count: how often the request
        names the resource.
        """
        rule = self._authorizer.rule(self._principal, self._host, operation, resource, name)
        audit = self._authorizer.audit
        if rule.is_allowed:
            audit.allowed_count += 1
            if audit.logs_allowed:
                audit.log(self._principal, self._host, self._api_key, (operation, resource, name), rule, count)
        elif not quietly:
            audit.denied_count += 1
            self._denials += 1
            if self._denials <= DENIALS_LOGGED_MAX:
                requested = operation, resource, name
                audit.log(self._principal, self._host, self._api_key, requested, rule, count)
                audit.when_denied(Denial(self._principal, self._host, self._client_id, self._api_key, *requested, rule))
        return rule.is_allowed

    def report_more(self, operation: Operation, resource: Resource) -> None:
        """Log how many denials were not logged one by one, if there are any."""
        not_logged, self._denials = self._denials - DENIALS_LOGGED_MAX, min(self._denials, DENIALS_LOGGED_MAX)
        if not_logged > 0:
            audit = self._authorizer.audit
            audit.report_more(self._principal, self._host, self._api_key, operation, resource, not_logged)

    def allowed(
        self, operation: Operation, resource: Resource, names: Iterable[str], *, quietly: bool = False
    ) -> set[str]:
        """Return the allowed names; each is checked once, however often it is given."""
        return finish(self.each_allowed(operation, resource, names, quietly=quietly))

    def each_allowed(
        self, operation: Operation, resource: Resource, names: Iterable[str], *, quietly: bool = False
    ) -> Steps[set[str]]:
        """Do the same in steps, for names that may be very many."""
        counts: dict[str, int] = {}
        for name in names:
            counts[name] = counts.get(name, 0) + 1
            yield
        allowed = set()
        for name, count in counts.items():
            if self.allows(operation, resource, name, quietly=quietly, count=count):
                allowed.add(name)
            yield
        self.report_more(operation, resource)
        return allowed

    def allows_some(self, operation: Operation, resource: Resource) -> bool:
        """Return whether an operation is allowed on at least one resource of the kind."""
        return self._authorizer.allows_some(self._principal, self._host, operation, resource)

    def operations(self, resource: Resource, name: str = CLUSTER_NAME) -> int:
        """Return the bits of the allowed operations, of those that the kind of resource has."""
        rule, asker = self._authorizer.rule, (self._principal, self._host)
        return sum(
            1 << operation for operation in SUPPORTED[resource] if rule(*asker, operation, resource, name).is_allowed
        )
