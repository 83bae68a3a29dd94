"""Paths of requests before they are routed: segments with slashes and percent signs, contexts, and aliases.

Segments stay percent-encoded while they are routed, as a subject may have a slash. `/contexts/C/subjects/S` is
`/subjects/:.C:S`, and so on. A subject with an alias stands for the subject that the alias names.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qsl, quote, unquote

from barnabas.registry.state.qualified_subject import WILDCARD, context_prefix, qualified_within
from barnabas.registry.state.registry_state import RegistryState

Query = list[tuple[str, str]]
_SETTINGS = ("config", "mode")


def segments_of(raw_path: bytes) -> list[str]:
    """Return the decoded segments of a path, without empty ones at its ends."""
    return [unquote(each) for each in raw_path.decode("latin-1").strip("/").split("/")]


def path_of(segments: Sequence[str]) -> str:
    """Return the path with each segment percent-encoded."""
    return "/" + "/".join(quote(each, safe=":.") for each in segments)


def query_of(query_string: bytes) -> Query:
    """Return the query's names and values."""
    return parse_qsl(query_string.decode("latin-1"), keep_blank_values=True)


def below_context(segments: list[str], query: Query) -> tuple[list[str], Query]:
    """Return segments and query without a leading context, which qualifies the subjects instead. Raises ValueError."""
    if len(segments) < 2 or segments[0] != "contexts":
        return segments, query
    prefix, rest = context_prefix(segments[1]), segments[2:]
    if not rest:
        return ["contexts", prefix or ":.:"], query
    place = 1 if rest[0] in _SETTINGS else next((at + 1 for at, each in enumerate(rest) if each == "subjects"), 0)
    if place and place < len(rest):
        rest = [*rest[:place], _qualified(prefix, rest[place]), *rest[place + 1 :]]
    elif rest[0] in _SETTINGS and prefix:
        rest = [rest[0], prefix]
    if rest[:2] == ["schemas", "ids"]:
        query = _with_prefix(query, "subject", prefix)
    elif rest in (["schemas"], ["subjects"]):
        query = _with_prefix(query, "subjectPrefix", prefix)
    return rest, query


def without_aliases(segments: list[str], query: Query, state: RegistryState) -> tuple[list[str], Query]:
    """Return segments and query with each alias of a subject replaced by what it stands for."""
    if not state.has_aliases:
        return segments, query
    replaced = [
        _alias_target(state, each) if at and segments[at - 1] == "subjects" else each
        for at, each in enumerate(segments)
    ]
    if segments[:2] == ["schemas", "ids"]:
        query = [(name, _alias_target(state, value) if name == "subject" else value) for name, value in query]
    return replaced, query


def _alias_target(state: RegistryState, subject: str) -> str:
    alias = (state.own_config(subject) or {}).get("alias")
    return qualified_within(subject, alias).name if alias else subject


def _with_prefix(query: Query, wanted: str, prefix: str) -> Query:
    given = [value for name, value in query if name == wanted] or [""]
    return [*[each for each in query if each[0] != wanted], *[(wanted, _qualified(prefix, value)) for value in given]]


def _qualified(prefix: str, subject: str) -> str:
    return subject if subject.startswith((":.", WILDCARD)) else prefix + subject
