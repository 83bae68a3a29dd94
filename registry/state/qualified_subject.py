# compiled: mypyc
"""Names of subjects with their context: `orders-value` is in the default context, `:.staging:orders-value` in .staging.

A name with an empty subject, `:.staging:`, is the context itself. `:.__GLOBAL:` holds settings above all contexts. The
wildcard `:*:` is a prefix of every name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

DEFAULT_CONTEXT = "."
GLOBAL_CONTEXT = ".__GLOBAL"
GLOBAL = f":{GLOBAL_CONTEXT}:"
WILDCARD = ":*:"
_PREFIX = ":."
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_RESERVED = ("__GLOBAL", "__EMPTY")


class QualifiedSubject(NamedTuple):
    """A context and the name of a subject in it, which is empty for the context itself."""

    context: str
    subject: str

    @property
    def context_prefix(self) -> str:
        """The prefix of all names in the context: empty for the default one."""
        return "" if self.context == DEFAULT_CONTEXT else f":{self.context}:"

    @property
    def name(self) -> str:
        """The qualified name."""
        return self.context_prefix + self.subject


@lru_cache(128)
def qualified(name: str) -> QualifiedSubject:
    """Return the parts of a name."""
    if name.startswith(_PREFIX):
        context, _, subject = name[1:].partition(":")
        return QualifiedSubject(context, subject)
    if name.startswith(WILDCARD):
        return QualifiedSubject("*", name[len(WILDCARD) :])
    return QualifiedSubject(DEFAULT_CONTEXT, name)


def normalized(name: str) -> str:
    """Return the name without a context that is the default one."""
    return qualified(name).name


def qualified_within(parent: str, name: str) -> QualifiedSubject:
    """Return a name that another subject uses: in the other's context, unless it names one itself."""
    own = qualified(name)
    if own.context != DEFAULT_CONTEXT:
        return own
    return QualifiedSubject(qualified(parent).context, name)


def context_prefix(context: str) -> str:
    """Return the prefix of a context's names, given `staging`, `.staging` or `:.staging:`. Raises ValueError."""
    bare = context.removeprefix(":").removesuffix(":")
    if ":" in bare:
        raise ValueError(f"Context name '{bare}' cannot contain a colon")
    return QualifiedSubject(bare if bare.startswith(".") else f".{bare}", "").context_prefix


def is_default_context(name: str | None) -> bool:
    """Return whether it is the default context itself."""
    return name is None or qualified(name) == (DEFAULT_CONTEXT, "")


def is_global_context(name: str | None) -> bool:
    """Return whether it is the global context itself."""
    return name is not None and qualified(name) == (GLOBAL_CONTEXT, "")


def is_context(name: str | None) -> bool:
    """Return whether it is a context, and no subject in one."""
    return name is None or not qualified(name).subject


def covers(name: str | None, subject: str) -> bool:
    """Return whether a name is the subject, its context or the global one; None is all of them."""
    if name is None or name == subject:
        return True
    parts = qualified(name)
    return not parts.subject and parts.context in (GLOBAL_CONTEXT, qualified(subject).context)


def is_valid_subject(name: str, *, for_settings: bool = False) -> bool:
    """Return whether a subject may have the name. for_settings: or a setting."""
    if _CONTROL.search(name):
        return False
    parts = qualified(name)
    return parts.subject not in _RESERVED and (for_settings or parts.context != GLOBAL_CONTEXT)
