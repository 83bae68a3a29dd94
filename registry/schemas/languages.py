"""The languages of schemas by their name in the REST API, each loaded when the first schema of it is parsed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from barnabas.registry.schemas.parsed_schema import InvalidSchema, ParsedSchema, ReferencedSchema, flattened

# The module and class of each language, in the order in which GET /schemas/types names them.
LANGUAGES = {
    "JSON": ("barnabas.registry.schemas.json_schema.schema", "JsonSchema"),
    "PROTOBUF": ("barnabas.registry.schemas.protobuf.schema", "ProtobufSchema"),
    "AVRO": ("barnabas.registry.schemas.avro.schema", "AvroSchema"),
}

# A text of so many characters, with what it refers to, is parsed, printed and compared in some milliseconds.
CHEAP_CHARACTERS = 4_000


def parse(
    schema_type: str, text: str, references: Sequence[ReferencedSchema] = (), *, is_new: bool = True
) -> ParsedSchema:
    """Return the schema that a text is in one of LANGUAGES; InvalidSchema if it is none.

    is_new: whether a client registers it. A schema that was stored by an older registry is not held to every rule.
    """
    module, name = LANGUAGES[schema_type]
    language = getattr(import_module(module), name)
    try:
        parsed: ParsedSchema = language(text, references, is_new=is_new)
    except RecursionError:
        raise InvalidSchema("The schema is nested too deeply.") from None
    return parsed


def is_costly(text: str, references: Sequence[ReferencedSchema] = ()) -> bool:
    """Tell whether to parse a schema beside the event loop, and to compare it there."""
    return len(text) + sum(len(each.text) for each in flattened(references).values()) > CHEAP_CHARACTERS
