"""What flags of `barnabas acls` mean together. tests/compat/secured/test_secured_tools.py holds it to AclCommand."""

import pytest

from barnabas.broker.cli.acl.acl_options import rights_of, wish_of
from barnabas.broker.cli.acl.acl_words import entries, shown
from barnabas.broker.cli.acl.acls import parser, run
from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.security.acl.acl import PatternType
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.client.admin.acls import AclBinding, AclBindingFilter

ALICE = "--allow-principal User:alice"
STORIES = {
    f"{ALICE} --operation Read --operation WRITE --topic t": [
        "topic t literal User:alice * Read allow",
        "topic t literal User:alice * Write allow",
    ],
    f"{ALICE} --cluster": ["cluster kafka-cluster literal User:alice * All allow"],
    f"{ALICE} --operation two_phase_commit --transactional-id x --resource-pattern-type prefixed": [
        "transactional-id x prefixed User:alice * TwoPhaseCommit allow"
    ],
    f"{ALICE} --deny-principal User:* --allow-host ::1 --deny-host 10.0.0.1 --operation Describe --group g": [
        "group g literal User:alice ::1 Describe allow",
        "group g literal User:* 10.0.0.1 Describe deny",
    ],
    f"{ALICE} --operation DescribeTokens --user-principal *": [
        "user-principal * literal User:alice * DescribeTokens allow"
    ],
    f"{ALICE} --operation DescribeTokens --user-principal User:bob": [
        "user-principal User:bob literal User:alice * DescribeTokens allow"
    ],
    f"{ALICE} --producer --idempotent --topic t --transactional-id x --resource-pattern-type prefixed": [
        *(f"topic t prefixed User:alice * {operation} allow" for operation in ("Write", "Describe", "Create")),
        *(f"transactional-id x prefixed User:alice * {operation} allow" for operation in ("Write", "Describe")),
        "cluster kafka-cluster literal User:alice * IdempotentWrite allow",
    ],
    f"{ALICE} --operation Read --topic t --resource-pattern-type PREFIXED": [
        "topic t prefixed User:alice * Read allow"
    ],
    f"{ALICE} --producer --consumer --topic t --group g": [
        *(f"topic t literal User:alice * {operation} allow" for operation in ("Write", "Describe", "Create", "Read")),
        "group g literal User:alice * Read allow",
    ],
}
NONSENSE = {
    "add --topic t": "acls add: no principal: give --allow-principal or --deny-principal",
    f"add {ALICE}": "acls add: no resource: give one of --topic, --group, ",
    "add --allow-principal alice --topic t": "'alice' is not TYPE:NAME, such as User:alice",
    f"add {ALICE} --topic t --operation Reed": "'Reed': did you mean Read? (see ",
    f"add {ALICE} --topic t --operation IdempotentWrite": "--topic has no operation IdempotentWrite, but Read, Write, ",
    f"add {ALICE} --topic t --resource-pattern-type match": "invalid choice: 'match'",
    f"add {ALICE} --cluster --resource-pattern-type prefixed": "--cluster has no name, so ",
    "list --cluster --resource-pattern-type prefixed": "acls list: --cluster has no name, so ",
    "list --resource-pattern-type prefixed": "acls list: --resource-pattern-type prefixed needs a name",
    f"add {ALICE} --operation CreateTokens --user-principal bob": "'bob' is not TYPE:NAME, such as User:bob",
    f"add {ALICE} --deny-host ::1 --topic t": "--deny-host needs --deny-principal",
    "add --deny-principal User:a --allow-host ::1 --topic t": "--allow-host needs --allow-principal",
    f"add {ALICE} --idempotent --topic t": "--idempotent needs --producer",
    f"add {ALICE} --producer --transactional-id x": "--producer needs --topic",
    f"add {ALICE} --producer --topic t --group g": "--producer has no rights on --group",
    f"add {ALICE} --producer --topic t --operation Read": "need --allow-principal, and exclude --operation",
    "add --deny-principal User:a --consumer --topic t --group g": "need --allow-principal",
    f"add {ALICE} --consumer --topic t": "--consumer needs --group",
    f"add {ALICE} --consumer --topic t --group g --cluster": "--consumer has no rights on --cluster",
    "remove --topic t --operation Read": "or no operation to remove all",
    "remove --producer --topic t": "or no operation to remove all",
    "remove": "acls remove: no resource: give one of",
}


def wished(words: str) -> list[AclBinding]:
    options = parser().parse_args(["add", *words.split()])
    found: list[AclBinding] = options.meaning(options)
    return found


@pytest.mark.parametrize("words", STORIES)
def test_rights_are_what_the_flags_say(words: str) -> None:
    assert [" ".join(shown(entry).values()) for entry in wished(words)] == STORIES[words]


def test_names_are_trimmed_as_kafka_trims_them() -> None:
    words = ["--allow-principal", " User:alice\t", "--allow-host", " ::1 ", "--operation", " Describe "]
    words += ["--topic", " t ", "--group", "g\n", "--transactional-id", " x "]
    found = entries(wish_of(parser().parse_args(["add", *words])))
    assert [(entry.resource_name, entry.principal, entry.host, entry.operation) for entry in found] == [
        (name, "User:alice", "::1", Operation.DESCRIBE) for name in ("t", "g", " x ")
    ]
    granted = rights_of("User:a", ["--topic", " t ", "--operation", "Read", "--resource-pattern-type", "Prefixed"])
    assert [entry[:3] for entry in granted] == [(Resource.TOPIC, "t", PatternType.PREFIXED)]


@pytest.mark.parametrize("words", NONSENSE)
def test_invalid_input_is_reported_before_a_broker_is_queried(words: str) -> None:
    with pytest.raises(UsageError) as wrong:
        run([*words.split(), "--bootstrap-server", "127.0.0.1:1"])
    assert NONSENSE[words] in str(wrong.value)


def test_acls_are_removed_one_by_one_or_for_a_whole_resource() -> None:
    words = f"remove {ALICE} --consumer --topic t --group g"
    options = parser().parse_args(words.split())
    assert options.meaning(options) == [AclBindingFilter(*entry) for entry in wished(words.partition(" ")[2])]
    options = parser().parse_args(["remove", "--topic", "t", "--resource-pattern-type", "any"])
    assert options.meaning(options) == [AclBindingFilter(2, "t", 1)]


def test_entries_of_other_tools_can_be_removed() -> None:
    words = "remove --deny-principal User:* --operation Create --cluster --resource-pattern-type prefixed"
    cluster, user = (parser().parse_args(each.split()) for each in (words, "remove --user-principal bob"))
    assert cluster.meaning(cluster) == [AclBindingFilter(4, "kafka-cluster", 4, "User:*", "*", 5, 2)]
    assert user.meaning(user) == [AclBindingFilter(7, "bob", 3)]


def test_a_list_is_of_everything_or_of_what_is_about_a_name() -> None:
    every, some = (parser().parse_args(words.split()) for words in ("list", "list --topic t --principal User:a"))
    assert every.meaning(every) == [AclBindingFilter()]
    assert some.meaning(some) == [AclBindingFilter(2, "t", 2, "User:a")]


def test_values_of_a_newer_kafka_are_shown_as_numbers() -> None:
    assert list(shown(AclBinding(99, "n", 98, "User:a", "*", 97, 96)).values()) == [
        *("99", "n", "98", "User:a", "*", "97", "96")
    ]
