"""The records of a seed as bytes: keys, values and headers of all forms, in place or from files.

Files are read line by line, each time anew, so that a seed of many records does not lie in memory.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET

from barnabas.broker.server.seeding.document import Header, RecordFile, SeedRecord
from barnabas.broker.server.seeding.errors import SeedError
from barnabas.broker.server.seeding.positions import Path, path_text
from barnabas.broker.server.seeding.reading import SeedSource, explained
from barnabas.client.near_names import did_you_mean
from barnabas.protocol.records.builder import NewRecord
from barnabas.registry.encoding.errors import UnencodableValue

_FORMS = ("", "_json", "_base64", "_file")
_decoder = msgspec.json.Decoder(SeedRecord)
_new_tuple = tuple.__new__  # half the cost of a NamedTuple's constructor


class Place:
    """The place of a record, for errors: in a list of the document, or in a file with a record in each line.

    One serves all records of a list or a file: its number moves on with them.
    """

    __slots__ = ("file", "number", "path", "source")

    def __init__(self, source: SeedSource, path: Path, number: int = 0, file: str | None = None) -> None:
        self.source = source
        self.path = path
        self.number = number
        """The index in the list, or the line of the file."""
        self.file = file

    def error(self, what: str, *field: str | int) -> SeedError:
        """Return an error about the record, or about one of its fields."""
        if self.file is None:
            return self.source.error((*self.path, self.number, *field), what)
        where = f"{self.file}, line {self.number}"
        return SeedError(f"{where}: {path_text(field)}: {what}" if field else f"{where}: {what}")


def records_of(source: SeedSource, number: int) -> Iterator[tuple[Place, SeedRecord]]:
    """Yield the records of a topic, the one with this number in the seed. Raises SeedError.

    The place of a record is its own until the next one is asked for.
    """
    topic, path = source.seed.topics[number], ("topics", number)
    place = Place(source, (*path, "records"))
    for place.number, record in enumerate(topic.records):
        yield place, record
    for index, file in enumerate(topic.records_from):
        yield from _of_file(source, (*path, "records_from", index), file)


def _of_file(source: SeedSource, path: Path, file: RecordFile) -> Iterator[tuple[Place, SeedRecord]]:
    place = Place(source, path, file=file.file)
    record_of = _text_record if file.format == "lines" else _json_record
    try:
        with open(os.path.join(source.folder, file.file), "rb") as lines:
            for place.number, line in enumerate(lines, 1):
                if file.format == "lines" or line.strip():
                    yield place, record_of(place, line)
    except OSError as wrong:
        raise source.error((*path, "file"), f"{file.file}: {(wrong.strerror or str(wrong)).lower()}") from wrong


def _text_record(place: Place, line: bytes) -> SeedRecord:
    try:
        return SeedRecord(value=line.removesuffix(b"\n").removesuffix(b"\r").decode())
    except UnicodeDecodeError as wrong:
        raise place.error("this is not UTF-8") from wrong


def _json_record(place: Place, line: bytes) -> SeedRecord:
    try:
        return _decoder.decode(line)
    except msgspec.ValidationError as wrong:
        field, what = explained(str(wrong), SeedRecord)
        raise place.error(what, *field) from wrong
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        raise place.error(f"this is not a record as JSON: {wrong}") from wrong


def content(place: Place, given: SeedRecord, now_ms: int) -> NewRecord:
    """Return the record as bytes. Raises SeedError.

    now_ms: the timestamp of a record without one, in ms since 1970.
    """
    key = _bytes(place, "key", given.key, given.key_json, given.key_base64, given.key_file)
    if given.key_schema is not UNSET:
        key = _encoded(place, "key", given.key_schema, given.key_json)
    if given.value is given.value_json is given.value_base64 is given.value_file is UNSET:
        raise place.error("the field value is missing: null is the value of a tombstone")
    value = _bytes(place, "value", given.value, given.value_json, given.value_base64, given.value_file)
    if given.value_schema is not UNSET:
        value = _encoded(place, "value", given.value_schema, given.value_json)
    headers = tuple(_headers(place, given.headers)) if given.headers else ()
    timestamp = now_ms if given.timestamp is None else _timestamp_ms(given.timestamp)
    return _new_tuple(NewRecord, (key, value, headers, timestamp))


def _encoded(place: Place, field: str, subject: str, value: Any) -> bytes:
    """Return a value as a message of the seed's last schema of a subject."""
    if value is UNSET:
        raise place.error(f"only {field}_json is encoded by a schema", f"{field}_schema")
    encode = place.source.encoders.get(subject)
    if encode is None:
        what = f"the seed has no schema of the subject {subject}{did_you_mean(subject, place.source.encoders)}"
        raise place.error(what, f"{field}_schema")
    try:
        return encode(value)
    except UnencodableValue as why:
        raise place.error(str(why), f"{field}_json") from why


def _timestamp_ms(given: int | datetime) -> int:
    return given if isinstance(given, int) else int(given.timestamp() * 1000)


def _headers(place: Place, given: dict[str, str | None] | list[Header]) -> Iterable[tuple[str, bytes | None]]:
    if isinstance(given, dict):
        for name, text in given.items():
            yield name, None if text is None else text.encode()
        return
    for index, header in enumerate(given):
        at = ("headers", index)
        if header.value is header.value_json is header.value_base64 is UNSET:
            raise place.error("the field value is missing", *at)
        yield header.name, _bytes(place, "value", header.value, header.value_json, header.value_base64, UNSET, at)


def _bytes(
    place: Place, field: str, text: Any, as_json: Any, as_base64: Any, file: Any, before: Path = ()
) -> bytes | None:
    """Return what the one given form of a field says; None for null, and for a field that is not there."""
    if as_json is as_base64 is file is UNSET:  # the usual form
        return None if text is UNSET or text is None else text.encode("utf-8", "surrogatepass")
    if text is as_base64 is file is UNSET:
        return msgspec.json.encode(as_json)
    given = zip(_FORMS, (text, as_json, as_base64, file), strict=True)
    forms = [field + form for form, value in given if value is not UNSET]
    if len(forms) > 1:
        raise place.error(f"only one of {' and '.join(forms)} may be given", *before)
    if as_base64 is not UNSET:
        try:
            return base64.b64decode(as_base64, validate=True)
        except (binascii.Error, ValueError) as wrong:
            raise place.error("this is not base64", *before, f"{field}_base64") from wrong
    return _file_content(place, file, (*before, f"{field}_file"))


def _file_content(place: Place, name: str, field: Path) -> bytes:
    try:
        with open(os.path.join(place.source.folder, name), "rb") as file:
            return file.read()
    except OSError as wrong:
        raise place.error(f"{name}: {(wrong.strerror or str(wrong)).lower()}", *field) from wrong
