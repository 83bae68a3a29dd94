"""Which version the schema of a message is: by id or guid, in the context whose subject the topic's clients use."""

import pytest

from barnabas.registry.decisions.message_versions import version_of_message
from barnabas.registry.state.records import ContextRecord, SchemaRecord
from barnabas.registry.state.registry_state import RegistryState
from barnabas.registry.state.stored_schema import SchemaContent, StoredSchema


def state_of(*versions: tuple[str, int, str]) -> RegistryState:
    """A state with the first version of these subjects, each with an id and a text."""
    state = RegistryState()
    state.apply(ContextRecord(".x", is_present=True))
    for subject, schema_id, text in versions:
        content = SchemaContent("AVRO", (), None, None, text)
        stored = StoredSchema(subject, 1, schema_id, content, content.fingerprint)
        state.apply(SchemaRecord(subject, 1, stored))
    return state


GUID = str(StoredSchema("", 1, 1, content := SchemaContent("AVRO", (), None, None, "c"), content.fingerprint).guid)


@pytest.mark.parametrize(
    ("schema_id", "guid", "is_key", "subject"),
    [
        (1, None, False, "t-value"),
        (1, None, True, "other"),
        (2, None, False, ":.x:t-value"),
        (3, None, False, "shared"),
        (9, None, False, None),
        (None, GUID, False, "shared"),
        (None, "0" * 32, False, None),
        (None, "no guid", False, None),
    ],
)
def test_the_version_of_a_message(schema_id: int | None, guid: str | None, is_key: bool, subject: str | None) -> None:
    state = state_of(
        ("other", 1, "a"),
        ("t-value", 1, "a"),
        (":.x:t-value", 2, "b"),
        ("of-two", 2, "d"),
        ("shared", 3, "c"),
        (":.x:shared", 3, "e"),
    )
    found = version_of_message(state, "t", schema_id, guid, is_key=is_key)
    assert (found and found.subject) == subject
