"""The schema registry: its subjects, one with its versions side by side, and a schema by its id."""

from __future__ import annotations

from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.page import ConsolePage, Facts
from barnabas.broker.http.console.params import NOT_FOUND, UNAVAILABLE, Refused, RequestParams
from barnabas.broker.http.console.queries import schemas as looking
from barnabas.broker.http.console.queries.schemas import USERS_MAX, SubjectRow
from barnabas.broker.http.console.rendering import url
from barnabas.broker.http.console.sorting import Keys, Sorting, sorting_of
from barnabas.registry.decisions.errors import RegistryError
from barnabas.registry.state.qualified_subject import DEFAULT_CONTEXT, normalized
from barnabas.registry.state.stored_schema import StoredSchema
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.registry.schema_registry import SchemaRegistry
    from barnabas.registry.state.registry_state import RegistryState

SUBJECTS_MAX = 200
VERSIONS_MAX = 200
VERSION_MAX = ID_MAX = (1 << 31) - 1


async def opened(observed: ConsoleContext) -> SchemaRegistry:
    """Return the registry. Raise Refused if there is none, or if it cannot be read."""
    served = observed.registry()
    if served is None:
        raise Refused("there is no schema registry: `barnabas serve --registry` has one", NOT_FOUND)
    try:
        return await served.current()
    except RegistryError as why:
        raise Refused(f"the schema registry cannot be read: {why.message}", UNAVAILABLE) from why


async def _list(observed: ConsoleContext, params: RequestParams) -> Facts:
    state = (await opened(observed)).state
    needle, which = params.word("q"), params.one_of("which", "active", "all")
    sorting = sorting_of(params, "/subjects", _KEYS, which=which, q=needle)
    names = await observed.in_turns(lambda: looking.matching_names(state, needle, deleted=which == "all"))
    first = params.number("first", 0)
    rows = await observed.in_turns(lambda: _rows(state, names, sorting, first))
    level, mode = looking.global_settings(state)
    query = {"which": which, "q": needle, "sort": sorting.word if sorting.column else ""}
    return {
        "rows": rows,
        "count": len(names),
        "first": first,
        "needle": needle,
        "which": which,
        "sorting": sorting,
        "level": level,
        "mode": mode,
        "earlier": first > 0 and url("/subjects", first=max(0, first - SUBJECTS_MAX), **query),
        "later": first + SUBJECTS_MAX < len(names) and url("/subjects", first=first + SUBJECTS_MAX, **query),
    }


_KEYS: Keys[SubjectRow] = {
    "subject": lambda row: row.name,
    "version": lambda row: row.latest.version,
    "id": lambda row: row.latest.schema_id,
    "type": lambda row: row.latest.content.schema_type,
    "compatibility": lambda row: row.level,
    "versions": lambda row: row.versions_count,
}


def _rows(state: RegistryState, names: list[str], sorting: Sorting, first: int) -> Steps[list[SubjectRow]]:
    """Return, in steps, a page of the table. Only an order by more than the name needs the rows of all subjects."""
    if sorting.column in ("", "subject"):
        ordered = names[::-1] if sorting.is_descending else names
        return (yield from looking.subject_rows(state, ordered[first : first + SUBJECTS_MAX]))
    keyed: list[tuple[Any, str]] = []
    for start in range(0, len(names), SUBJECTS_MAX):
        part = yield from looking.subject_rows(state, names[start : start + SUBJECTS_MAX])
        keyed += [(_KEYS[sorting.column](row), row.name) for row in part]
    keyed.sort(key=itemgetter(0), reverse=sorting.is_descending)
    yield
    return (yield from looking.subject_rows(state, [name for _, name in keyed[first : first + SUBJECTS_MAX]]))


async def _one(observed: ConsoleContext, params: RequestParams) -> Facts:
    registry = await opened(observed)
    state, subject = registry.state, normalized(params.needed("name"))
    every = state.versions(subject)
    if not every:
        raise Refused(f"there is no subject {subject}", NOT_FOUND)
    undeleted = [each for each in every if not each.is_deleted]
    which = params.one_of("which", "active" if undeleted else "all", "all", "active")
    listed = every if which == "all" else undeleted
    newer = _chosen(params, "version", every) or (undeleted or every)[-1]
    before = [each for each in listed if each.version < newer.version]
    older = _chosen(params, "against", every) or (before[-1] if before else None)
    compared = None
    if older is not None and older is not newer:
        diff = await observed.in_turns(lambda: looking.diff_of(older, newer))
        compared = await looking.comparison_of(registry, older, newer, diff)
    first = params.number("first", 0)
    newest_first = listed[::-1]
    return {
        "subject": subject,
        "is_deleted": not undeleted,
        "which": which,
        "hidden_count": len(every) - len(listed),
        "settings": looking.settings(state, subject),
        "versions": newest_first[first : first + VERSIONS_MAX],
        "before": _version_before(listed),
        "later": first + VERSIONS_MAX < len(listed)
        and url("/subject", name=subject, which=which, first=first + VERSIONS_MAX),
        "newer": newer,
        "older": older,
        "compared": compared,
        "context": looking.context_of(newer),
        "described": await _described(observed, state, newer),
    }


def _chosen(params: RequestParams, name: str, versions: list[StoredSchema]) -> StoredSchema | None:
    """Return the version that a parameter names; None without one. Raise Refused if it does not exist."""
    if not params.word(name):
        return None
    number = params.number(name, 0, 1, VERSION_MAX)
    found = next((each for each in versions if each.version == number), None)
    if found is None:
        raise Refused(f"there is no version {number} of it", NOT_FOUND)
    return found


def _version_before(versions: list[StoredSchema]) -> dict[int, int]:
    """Return the number of the version before each, but for the first one."""
    return {each.version: before.version for before, each in pairwise(versions)}


async def _described(observed: ConsoleContext, state: RegistryState, schema: StoredSchema) -> Facts:
    """Return a version with its text, its references and what refers to it."""
    referrers, referrers_left_out = looking.referrers_of(state, schema)
    text, attached = await observed.in_turns(lambda: looking.texts_of(schema))
    return {
        "text": text,
        "attached": attached,
        "references": looking.references_of(state, schema),
        "references_left_out": max(0, len(schema.content.references) - USERS_MAX),
        "referrers": referrers,
        "referrers_left_out": referrers_left_out,
    }


async def _by_id(observed: ConsoleContext, params: RequestParams) -> Facts:
    state = (await opened(observed)).state
    params.needed("id")
    schema_id, context = params.number("id", 0, 0, ID_MAX), params.word("context", DEFAULT_CONTEXT)
    users, left_out = looking.versions_with_id(state, schema_id, context)
    if not users:
        where = "" if context == DEFAULT_CONTEXT else f" in the context {context}"
        raise Refused(f"there is no schema with the id {schema_id}{where}", NOT_FOUND)
    shown = next((each for each in users if not each.is_deleted), users[0])
    return {
        "schema": shown,
        "context": context,
        "users": users,
        "users_left_out": left_out,
        "described": await _described(observed, state, shown),
    }


PAGES = (
    ConsolePage("/console/subjects", "subjects.html", _list),
    ConsolePage("/console/subject", "subject.html", _one, is_live=False),
    ConsolePage("/console/schema", "schema.html", _by_id, is_live=False),
)
