"""Reading a seed: from a YAML or JSON file, or from the values of such a document.

An error says file, line and field in one sentence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import inspect

from barnabas.broker.runtime.garbage_collection import collections_paused
from barnabas.broker.server.seeding.document import Seed
from barnabas.broker.server.seeding.errors import SeedError
from barnabas.broker.server.seeding.json_text import json_values, whole_seed
from barnabas.broker.server.seeding.positions import Path, line_of, path_text
from barnabas.client.near_names import did_you_mean

_AT = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<number>\d+)\]")
_TYPES = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
    "object": "a mapping",
    "array": "a list",
    "datetime": "a date with its time and time zone",
    "date": "a date",
}
_CHOICES = {
    "outcome": "committed, aborted or open",
    "format": "json-lines or lines",
    "pattern": "literal or prefixed",
    "permission": "allow or deny",
    "mechanisms": "SCRAM-SHA-256 or SCRAM-SHA-512",
    "offset": "a number, earliest or latest",
    "version": "1",
    "cluster": "true",
    "type": "AVRO, JSON or PROTOBUF",
    "compatibility": "a compatibility level, such as BACKWARD, FORWARD, FULL or NONE",
}
_PATTERNS = {
    "name": "a topic's name has letters, digits, '.', '_' and '-' only",
    "topic": "a topic's name has letters, digits, '.', '_' and '-' only",
    "principal": "a principal is written as User:name",
}


class SeedSource:
    """A seed, and where it comes from: the folder where the names of its files begin, and its text, to find lines."""

    def __init__(self, seed: Seed, name: str, folder: str, text: str | None) -> None:
        self.seed = seed
        self.name = name
        self.folder = folder
        self.has_registry = False
        """Whether the broker that it is for will serve a schema registry."""
        self.encoders: Mapping[str, Callable[[Any], bytes]] = {}
        """By subject: what makes messages of values, with the id of their schema."""
        self._text = text

    def error(self, path: Path, what: str) -> SeedError:
        """Return an error about a field."""
        return _error(self.name, self._text, path, what)


def read_file(path: str) -> SeedSource:
    """Return the seed in a file, YAML or JSON. Raises SeedError, OSError; ImportError where PyYAML is missing."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        text = content.decode()
    except UnicodeDecodeError as wrong:
        line = content.count(b"\n", 0, wrong.start) + 1
        raise SeedError(f"{path}, line {line}: this is not UTF-8") from wrong
    with collections_paused():
        seed = _of_json(content, text, path) if text.lstrip()[:1] == "{" else _of_yaml(text, path)
    return SeedSource(seed, path, os.path.dirname(os.path.abspath(path)), text)


def read_values(values: Mapping[str, Any]) -> SeedSource:
    """Return the seed of these values; the names of its files begin at the working directory. Raises SeedError."""
    return SeedSource(_converted(values, "seed", None), "seed", os.getcwd(), None)


def _of_json(content: bytes, text: str, path: str) -> Seed:
    return whole_seed(content) or _converted(json_values(text, path), path, text)


def _of_yaml(text: str, path: str) -> Seed:
    from barnabas.broker.server.seeding.yaml_text import yaml_values  # PyYAML, which takes long to import

    return _converted(yaml_values(text, path), path, text)


def _converted(values: object, name: str, text: str | None) -> Seed:
    try:
        return msgspec.convert({} if values is None else values, Seed)
    except msgspec.ValidationError as wrong:
        path, what = explained(str(wrong))
        raise _error(name, text, path, what) from wrong


def _error(name: str, text: str | None, path: Path, what: str) -> SeedError:
    line = None if text is None else line_of(text, path)
    where = name if line is None else f"{name}, line {line}"
    return SeedError(f"{where}: {path_text(path)}: {what}" if path else f"{where}: {what}")


def explained(message: str, root: type[msgspec.Struct] = Seed) -> tuple[Path, str]:
    """Return the path, and the sentence, for a message of msgspec about a value of `root` that does not fit."""
    parts = _AT.match(message)
    assert parts is not None, "the pattern matches every text"
    what, steps = parts["what"], parts["path"] or ""
    path: Path = tuple(
        int(step["number"]) if step["number"] else step["name"] for step in _STEP.finditer(steps.partition("[...]")[0])
    )
    field = next((each for each in reversed(path) if isinstance(each, str)), "")
    if match := re.match(r"Object contains unknown field `(.*)`", what):
        return (*path, match[1]), f"there is no such field{did_you_mean(match[1], fields_at(path, root))}"
    if match := re.match(r"Object missing required field `(.*)`", what):
        return path, f"the field {match[1]} is missing"
    if what.startswith("Invalid enum value") and field in _CHOICES:
        return path, f"expected {_CHOICES[field]}"
    if "matching regex" in what and field in _PATTERNS:
        return path, _PATTERNS[field]
    return path, _in_words(what)


def _in_words(what: str) -> str:
    if match := re.match(r"Expected `(.*)`, got `(.*)`$", what):
        wanted, found = ([_TYPES.get(each, each) for each in group.split(" | ")] for group in match.groups())
        hint = (
            ": write it in quotes" if "a string" in wanted and found[0] not in ("a list", "a mapping", "null") else ""
        )
        return f"expected {' or '.join(dict.fromkeys(wanted))}, got {found[0]}{hint}"
    if match := re.match(r"Expected `(.*)` of length (>=|<=) (\d+)$", what):
        kind = {"str": "characters", "array": "entries"}.get(match[1], "entries")
        return f"expected {'at least' if match[2] == '>=' else 'at most'} {match[3]} {kind}"
    if match := re.match(r"Expected `(.*)` (>=|<=) (-?\d+)$", what):
        limit = "at least" if match[2] == ">=" else "at most"
        return f"expected {_TYPES.get(match[1], match[1])} of {limit} {match[3]}"
    return what.replace("`", "")[:1].lower() + what.replace("`", "")[1:]


def fields_at(path: Path, root: type[msgspec.Struct] = Seed) -> list[str]:
    """Return the names of the fields that are known at a place below `root`, such as ("topics", 0)."""
    types = [inspect.type_info(root)]
    for step in path:
        types = [found for each in types for found in _below(each, step)]
    return [field.name for each in types if isinstance(each, inspect.StructType) for field in each.fields]


def _below(type_: inspect.Type, step: str | int) -> list[inspect.Type]:
    """Return the types that a field or an entry may have, those of a union one by one."""
    found: list[inspect.Type] = []
    if isinstance(type_, inspect.StructType):
        found = [field.type for field in type_.fields if field.name == step]
    elif isinstance(type_, inspect.ListType) and isinstance(step, int):
        found = [type_.item_type]
    return [one for each in found for one in (each.types if isinstance(each, inspect.UnionType) else (each,))]
