"""Stories of the registry's probe book, played to a registry, and each answer beside the one that is right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote, urlsplit

from tests.support.registry.pages import RestAnswer, RestPage, RestStep, RestStory

JSON_TYPE = "application/vnd.schemaregistry.v1+json"
_TIMEOUT_S = 30
_NAME = re.compile(r"<[\w-]+>")
_ANY, _MORE = "…", "…"
_TOLD_BY_CODE = "message"  # Apicurio words its messages otherwise; the code is what clients read


@dataclass(frozen=True)
class Mismatch:
    """A step with another answer than the right one. reasons: where the two differ."""

    story: RestStory
    step: RestStep
    given: RestAnswer
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        asked = f"{self.story.title!r}: {self.step.method} {self.step.path}"
        return "\n  ".join([asked, f"<- {self.step.right}", f"!= {self.given}", "; ".join(self.reasons)])


class RegistryAsker:
    """One connection to the registry at `url`, and the names that a story has given."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._connection = HTTPConnection(parts.hostname, parts.port, timeout=_TIMEOUT_S)
        self._base = parts.path.rstrip("/")
        self._names: dict[str, Any] = {}

    def close(self) -> None:
        self._connection.close()

    def play(self, page: RestPage, *, by_code: bool = False) -> Iterator[Mismatch]:
        """Ask all that a page has. by_code: an error's code is enough, its message may differ."""
        for story in page.stories:
            self._names = {}
            for step in story.steps:
                given = self.ask(step)
                reasons = tuple(self._reasons(step, given, by_code=by_code))
                if reasons:
                    yield Mismatch(story, step, given, reasons)

    def ask(self, step: RestStep) -> RestAnswer:
        """Ask what a step does, with the names that the story has given."""
        headers = {"Accept": JSON_TYPE} | ({"Content-Type": JSON_TYPE} if step.body is not None else {}) | step.headers
        body = None if step.body is None else _sent(self._named(step.body)).encode()
        path = self._base + quote(self._named(step.path), safe="/%?&=:.,~*!'()+-_")
        self._connection.request(step.method, path, body=body, headers=headers)
        response = self._connection.getresponse()
        text = response.read().decode("utf-8", "replace")
        return RestAnswer(response.status, (response.getheader("Content-Type") or "").partition(";")[0], text)

    def _named(self, text: str) -> str:
        return _NAME.sub(lambda found: str(self._names.get(found[0], found[0])), text)

    def _reasons(self, step: RestStep, given: RestAnswer, *, by_code: bool) -> Iterator[str]:
        right = step.right
        assert right is not None, f"{step.path} has no answer"
        if right.status != given.status:
            yield f"status {given.status}"
        if right.content_type is not None and right.content_type != given.content_type:
            yield f"type {given.content_type}"
        if right.body is not None:
            ignored = frozenset({_TOLD_BY_CODE}) if by_code else frozenset[str]()
            yield from self._differences(_value(right.body), _value(given.body or ""), "", ignored)

    def _differences(self, right: Any, given: Any, place: str, ignored: frozenset[str]) -> Iterator[str]:
        """Yield where a value is not as it has to be; give names to values on the way."""
        if isinstance(right, str):
            if not self._is_text(right, given):
                yield f"{place or 'body'}: {given!r}"
        elif isinstance(right, (dict, list)) and isinstance(value := _inner(given), type(right)) and value is not given:
            yield from self._differences(right, value, place, ignored)
        elif isinstance(right, dict) and isinstance(given, dict):
            yield from self._key_differences(right, given, place, ignored)
        elif isinstance(right, list) and isinstance(given, list):
            if len(right) != len(given):
                yield f"{place or 'body'}: {len(given)} items, {given!r}"
            for index, (each, theirs) in enumerate(zip(right, given, strict=False)):
                yield from self._differences(each, theirs, f"{place}[{index}]", ignored)
        elif right != given or isinstance(right, bool) != isinstance(given, bool):
            yield f"{place or 'body'}: {given!r}"

    def _key_differences(
        self, right: Mapping[str, Any], given: Mapping[str, Any], place: str, ignored: frozenset[str]
    ) -> Iterator[str]:
        for key, value in right.items():
            if key == _MORE or key in ignored:
                continue
            if key not in given:
                yield f"{place}.{key} is missing"
            else:
                yield from self._differences(value, given[key], f"{place}.{key}", ignored)
        if _MORE not in right:
            yield from (f"{place}.{key} is there: {given[key]!r}" for key in given if key not in right)

    def _is_text(self, right: str, given: Any) -> bool:
        if _NAME.fullmatch(right):
            return bool(self._names.setdefault(right, given) == given)
        if not isinstance(given, str):
            return right == _ANY
        pattern = ".*".join(re.escape(part) for part in self._named(right).split(_ANY))
        return re.fullmatch(pattern, given, re.DOTALL) is not None


def _value(text: str) -> Any:
    """Return the value of a JSON text; the text itself if it is none, as the texts of .proto files are."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _inner(value: Any) -> Any:
    """Return the value of a text that is JSON itself, as schemas are; another value as it is."""
    return _value(value) if isinstance(value, str) else value


def _sent(text: str) -> str:
    """Return the text of a body with each schema that is written as JSON as the text of that JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if not isinstance(value, dict) or not isinstance(value.get("schema"), (dict, list)):
        return text
    return json.dumps(value | {"schema": json.dumps(value["schema"], separators=(",", ":"))})
