"""Which subjects and versions a listing shows: by the prefix of their names, and whether they are deleted."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.registry.rest.api_request import ApiRequest
from barnabas.registry.state.qualified_subject import WILDCARD, normalized, qualified


def prefix_test(prefix: str) -> Callable[[str], bool]:
    """Return whether a name has the prefix, as a function of the name.

    A prefix without a context is one of names in the default context, `:*:ab` one of names in any; `:.st` is one of
    contexts.
    """
    if prefix.startswith(WILDCARD):
        wanted = prefix[len(WILDCARD) :]
        return lambda name: not wanted or qualified(name).subject.startswith(wanted)
    wanted = normalized(prefix) if prefix.count(":") > 1 else prefix
    if wanted.startswith(":."):
        return lambda name: name.startswith(wanted)
    return lambda name: name.startswith(wanted) and not name.startswith(":.")


def is_shown(request: ApiRequest, *, is_deleted: bool) -> bool:
    """Return whether the request's parameters show what is deleted or not: `deleted` both, `deletedOnly` the first."""
    if request.flag("deletedOnly"):
        return is_deleted
    return request.flag("deleted") or not is_deleted
