"""From JSON to shapes, as the libraries that Confluent's registry loads a schema with read it.

A keyword of the wrong type is refused, an unknown one is not, and no meta-schema is asked: a draft 7 schema with a
keyword of draft 3 is valid where the keyword's type is. Before 2019-09 nothing beside a $ref counts.
Each keyword counts for the kinds that it is of; `type` says which kinds are required, which a comparison does not ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from barnabas.registry.schemas.deep import Deep, run
from barnabas.registry.schemas.json_schema.documents import Documents, Located
from barnabas.registry.schemas.json_schema.model import (
    JsonArrayShape,
    JsonCombined,
    JsonEnumShape,
    JsonNotShape,
    JsonNumberShape,
    JsonObjectShape,
    JsonReference,
    JsonShape,
    JsonStringShape,
)
from barnabas.registry.schemas.json_text import printed, with_sorted_keys
from barnabas.registry.schemas.parsed_schema import InvalidSchema

_CRITERIA = ("allOf", "anyOf", "oneOf")
_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_CONDITIONALS = ("if", "then", "else")
_KEYWORDS = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": ("items", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains"),
    "object": (
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "dependencies",
        "patternProperties",
        "additionalProperties",
        "propertyNames",
    ),
}
_MODERN_KEYWORDS = {
    "array": ("prefixItems", "unevaluatedItems", "minContains", "maxContains"),
    "object": ("dependentRequired", "dependentSchemas", "unevaluatedProperties"),
}
_NOTHING = object()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


# What a keyword must be: how it is told, and whether it is so.
_INTEGER = ("an integer", lambda value: type(value) is int)
_NUMBER = ("a number", _is_number)
_STRING = ("a string", lambda value: isinstance(value, str))
_BOOLEAN = ("a boolean", lambda value: isinstance(value, bool))
_OBJECT = ("an object", lambda value: isinstance(value, dict))
_ARRAY = ("an array", lambda value: isinstance(value, list))
_EXPECTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _INTEGER),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), _NUMBER),
    **dict.fromkeys(("pattern", "format", "title", "description"), _STRING),
    **dict.fromkeys(("properties", "patternProperties"), _OBJECT),
    **dict.fromkeys(("enum", *_CRITERIA), _ARRAY),
    "uniqueItems": _BOOLEAN,
    "required": ("an array of strings", _are_strings),
}
_EXPECTED_BEFORE_2019 = {**_EXPECTED, "dependencies": _OBJECT, "$ref": _STRING}
_EXPECTED_SINCE_2019 = {
    **_EXPECTED,
    **dict.fromkeys(("minContains", "maxContains"), _NUMBER),
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "$defs"), _OBJECT),
    **dict.fromkeys(("$ref", "$anchor", "$dynamicRef", "$dynamicAnchor"), _STRING),
    "prefixItems": _ARRAY,
}


def load(documents: Documents) -> JsonShape:
    """Return the shape of a document's root, with every reference that it leads to resolved."""
    loader = _Loader(documents)
    root = run(loader.schema(documents.root))
    loader.resolve()
    return root


class _Loader:
    """The schemas that references lead to, each loaded once, and the references that wait for them."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._draft = documents.draft
        self._expected = _EXPECTED_SINCE_2019 if documents.draft.is_modern else _EXPECTED_BEFORE_2019
        self._expected = {**self._expected, documents.draft.id_keyword: _STRING}
        self._loaded: dict[int, JsonShape] = {}
        self._waiting: list[tuple[JsonReference, Located]] = []

    def resolve(self) -> None:
        """Load what references lead to, and what is referred to from there."""
        while self._waiting:
            reference, located = self._waiting.pop()
            key = id(located.node)
            if key not in self._loaded:
                self._loaded[key] = run(self.schema(located))
            reference.referred = self._loaded[key]

    def schema(self, at: Located) -> Deep[JsonShape]:
        """Return the shape of a schema."""
        node = at.node
        if isinstance(node, bool):
            return JsonShape("true" if node else "false", node)
        if not isinstance(node, dict):
            raise InvalidSchema(f"A schema is an object or a boolean, and not {printed(node)[:80]}.")
        if "$ref" in node and not self._draft.is_modern:
            self._check(node, ("$ref", "title", "description"))
            shape = self._reference(node["$ref"], at)
        else:
            self._check(node, node)
            parts: list[JsonShape] = yield self._parts(node, at)
            shape = parts[0] if len(parts) == 1 else JsonCombined("combined", schemas=parts)
            if not parts:
                shape = JsonShape("empty")
        shape.node = node
        shape.has_default = "default" in node
        shape.connect_type = node.get("connect.type")
        return shape

    def _parts(self, node: dict[str, Any], at: Located) -> Deep[list[JsonShape]]:
        parts: list[JsonShape] = []
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if self._draft.is_modern and isinstance(node.get(keyword), str):
                parts.append(self._reference(node[keyword], at))
        if "enum" in node:
            parts.append(JsonEnumShape("enum", values=frozenset(map(_key, node["enum"]))))
        for criterion in _CRITERIA:
            if criterion in node:
                schemas = yield self._all(node[criterion], at)
                parts.append(JsonCombined("combined", criterion=criterion, schemas=schemas))
        if "not" in node:
            inner: JsonShape = yield self._part(node["not"], at)
            parts.append(JsonNotShape("not", inner=inner))
        if "const" in node and self._draft.number > 4:
            parts.append(JsonEnumShape("const", values=frozenset((_key(node["const"]),))))
        kinds = self._kinds(node)
        if "type" in node:
            parts.append((yield self._of_type(node["type"], node, at)))
        for kind in kinds:
            parts.append((yield self._of_kind(kind, node, at)))
        if self._draft.number >= 7 and any(keyword in node for keyword in _CONDITIONALS):
            yield self._all([node[keyword] for keyword in _CONDITIONALS if keyword in node], at)
            parts.append(JsonShape("conditional"))
        if self._draft.is_modern and "$defs" in node:
            yield self._all(node["$defs"].values(), at)  # they must be valid, although nothing may refer to them
        return parts

    def _kinds(self, node: dict[str, Any]) -> list[str]:
        """Return the kinds that keywords speak of without a `type` that does."""
        types = node.get("type")
        named = {"number" if each == "integer" else each for each in (types if isinstance(types, list) else [types])}
        return [
            kind
            for kind in ("array", "object", "number", "string")
            if kind not in named and any(keyword in node for keyword in self._keywords(kind))
        ]

    def _keywords(self, kind: str) -> Iterable[str]:
        modern = _MODERN_KEYWORDS.get(kind, ()) if self._draft.is_modern else ()
        return (*_KEYWORDS[kind], *modern)

    def _of_type(self, types: Any, node: dict[str, Any], at: Located) -> Deep[JsonShape]:
        if isinstance(types, str):
            result: JsonShape = yield self._of_kind(types, node, at)
            return result
        if not isinstance(types, list):
            raise InvalidSchema(f'"type" is a string or an array of strings, and not {printed(types)[:80]}.')
        shapes = []
        for each in types:
            if not isinstance(each, str):
                raise InvalidSchema(f'"type" has {printed(each)[:80]}, which is no string.')
            shapes.append((yield self._of_kind(each, node, at)))
        return JsonCombined("combined", criterion="anyOf", schemas=shapes)

    def _of_kind(self, kind: str, node: dict[str, Any], at: Located) -> Deep[JsonShape]:
        if kind == "string":
            return JsonStringShape(
                "string",
                min_length=node.get("minLength"),
                max_length=node.get("maxLength"),
                pattern=node.get("pattern"),
            )
        if kind in ("number", "integer"):
            return self._number(node, requires_integer=kind == "integer")
        if kind == "array":
            result: JsonShape = yield self._array(node, at)
            return result
        if kind == "object":
            result = yield self._object(node, at)
            return result
        if kind not in _TYPES:
            raise InvalidSchema(f'"type" has "{kind[:80]}", which is no type of JSON.')
        return JsonShape(kind)

    def _number(self, node: dict[str, Any], *, requires_integer: bool) -> JsonNumberShape:
        limits = [node.get(keyword) for keyword in ("exclusiveMinimum", "exclusiveMaximum")]
        if self._draft.number == 4:
            if not all(limit is None or isinstance(limit, bool) for limit in limits):
                raise InvalidSchema('"exclusiveMinimum" and "exclusiveMaximum" are booleans in draft 4.')
            limits = [None, None]
        elif not all(limit is None or _is_number(limit) for limit in limits):
            raise InvalidSchema('"exclusiveMinimum" and "exclusiveMaximum" are numbers.')
        if "multipleOf" in node and node["multipleOf"] == 0:
            raise InvalidSchema('"multipleOf" is not 0.')
        return JsonNumberShape(
            "number",
            minimum=node.get("minimum"),
            maximum=node.get("maximum"),
            exclusive_minimum=limits[0],
            exclusive_maximum=limits[1],
            multiple_of=node.get("multipleOf"),
            requires_integer=requires_integer,
        )

    def _array(self, node: dict[str, Any], at: Located) -> Deep[JsonArrayShape]:
        shape = JsonArrayShape(
            "array",
            min_items=node.get("minItems"),
            max_items=node.get("maxItems"),
            min_contains=node.get("minContains"),
            max_contains=node.get("maxContains"),
            unique=node.get("uniqueItems", False),
        )
        first, each, rest = self._items(node)
        shape.tuple_items = yield self._all(first, at)
        if rest is not _NOTHING:
            shape.additional, shape.additional_schema = yield self._rest(rest, at)
        if self._draft.is_modern and isinstance(each, bool):
            shape.additional = each
        elif each is not _NOTHING:
            shape.items = yield self._part(each, at)
            shape.additional = True
        if "contains" in node and self._draft.number > 4:
            yield self._part(node["contains"], at)
            if self._draft.is_modern and shape.min_contains is None:
                shape.min_contains = 1
        if self._draft.is_modern and "unevaluatedItems" in node:
            shape.unevaluated = yield self._part(node["unevaluatedItems"], at)
        return shape

    def _items(self, node: dict[str, Any]) -> tuple[list[Any], Any, Any]:
        """Return the schemas of an array's first items, of every item, and of those after the first."""
        items = node.get("items", _NOTHING)
        if self._draft.number == 2020 or (self._draft.is_modern and "prefixItems" in node):
            first = node.get("prefixItems", [])
            return (first, _NOTHING, items) if first else ([], items, _NOTHING)
        rest = node.get("additionalItems", _NOTHING)
        return (items, _NOTHING, rest) if isinstance(items, list) else ([], items, rest)

    def _object(self, node: dict[str, Any], at: Located) -> Deep[JsonObjectShape]:
        shape = JsonObjectShape(
            "object",
            required=frozenset(node.get("required", ())),
            min_properties=node.get("minProperties"),
            max_properties=node.get("maxProperties"),
        )
        shape.properties = yield self._named(self._properties(node), at)
        shape.pattern_properties = yield self._named(node.get("patternProperties", {}), at)
        if "additionalProperties" in node:
            shape.additional, shape.additional_schema = yield self._rest(node["additionalProperties"], at)
        lists, schemas = self._dependencies(node)
        shape.dependent_required = {key: frozenset(names) for key, names in lists.items()}
        shape.dependent_schemas = yield self._named(schemas, at)
        if "propertyNames" in node and self._draft.number > 4:
            yield self._part(node["propertyNames"], at)
        if self._draft.is_modern and "unevaluatedProperties" in node:
            shape.unevaluated = yield self._part(node["unevaluatedProperties"], at)
        return shape

    def _properties(self, node: dict[str, Any]) -> dict[str, Any]:
        keyword = self._draft.id_keyword  # taken for the URI of `properties` itself where it is no schema
        properties = node.get("properties", {})
        return {key: value for key, value in properties.items() if key != keyword or isinstance(value, dict)}

    def _dependencies(self, node: dict[str, Any]) -> tuple[dict[str, list[str]], dict[str, Any]]:
        if self._draft.is_modern:
            lists, schemas = node.get("dependentRequired", {}), node.get("dependentSchemas", {})
        else:
            dependencies = node.get("dependencies", {})
            lists = {key: each for key, each in dependencies.items() if isinstance(each, list)}
            schemas = {key: each for key, each in dependencies.items() if not isinstance(each, list)}
        for key, names in lists.items():
            if not _are_strings(names):
                raise InvalidSchema(f'What depends on "{key[:80]}" is an array of strings.')
        return lists, schemas

    def _rest(self, node: Any, at: Located) -> Deep[tuple[bool, JsonShape | None]]:
        if isinstance(node, bool):
            return node, None
        return True, (yield self._part(node, at))

    def _all(self, nodes: Iterable[Any], at: Located) -> Deep[list[JsonShape]]:
        shapes = []
        for node in nodes:
            shapes.append((yield self._part(node, at)))
        return shapes

    def _named(self, nodes: dict[str, Any], at: Located) -> Deep[dict[str, JsonShape]]:
        shapes = {}
        for name, node in nodes.items():
            shapes[name] = yield self._part(node, at)
        return shapes

    def _part(self, node: Any, at: Located) -> Deep[JsonShape]:
        result: JsonShape = yield self.schema(self._documents.within(node, at))
        return result

    def _reference(self, reference: str, at: Located) -> JsonShape:
        found = self._documents.find(reference, at)
        if found is None:
            return JsonShape(f"meta-schema {reference.removesuffix('#')}")
        shape = JsonReference("reference")
        self._waiting.append((shape, found))
        return shape

    def _check(self, node: dict[str, Any], keywords: Iterable[str]) -> None:
        for keyword in keywords:
            if keyword in self._expected and keyword in node:
                expected, fits = self._expected[keyword]
                if not fits(node[keyword]):
                    raise InvalidSchema(f'"{keyword}" is {expected}, and not {printed(node[keyword])[:80]}.')


def _key(value: Any) -> str:
    """Return what makes a value of an enum one: its text, with the keys of objects sorted."""
    return printed(with_sorted_keys(value))
