"""Templates to HTML. All values are escaped; a template is loaded at its first use."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from barnabas.broker.http.console import formatting

_HERE = Path(__file__).parent
STATIC = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The static files, and their content types."""
_FILTERS = ("number", "duration", "moment", "size", "counted", "rate", "preview")
NAVIGATION = (
    ("transactions", "Transactions"),
    ("topics", "Topics"),
    ("groups", "Groups"),
    ("subjects", "Schemas"),
    ("why", "Why"),
    ("clients", "Clients"),
    ("security", "Security"),
    ("health", "Health"),
    ("settings", "Settings"),
    ("faults", "Faults"),
    ("clock", "Clock"),
)
_WITH_REGISTRY = ("subjects",)
LIVE = "live"
"""The block of a page that is refreshed when it has changed."""


@lru_cache(1)
def _environment() -> Environment:
    loader = FileSystemLoader(_HERE / "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {"static_url": _static_url, "url": url}
    environment.filters |= {name: getattr(formatting, name) for name in _FILTERS}
    environment.globals |= vars(environment.get_template("macros.html").module)
    return environment


def load(template: str) -> None:
    """Read and compile a template and its layout, which takes some hundredths of a second. Called in a thread."""
    for name in ("layout.html", template):
        _environment().get_template(name)


def navigation(*, has_registry: bool) -> list[tuple[str, str]]:
    """Return the pages in the head of every page: path and name."""
    return [each for each in NAVIGATION if has_registry or each[0] not in _WITH_REGISTRY]


def page(template: str, facts: dict[str, Any]) -> str:
    """Render a whole page."""
    return _environment().get_template(template).render(facts)


def live_part(template: str, facts: dict[str, Any]) -> str:
    """Render the part of the page that changes while it is open."""
    made = _environment().get_template(template)
    return "".join(made.blocks[LIVE](made.new_context(facts)))


def url(path: str, **query: object) -> str:
    """Return the address of a page of the console with a query."""
    given = {name.rstrip("_"): value for name, value in query.items() if value not in (None, "")}
    return f"/console{path}" + (f"?{urlencode(given)}" if given else "")


@lru_cache(len(STATIC))
def static_bytes(name: str) -> bytes:
    """Return the content of a static file."""
    return (_HERE / "static" / name).read_bytes()


@lru_cache(len(STATIC))
def _static_url(name: str) -> str:
    return f"/console/static/{name}?v={sha256(static_bytes(name)).hexdigest()[:12]}"
