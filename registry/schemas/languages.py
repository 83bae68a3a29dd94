"""The languages of schemas by their name in the REST API, each loaded when the first schema of it is parsed.

Parsing, printing and comparing take 1 ms for some thousand characters: longer texts are for a thread beside the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

from barnabas.registry.schemas.parsed_schema import InvalidSchema, ParsedSchema, ReferencedSchema

# The module and class of each language, in the order in which GET /schemas/types names them.
LANGUAGES = {
    "JSON": ("barnabas.registry.schemas.json_schema.schema", "JsonSchema"),
    "PROTOBUF": ("barnabas.registry.schemas.protobuf.schema", "ProtobufSchema"),
    "AVRO": ("barnabas.registry.schemas.avro.schema", "AvroSchema"),
}


def parse(
    schema_type: str, text: str, references: Sequence[ReferencedSchema] = (), *, is_new: bool = True
) -> ParsedSchema:
    """Return the schema that a text is in one of LANGUAGES; InvalidSchema if it is none.

    is_new: whether a client registers it. A schema that was stored by an older registry is not held to every rule.
    """
    try:
        parsed: ParsedSchema = _language(schema_type)(text, references, is_new=is_new)
    except RecursionError:
        raise InvalidSchema("The schema is nested too deeply.") from None
    return parsed


@cache
def _language(schema_type: str) -> Any:
    module, name = LANGUAGES[schema_type]
    return getattr(import_module(module), name)
