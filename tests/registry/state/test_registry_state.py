"""What the records of _schemas come to: subjects, ids, contexts, settings."""

import random

import pytest

from barnabas.registry.state.qualified_subject import (
    QualifiedSubject,
    context_prefix,
    is_valid_subject,
    normalized,
    qualified,
    qualified_within,
)
from barnabas.registry.state.records import (
    ClearSubjectRecord,
    ConfigRecord,
    ContextRecord,
    DeleteSubjectRecord,
    ModeRecord,
    RegistryRecord,
    SchemaRecord,
    decode,
    encode,
)
from barnabas.registry.state.registry_state import RegistryState
from barnabas.registry.state.stored_schema import SchemaContent, SchemaReference, StoredSchema


def version(
    subject: str, number: int, schema_id: int, text: str = "t", *references: SchemaReference, is_deleted: bool = False
) -> SchemaRecord:
    content = SchemaContent("AVRO", references, None, None, text)
    return SchemaRecord(
        subject, number, StoredSchema(subject, number, schema_id, content, content.fingerprint, is_deleted, 1)
    )


def state_of(*records: RegistryRecord) -> RegistryState:
    state = RegistryState()
    for record in records:
        assert state.apply(record)
    return state


@pytest.mark.parametrize(
    ("name", "parts", "plain"),
    [
        ("s", QualifiedSubject(".", "s"), "s"),
        (":.c:s", QualifiedSubject(".c", "s"), ":.c:s"),
        (":.c:", QualifiedSubject(".c", ""), ":.c:"),
        (":.c", QualifiedSubject(".c", ""), ":.c:"),
        (":.:s", QualifiedSubject(".", "s"), "s"),
        (":.c:a:b", QualifiedSubject(".c", "a:b"), ":.c:a:b"),
        (":*:s", QualifiedSubject("*", "s"), ":*:s"),
        ("", QualifiedSubject(".", ""), ""),
    ],
)
def test_a_name_has_a_context_and_a_subject(name: str, parts: QualifiedSubject, plain: str) -> None:
    assert qualified(name) == parts
    assert normalized(name) == plain


def test_a_reference_is_in_the_context_of_its_schema_unless_it_names_one() -> None:
    assert qualified_within(":.c:s", "other").name == ":.c:other"
    assert qualified_within(":.c:s", ":.d:other").name == ":.d:other"
    assert [context_prefix(each) for each in ("c", ".c", ":.c:", ".")] == [":.c:"] * 3 + [""]
    with pytest.raises(ValueError, match="colon"):
        context_prefix("a:b")


@pytest.mark.parametrize(
    ("name", "is_valid"), [("a/b%", True), ("a\nb", False), ("__GLOBAL", False), (":.c:__EMPTY", False)]
)
def test_some_names_are_no_subjects(name: str, is_valid: bool) -> None:
    assert is_valid_subject(name) is is_valid


def test_ids_count_in_each_context() -> None:
    state = state_of(version("a", 1, 1), version("b", 1, 1), version("a", 2, 2, "u"), version(":.c:a", 1, 1, "u"))
    assert [each.subject for each in state.versions_of_id(1, None)] == ["a", "b"]
    assert [each.subject for each in state.versions_of_id(1, ":.c:")] == [":.c:a"]
    assert (state.index("a").max_id, state.index(":.c:a").max_id, state.index(":.d:").max_id) == (2, 1, 0)
    assert state.schema_of_id(1, "b") == state.version("b", 1)
    assert state.schema_of_id(2, "b") is None


def test_a_schema_with_the_id_of_another_text_is_left_out() -> None:
    state = state_of(version("a", 1, 1))
    assert not state.apply(version("b", 1, 1, "u"))
    assert not state.has_subjects("b", deleted=True)


def test_a_deletion_marks_all_versions_up_to_one_and_a_tombstone_removes_one() -> None:
    state = state_of(version("a", 1, 1), version("a", 2, 2, "u"), version("a", 3, 3, "v"), DeleteSubjectRecord("a", 2))
    assert [each.is_deleted for each in state.versions("a")] == [True, True, False]
    state.apply(SchemaRecord("a", 1, None))
    assert [each.version for each in state.versions("a")] == [2, 3]
    assert state.schema_of_id(1, None) is None
    state.apply(ClearSubjectRecord("a"))
    assert [each.version for each in state.versions("a")] == [3]
    assert state.index("a").max_id == 3


def test_a_version_knows_what_refers_to_it() -> None:
    to_a = SchemaReference("n", "a", 1)
    state = state_of(version(":.c:a", 1, 1), version(":.c:b", 1, 2, "u", to_a))
    assert state.referrers((":.c:a", 1), deleted=False) == [(".c", 2)]
    assert state.referrers(("a", 1), deleted=True) == []
    state.apply(DeleteSubjectRecord(":.c:b", 1))
    assert state.referrers((":.c:a", 1), deleted=False) == []
    assert state.referrers((":.c:a", 1), deleted=True) == [(".c", 2)]
    state.apply(SchemaRecord(":.c:b", 1, None))
    assert state.referrers((":.c:a", 1), deleted=True) == []


def test_a_setting_counts_from_the_subject_over_its_context_to_all() -> None:
    state = state_of(
        ConfigRecord(None, {"compatibilityLevel": "FULL", "normalize": True}),
        ConfigRecord(":.c:", {"compatibilityLevel": "NONE"}),
        ConfigRecord("s", {"compatibilityGroup": "g"}),
        ModeRecord(":.c:", "READONLY"),
    )
    assert state.config_in_scope("other") == {"normalize": True, "compatibilityLevel": "FULL"}
    assert state.config_in_scope(":.c:s") == {"compatibilityLevel": "NONE"}
    assert state.config_in_scope(":.d:s") == {"compatibilityLevel": "BACKWARD"}
    assert state.config_in_scope("s") == {
        "normalize": True,
        "compatibilityLevel": "BACKWARD",  # as in Confluent's registry, whose default fills in a missing level first
        "compatibilityGroup": "g",
    }
    assert [state.mode_in_scope(name) for name in (":.c:s", "s", None)] == ["READONLY", "READWRITE", "READWRITE"]
    state.apply(ModeRecord(":.__GLOBAL:", "IMPORT"))
    assert [state.mode_in_scope(name) for name in (":.c:s", "s", ":.d:s")] == ["READONLY", "IMPORT", "IMPORT"]


def test_the_last_record_of_each_key_says_the_same_as_all_of_them() -> None:
    chance = random.Random(1)
    for _ in range(50):
        written: list[tuple[bytes, bytes | None]] = []
        state = RegistryState()
        for _ in range(40):
            record = _some_record(chance)
            if state.apply(record):
                written.append(encode(record))
        latest = {key: index for index, (key, _) in enumerate(written)}
        compacted = RegistryState()
        for index, (key, value) in enumerate(written):
            decoded = decode(key, value, 1) if latest[key] == index else None
            if decoded is not None:
                compacted.apply(decoded)
        assert _facts(compacted) == _facts(state)


def _some_record(chance: random.Random) -> RegistryRecord:
    subject, number = chance.choice(["a", ":.c:a"]), chance.randint(1, 3)
    kind = chance.randrange(5)
    if kind == 0:
        return ConfigRecord(subject, chance.choice([None, {"compatibilityLevel": "NONE"}]))
    if kind == 1:
        return ContextRecord(".c", is_present=chance.random() < 0.7)
    if kind == 2:
        return SchemaRecord(subject, number, None)
    return version(subject, number, number, f"t{number}", is_deleted=chance.random() < 0.3)


def _facts(state: RegistryState) -> object:
    versions = {(each.subject, each.version, each.schema_id, each.is_deleted) for each in state.every_version()}
    return versions, dict(state.configs()), state.contexts()
