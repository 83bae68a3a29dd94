"""Where a $ref leads: the documents of a schema and of its references, their URIs, anchors and JSON pointers.

Nothing is fetched: a reference to a URI that was not registered is refused. Meta-schemas are known by their URIs.
A pointer to `$defs` finds `definitions`, as in Confluent's registry.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from barnabas.registry.schemas.json_schema.model import Draft
from barnabas.registry.schemas.parsed_schema import InvalidSchema

META_SCHEMAS: dict[str, Draft] = {
    f"{scheme}://json-schema.org/{path}": Draft(number)
    for scheme in ("http", "https")
    for path, number in (
        ("schema", 4),
        ("draft-04/schema", 4),
        ("draft-06/schema", 6),
        ("draft-07/schema", 7),
        ("draft/2019-09/schema", 2019),
        ("draft/2020-12/schema", 2020),
    )
}
_DEFAULT_DRAFT = Draft(7)
_KNOWN_SCHEMES = ("http", "https", "file")
_NOTHING = object()


class Located(NamedTuple):
    """A schema within a document. base: the URI that its references are relative to."""

    node: Any
    base: str
    document: str


class Documents:
    """All that references may lead to, by URI without a fragment."""

    def __init__(self, root: Any, referenced: dict[str, Any]) -> None:
        self.draft = draft_of(root)
        base = _text(root, self.draft.id_keyword)
        self.root = Located(root, urldefrag(base).url, "")
        self._roots: dict[str, Any] = {"": root}
        self._resources: dict[str, Located] = {}
        self._anchors: dict[tuple[str, str], Located] = {}
        self._bases: dict[int, str] = {}  # of every object, by its id
        self._collect(root, self.root.base, "", self.draft)
        for name, node in referenced.items():
            uri = joined(self.root.base, name)
            self._roots[uri] = node
            self._resources[name] = self._resources[uri] = Located(node, uri, uri)
            self._collect(node, uri, uri, draft_of(node))
            if name.startswith("./"):
                self._resources.setdefault(name[2:], self._resources[name])

    def within(self, node: Any, parent: Located) -> Located:
        """Return the place of a part of a schema."""
        return Located(node, self._bases.get(id(node), parent.base), parent.document)

    def find(self, reference: str, at: Located) -> Located | None:
        """Return what a $ref leads to from a place; None for a meta-schema. InvalidSchema if it leads nowhere."""
        target, fragment = urldefrag(reference)
        uri = joined(at.base, target) if target else at.base
        for resource in self._candidates(target, uri, at):
            found = self._within(resource, fragment)
            if found is not None:
                return found
        if uri in META_SCHEMAS:
            return None
        raise InvalidSchema(f'The reference "{reference[:200]}" leads to no schema that is registered.')

    def _candidates(self, target: str, uri: str, at: Located) -> Iterator[Located]:
        for key in (uri, target, f"./{target}") if target else (uri,):
            if key in self._resources:
                yield self._resources[key]
        if not target:
            yield Located(self._roots[at.document], at.base, at.document)

    def _within(self, resource: Located, fragment: str) -> Located | None:
        if not fragment:
            return resource
        if fragment.startswith("/"):
            node = _at_pointer(resource.node, unquote(fragment))
            return None if node is _NOTHING else self.within(node, resource)
        return self._anchors.get((resource.document, unquote(fragment)))

    def _collect(self, root: Any, base: str, document: str, draft: Draft) -> None:
        """Note the URIs and anchors of all schemas in a document."""
        waiting: list[tuple[Any, str]] = [(root, base)]
        while waiting:
            node, base = waiting.pop()
            if isinstance(node, list):
                waiting.extend((each, base) for each in node)
            if not isinstance(node, dict):
                continue
            base = self._noted(node, base, document, draft)
            waiting.extend((each, base) for each in node.values())

    def _noted(self, node: dict[str, Any], base: str, document: str, draft: Draft) -> str:
        identity = _text(node, draft.id_keyword)
        uri, fragment = urldefrag(identity)
        if uri:
            base = joined(base, uri)
            self._resources.setdefault(base, Located(node, base, document))
        self._bases[id(node)] = base
        located = Located(node, base, document)
        for anchor in (fragment, _text(node, "$anchor"), _text(node, "$dynamicAnchor")):
            if anchor and not anchor.startswith("/"):
                self._anchors.setdefault((document, anchor), located)
        return base


def draft_of(root: Any) -> Draft:
    """Return the draft of a document's $schema, 7 if there is none that is known."""
    return META_SCHEMAS.get(_text(root, "$schema").removesuffix("#"), _DEFAULT_DRAFT)


def joined(base: str, reference: str) -> str:
    """Return a reference as a URI, relative to another."""
    if not base:
        return reference
    try:
        scheme = base.partition(":")[0]
        if ":" in base and scheme not in _KNOWN_SCHEMES:  # urljoin knows no relative references in other schemes
            return scheme + urljoin("http" + base[len(scheme) :], reference)[4:] if "//" in base else reference
        return urljoin(base, reference)
    except ValueError as error:
        raise InvalidSchema(f"The URI {reference[:200]!r} is none: {error}.") from None


def _at_pointer(node: Any, pointer: str) -> Any:
    found = node
    for part in pointer[1:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and key in found:
            found = found[key]
        elif isinstance(found, list) and len(key) < 10 and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        elif pointer.startswith("/$defs/"):
            return _at_pointer(node, "/definitions/" + pointer[7:])
        else:
            return _NOTHING
    return found


def _text(node: Any, key: str) -> str:
    value = node.get(key) if isinstance(node, dict) else None
    return value if isinstance(value, str) else ""
