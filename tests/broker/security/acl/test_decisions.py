"""Decisions are StandardAuthorizer's: found through the index and kept, they are those of a model that reads every
entry each time, written down from Kafka's own classes.
"""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.security.acl.acl import Acl, AclFilter, PatternType, Permission
from barnabas.broker.security.acl.audit import AclAudit
from barnabas.broker.security.acl.authorizer import DECISIONS_MAX, NAME_KEPT_MAX, Authorizer
from barnabas.broker.security.acl.index import AclIndex
from barnabas.broker.security.acl.rights import Rights
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.broker.security.session.principal import Principal
from barnabas.protocol.registry import ApiKey

ALICE, BOB = Principal("User", "alice"), Principal("User", "bob")
HERE, THERE = "127.0.0.1", "10.0.0.7"
_TOPIC, _GROUP = Resource.TOPIC, Resource.GROUP
_LITERAL, _PREFIXED = PatternType.LITERAL, PatternType.PREFIXED

_names = st.sampled_from(["a", "ab", "abc", "abd", "b", "*", "hardcode", "h"])
_operations = st.sampled_from(
    [
        Operation.ALL,
        Operation.READ,
        Operation.WRITE,
        Operation.DESCRIBE,
        Operation.ALTER_CONFIGS,
        Operation.DESCRIBE_CONFIGS,
    ]
)
_acls = st.builds(
    Acl,
    st.sampled_from([_TOPIC, _GROUP]),
    _names,
    st.sampled_from([_LITERAL, _PREFIXED]),
    st.sampled_from(["User:alice", "User:bob", "User:*", "Group:alice"]),
    st.sampled_from(["*", HERE, THERE]),
    _operations,
    st.sampled_from([Permission.DENY, Permission.ALLOW]),
)
_asked = st.tuples(
    st.sampled_from([ALICE, BOB, Principal("User", "root")]),
    st.sampled_from([HERE, THERE]),
    _operations.filter(lambda operation: operation is not Operation.ALL),
    st.sampled_from([_TOPIC, _GROUP]),
    _names,
)
_Asked = tuple[Principal, str, Operation, Resource, str]


def authorizer(acls: Sequence[Acl] = (), *, allows_if_no_acl: bool = False) -> Authorizer:
    return Authorizer(AclIndex(acls), ["User:root"], AclAudit(), allows_if_no_acl=allows_if_no_acl)


def _is_for(acl: Acl, principal: Principal, host: str) -> bool:
    return acl.principal in (str(principal), "User:*") and acl.host in (host, "*")


def modelled(acls: Sequence[Acl], asked: _Asked, allows_if_no_acl: bool) -> bool:
    """StandardAuthorizerData.authorize, without its order of entries."""
    principal, host, operation, resource, name = asked
    if principal.name == "root":
        return True
    about = [
        acl
        for acl in acls
        if acl.resource_type == resource
        and (name.startswith(acl.resource_name) if acl.pattern_type == _PREFIXED else acl.resource_name in (name, "*"))
    ]
    if not about:
        return allows_if_no_acl
    verdicts = set()
    for acl in about:
        wanted = {Operation.ALL, operation}
        if acl.permission == Permission.ALLOW and operation is Operation.DESCRIBE:
            wanted |= {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
        if acl.permission == Permission.ALLOW and operation is Operation.DESCRIBE_CONFIGS:
            wanted.add(Operation.ALTER_CONFIGS)
        if _is_for(acl, principal, host) and acl.operation in wanted:
            verdicts.add(acl.permission)
    return verdicts == {Permission.ALLOW}


def modelled_some(acls: Sequence[Acl], asked: _Asked, allows_if_no_acl: bool) -> bool:
    """Authorizer.authorizeByResourceType."""
    principal, host, operation, resource, _ = asked
    if modelled(acls, (principal, host, operation, resource, "hardcode"), allows_if_no_acl):
        return True
    mine = [
        acl
        for acl in acls
        if acl.resource_type == resource
        and _is_for(acl, principal, host)
        and acl.operation in (operation, Operation.ALL)
    ]
    denied = {(acl.pattern_type, acl.resource_name) for acl in mine if acl.permission == Permission.DENY}
    allowed = {(acl.pattern_type, acl.resource_name) for acl in mine if acl.permission == Permission.ALLOW}
    if (_LITERAL, "*") in denied:
        return False
    if (_LITERAL, "*") in allowed:
        return True
    return any(
        not (kind == _LITERAL and (kind, name) in denied)
        and not any((_PREFIXED, name[: length + 1]) in denied for length in range(len(name)))
        for kind, name in allowed
    )


@settings(max_examples=400, deadline=None)
@given(st.lists(_acls, max_size=8), st.lists(_asked, min_size=1, max_size=8), st.booleans())
def test_a_decision_is_that_of_the_model(acls: list[Acl], questions: list[_Asked], allows: bool) -> None:
    decides = authorizer(acls, allows_if_no_acl=allows)
    for asked in [*questions, *questions]:  # the second time from what was kept
        assert decides.rule(*asked).is_allowed == modelled(acls, asked, allows), (acls, asked)
        some = decides.allows_some(*asked[:4])
        assert some == modelled_some(acls, asked, allows), (acls, asked)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.booleans(), _acls), max_size=12), st.lists(_asked, min_size=1, max_size=5), st.booleans())
def test_a_change_of_entries_counts_from_the_next_decision_on(
    changes: list[tuple[bool, Acl]], questions: list[_Asked], allows: bool
) -> None:
    decides, there = authorizer(allows_if_no_acl=allows), dict[Acl, None]()
    for is_added, acl in changes:
        if is_added:
            there[acl] = None
            decides.changed(added=[acl])
        else:
            there.pop(acl, None)
            decides.changed(removed=[acl])
        for asked in questions:
            assert decides.rule(*asked).is_allowed == modelled(list(there), asked, allows)
            assert decides.allows_some(*asked[:4]) == modelled_some(list(there), asked, allows)


def _allow(operation: Operation, name: str = "t", principal: str = "User:alice") -> Acl:
    return Acl(_TOPIC, name, _LITERAL, principal, "*", operation, Permission.ALLOW)


def test_the_deciding_rule_is_reported_in_kafkas_words() -> None:
    decides = authorizer([_allow(Operation.READ)])
    assert str(decides.rule(Principal("User", "root"), HERE, Operation.READ, _TOPIC, "t")) == "SuperUser"
    assert str(decides.rule(BOB, HERE, Operation.READ, _TOPIC, "t")) == "DefaultDeny"
    assert str(decides.rule(ALICE, HERE, Operation.DESCRIBE, _TOPIC, "t")) == (
        "MatchingAcl(acl=StandardAcl(resourceType=TOPIC, resourceName=t, patternType=LITERAL, principal=User:alice, "
        "host=*, operation=READ, permissionType=ALLOW))"
    )
    assert str(authorizer(allows_if_no_acl=True).rule(BOB, HERE, Operation.READ, _TOPIC, "t")) == "DefaultAllow"


def test_an_operation_that_only_a_newer_kafka_knows_is_of_no_consequence() -> None:
    strange = Acl(_TOPIC, "t", _LITERAL, "User:alice", "*", 77, Permission.ALLOW)
    assert not authorizer([strange]).rule(ALICE, HERE, Operation.READ, _TOPIC, "t").is_allowed


def test_decisions_are_kept_in_bounds() -> None:
    decides = authorizer([_allow(Operation.READ, "*")])
    for number in range(DECISIONS_MAX + 5):
        assert decides.rule(ALICE, HERE, Operation.READ, _TOPIC, f"t{number}").is_allowed
    assert sum(len(kept) for of_operation in decides._kept for kept in of_operation) == 5
    decides.rule(ALICE, HERE, Operation.READ, _GROUP, "g" * (NAME_KEPT_MAX + 1))
    assert not decides._kept[Operation.READ][_GROUP]


def test_rights_count_and_list_what_is_allowed() -> None:
    decides = authorizer([_allow(Operation.READ), _allow(Operation.ALTER_CONFIGS)])
    rights = Rights(decides, ALICE, HERE, ApiKey.FETCH)
    assert rights.allowed(Operation.READ, _TOPIC, ["t", "u", "t"]) == {"t"}
    assert (decides.audit.allowed_count, decides.audit.denied_count) == (1, 1)
    assert not rights.allows(Operation.READ, _TOPIC, "u", quietly=True)
    wanted = (Operation.READ, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS)
    assert rights.operations(_TOPIC, "t") == sum(1 << operation for operation in wanted)
    assert rights.operations(_TOPIC, "u") == 0
    assert (decides.audit.allowed_count, decides.audit.denied_count) == (1, 1), "listing is not asking for access"
    assert rights.allows_some(Operation.READ, _TOPIC)
    assert not rights.allows_some(Operation.WRITE, _TOPIC)


@settings(max_examples=300, deadline=None)
@given(_acls, _names)
def test_a_filter_for_matches_finds_every_pattern_that_a_name_falls_under(acl: Acl, name: str) -> None:
    """ResourcePatternFilter.matches."""
    found = AclFilter(resource_name=name, pattern_type=PatternType.MATCH).matches(acl)
    if acl.pattern_type == _PREFIXED:
        assert found == name.startswith(acl.resource_name)
    else:
        assert found == (acl.resource_name in (name, "*"))
    assert AclFilter(resource_name=name).matches(acl) == (name == acl.resource_name)
    assert AclFilter(resource_name=name, pattern_type=_LITERAL).matches(acl) == (
        (acl.pattern_type, acl.resource_name) == (_LITERAL, name)
    )


@given(_acls)
def test_a_filter_states_what_an_entry_has_to_be_like(acl: Acl) -> None:
    assert AclFilter().matches(acl)
    assert AclFilter(*acl).matches(acl)
    others = {
        "resource_type": Resource.USER,
        "principal": "User:nobody",
        "host": "::1",
        "operation": Operation.CREATE_TOKENS,
        "permission": 7,
    }
    for field, value in others.items():
        assert not AclFilter(**{field: value}).matches(acl), field  # type: ignore[arg-type]  # of mixed types
