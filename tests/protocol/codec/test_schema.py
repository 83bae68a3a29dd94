"""Structs as Python sees them: constructors, defaults, equality, repr; and ranges of versions."""

import copy

import pytest

from barnabas.protocol.codec.schema import (
    BYTES,
    INT16,
    INT32,
    STRING,
    Request,
    Stored,
    Struct,
    VersionRange,
    array,
    default_instance,
    field,
)


class Leaf(Struct):
    number: int = field(INT32, default=-1)


class Tree(Request, key=999, versions="0-3", flexible="2+"):
    name: str = field(STRING)
    leaves: list[Leaf] = field(array(Leaf), default=[])
    note: str | None = field(STRING, nullable="0+", default=None)
    unset: Leaf | None = field(Leaf, versions="2+", default=None, tag=0)
    data: bytes = field(BYTES, versions="1+", default=b"", ignorable=True)
    nested: Leaf = field(Leaf)


class Kept(Stored, key=1, versions="0", flexible="0+"):
    number: int = field(INT16)


def tree(**values: object) -> Tree:
    return Tree(**{"name": "oak", "nested": Leaf(), **values})  # type: ignore[arg-type]  # because tests vary them


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [("3", [3], [2, 4]), ("0-5", [0, 5], [6]), ("3+", [3, 99], [2]), ("none", [], [0, 1])],
)
def test_ranges_are_written_as_kafka_writes_them(text: str, inside: list[int], outside: list[int]) -> None:
    parsed = VersionRange.parse(text)
    assert all(parsed.includes(version) for version in inside)
    assert not any(parsed.includes(version) for version in outside)


def test_a_field_without_a_default_must_be_given() -> None:
    with pytest.raises(TypeError, match="nested"):
        Tree(name="oak")  # type: ignore[call-arg]  # because that is the mistake


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        tree(colour="green")


def test_lists_are_never_shared_between_instances() -> None:
    first, second = tree(), tree()
    first.leaves.append(Leaf())
    assert second.leaves == []
    default_instance(Tree).leaves.append(Leaf())
    assert default_instance(Tree).leaves == []


def test_instances_have_slots_and_nothing_else() -> None:
    with pytest.raises(AttributeError):
        tree().colour = "green"  # type: ignore[attr-defined]  # because that is the mistake


def test_equality_is_by_type_and_value() -> None:
    assert tree(leaves=[Leaf(number=3)]) == tree(leaves=[Leaf(number=3)])
    assert tree(leaves=[Leaf(number=3)]) != tree(leaves=[Leaf(number=4)])
    assert Leaf() != Kept(number=-1)
    assert copy.deepcopy(tree(leaves=[Leaf(number=3)])) == tree(leaves=[Leaf(number=3)])


def test_a_mutable_value_is_not_hashable() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Leaf())


def test_repr_shows_what_differs_from_the_defaults() -> None:
    assert repr(tree()) == "Tree(name='oak')"
    assert repr(tree(leaves=[Leaf(number=3)], data=b"x" * 70)) == (
        "Tree(name='oak', leaves=[Leaf(number=3)], data=<70 bytes>)"
    )
    assert repr(Kept(number=1, unknown_tags=((5, b"x"),))) == "Kept(number=1, unknown_tags=((5, b'x'),))"


def test_the_schema_holds_what_was_declared() -> None:
    schema = Tree.__schema__
    assert (schema.key, schema.versions, schema.flexible) == (999, "0-3", "2+")
    assert [declared.name for declared in schema.fields] == ["name", "leaves", "note", "unset", "data", "nested"]
    assert list(schema.valid_versions) == [0, 1, 2, 3]
    assert [schema.is_flexible(version) for version in range(4)] == [False, False, True, True]
    by_name = {declared.name: declared for declared in schema.fields}
    assert by_name["unset"].tagged_in(2)
    assert not by_name["unset"].in_version(1)
    assert by_name["note"].nullable_in(0)


def test_defaults_are_zero_empty_or_declared() -> None:
    default = default_instance(Tree)
    assert (default.name, default.note, default.unset, default.data) == ("", None, None, b"")
    assert default.nested == Leaf(number=-1)
    assert default_instance(Kept).unknown_tags == ()
