"""The schemas of keys and values in Confluent's wire format, and their content decoded by them.

Only what can be a message of the registry's clients loads the registry. Decoding is done in a thread, and ends when
there is more text than a page shows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.http.console.formatting import CUT
from barnabas.broker.http.console.queries.records import Seen
from barnabas.broker.http.console.queries.schemas import context_of, in_thread
from barnabas.broker.http.console.rendering import url
from barnabas.broker.runtime.scheduler import Work
from barnabas.registry.decisions.errors import RegistryError
from barnabas.registry.decisions.message_versions import version_of_message
from barnabas.registry.decisions.parsing import SchemaSource, SourceKey, source_of_stored
from barnabas.registry.decoding.decoders import Decoder, decoder_for
from barnabas.registry.decoding.errors import UndecodableValue
from barnabas.registry.decoding.framing import KEY_HEADER, VALUE_HEADER, Framed, framed_part
from barnabas.registry.schemas.parsed_schema import InvalidSchema
from barnabas.registry.state.registry_state import RegistryState
from barnabas.registry.state.stored_schema import StoredSchema

if TYPE_CHECKING:
    from barnabas.broker.http.console.console_context import ConsoleContext

DECODED_CHARACTERS_MAX = 200_000
"""Of all that a page decodes."""
KEY, VALUE = "key", "value"


class MessageSchema(NamedTuple):
    """The schema of a key or value. version: None if the registry does not have it. text: the content as JSON, if it
    was decoded; else `trouble` says why it could not be.
    """

    name: str
    version: StoredSchema | None
    text: str | None = None
    trouble: str | None = None

    @property
    def label(self) -> str:
        """The schema in a few words."""
        return self.name if self.version is None else f"{self.version.subject} version {self.version.version}"

    @property
    def href(self) -> str | None:
        """The page of the schema."""
        if self.version is None:
            return None
        return url("/schema", id=self.version.schema_id, context=context_of(self.version))


Place = tuple[int, str]
"""The index of a record, and KEY or VALUE."""


class _Job(NamedTuple):
    """Something to decode. trouble: why it cannot be."""

    place: Place
    source: SchemaSource | None
    payload: bytes
    trouble: str | None = None


async def schemas_of(
    observed: ConsoleContext, topic: str, records: Sequence[Seen], *, bytes_max: int, indent: int | None = None
) -> dict[Place, MessageSchema]:
    """Return the schemas of keys and values that have one. bytes_max: larger ones, and cut ones, are not decoded."""
    served = observed.registry()
    parts = {} if served is None else _framed_parts(records)
    if served is None or not parts:
        return {}
    try:
        state = (await served.current()).state
    except RegistryError as why:
        trouble = f"the schema registry cannot be read: {why.message}"
        return {place: MessageSchema(part.schema_name, None, trouble=trouble) for place, part in parts.items()}
    found = {place: _found(state, topic, place, part) for place, part in parts.items()}
    jobs = [
        _job(state, place, schema.version, parts[place], _trouble(records[place[0]], place[1], bytes_max))
        for place, schema in found.items()
        if schema.version is not None
    ]
    if jobs:
        decoded = await observed.in_turns(lambda: _decoded(jobs, indent))
        found |= {place: found[place]._replace(text=text, trouble=why) for place, (text, why) in decoded.items()}
    return found


def _framed_parts(records: Sequence[Seen]) -> dict[Place, Framed]:
    parts = {}
    for index, seen in enumerate(records):
        if seen.decoded is not None:
            continue  # of the broker itself
        for part, data, name in ((KEY, seen.record.key, KEY_HEADER), (VALUE, seen.record.value, VALUE_HEADER)):
            found = framed_part(data, seen.record.headers, name)
            if found is not None:
                parts[index, part] = found
    return parts


def _found(state: RegistryState, topic: str, place: Place, part: Framed) -> MessageSchema:
    version = version_of_message(state, topic, part.schema_id, part.guid, is_key=place[1] == KEY)
    return MessageSchema(part.schema_name, version)


def _trouble(seen: Seen, part: str, bytes_max: int) -> str | None:
    size = seen.key_size if part == KEY else seen.value_size
    return f"it has more than {bytes_max:,} bytes" if size > bytes_max else None


def _job(state: RegistryState, place: Place, version: StoredSchema, part: Framed, trouble: str | None) -> _Job:
    if trouble is not None:
        return _Job(place, None, b"", trouble)
    try:
        return _Job(place, source_of_stored(state, version), part.payload)
    except RegistryError as why:
        return _Job(place, None, b"", why.message)


def _decoded(jobs: Sequence[_Job], indent: int | None) -> Work[dict[Place, tuple[str | None, str | None]]]:
    """Return for each the text, or why there is none."""
    return (yield from in_thread(lambda: _texts(jobs, indent)))


def _texts(jobs: Sequence[_Job], indent: int | None) -> dict[Place, tuple[str | None, str | None]]:
    decoders: dict[SourceKey, Decoder] = {}
    texts: dict[Place, tuple[str | None, str | None]] = {}
    left = DECODED_CHARACTERS_MAX
    for job in jobs:
        if job.source is None or left <= 0:
            texts[job.place] = None, job.trouble or "more than this page decodes"
            continue
        try:
            decoder = decoders.get(job.source.key)
            if decoder is None:
                decoder = decoders[job.source.key] = _decoder(job.source)
            text = json.dumps(decoder(job.payload), indent=indent, ensure_ascii=False)
        except (InvalidSchema, UndecodableValue, RecursionError) as why:
            texts[job.place] = None, str(why)
        else:
            texts[job.place] = text if len(text) <= left else text[:left] + CUT, None
            left -= len(text)
    return texts


def _decoder(source: SchemaSource) -> Decoder:
    return decoder_for(source.schema_type, source.text, source.referenced)
