"""Parsed schemas that are kept: one text is parsed once, and by as many rules as it keeps."""

from collections.abc import Sequence

import pytest

from barnabas.registry.decisions.errors import RegistryError
from barnabas.registry.decisions.parsing import ParsedSchemas, SchemaSource
from barnabas.registry.schemas.languages import parse
from barnabas.registry.schemas.parsed_schema import ParsedSchema, ReferencedSchema

VALID = '{"type":"record","name":"Order","fields":[]}'
ONLY_STORED = '{"type":"record","name":"Bestellübersicht","fields":[]}'


class Parses:
    """A parser that notes by which rules it parsed."""

    def __init__(self) -> None:
        self.noted: list[bool] = []
        self.schemas = ParsedSchemas(self)

    def __call__(
        self, schema_type: str, text: str, references: Sequence[ReferencedSchema] = (), *, is_new: bool = True
    ) -> ParsedSchema:
        self.noted.append(is_new)
        return parse(schema_type, text, references, is_new=is_new)

    def parsed(self, text: str, *, is_new: bool) -> ParsedSchema:
        return self.schemas.parsed(SchemaSource("AVRO", text, (), (), "s", is_new))


def test_a_schema_that_was_looked_for_is_not_parsed_again_when_it_is_registered() -> None:
    parses = Parses()
    looked_for = parses.parsed(VALID, is_new=False)
    assert parses.parsed(VALID, is_new=True) is looked_for
    assert parses.noted == [True]


def test_a_schema_that_an_older_registry_let_in_is_kept_and_still_refused_as_a_new_one() -> None:
    parses = Parses()
    stored = parses.parsed(ONLY_STORED, is_new=False)
    assert parses.parsed(ONLY_STORED, is_new=False) is stored
    with pytest.raises(RegistryError, match="Bestell"):
        parses.parsed(ONLY_STORED, is_new=True)
    assert parses.noted == [True, False, True]
