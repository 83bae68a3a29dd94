"""Formatting of an event as a line for people: its time, kind, subject, facts and cause. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

_ABOUT = ("transactional_id", "group", "topic")
"""The subject of an event comes first, without its name."""


def line_of(event: Mapping[str, Any]) -> str:
    """Format an event as one line. Control characters in names chosen by clients are escaped."""
    if "lost" in event:
        return f"… {event['lost']} events were missed"
    facts = dict(event["facts"])
    about = _about(facts)
    words = [_time(event["at_ms"]), event["kind"], *([about] if about else [])]
    words += [f"{name}={_value(value)}" for name, value in facts.items() if value is not None]
    return " ".join([*words, *_because(event["cause"])])


def _about(facts: dict[str, Any]) -> str:
    name = next((name for name in _ABOUT if facts.get(name) is not None), None)
    if name is None:
        return ""
    about = _value(facts.pop(name))
    if name == "topic" and facts.get("partition") is not None:
        about += f"-{facts.pop('partition')}"
    return about


def _because(cause: Mapping[str, Any]) -> list[str]:
    if "api" in cause:
        who = f" as {_value(cause['principal'])}" if "principal" in cause else ""
        client = f"{_value(cause['client_id'] or '?')}{who} at {cause['peer']}"
        return [f"<- {cause['api']} of {client} (#{cause['request']})"]
    return [f"<- timer {_value(cause['timer'])}"] if "timer" in cause else []


def _time(at_ms: int) -> str:
    moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    return f"{moment:%H:%M:%S}.{at_ms % 1000:03}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(map(_value, value))
    text = str(value)
    if text and text.isprintable() and " " not in text:
        return text
    return '"' + "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text) + '"'
