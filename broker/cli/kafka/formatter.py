"""How the console consumers print a record: which parts, which separators, and with which deserializers."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from uuid import UUID

from barnabas.broker.cli.kafka.flags import CommandRefused, Options, pairs
from barnabas.client.consume.consumer import ConsumedRecord
from barnabas.client.consume.share.held_records import AcquiredRecord
from barnabas.client.security.client_properties import read_properties

_DEFAULT, _NO_OP, _LOGGING = "DefaultMessageFormatter", "NoOpMessageFormatter", "LoggingMessageFormatter"
_PACKAGES = ("org.apache.kafka.tools.consumer.", "kafka.tools.")
_DESERIALIZERS = "org.apache.kafka.common.serialization."
_PARTS = ("timestamp", "partition", "offset", "delivery", "epoch", "headers", "key", "value")
Deserializer = Callable[[bytes], str]


def _number(layout: str) -> Deserializer:
    """Return a deserializer of big-endian numbers of exactly this length. CommandRefused."""
    name = {"h": "Short", "i": "Integer", "q": "Long", "f": "Float", "d": "Double"}[layout]
    size = struct.calcsize(f">{layout}")

    def text(data: bytes) -> str:
        if len(data) != size:
            raise CommandRefused(f"Size of data received by {name}Deserializer is not {size}")
        return str(struct.unpack(f">{layout}", data)[0])

    return text


def _boolean(data: bytes) -> str:
    if data not in (b"\x00", b"\x01"):
        raise CommandRefused("Unexpected byte received by BooleanDeserializer")
    return "true" if data == b"\x01" else "false"


def _uuid(data: bytes) -> str:
    try:
        return str(UUID(data.decode()))
    except ValueError:
        raise CommandRefused("Error parsing data into UUID") from None


def _bytes(data: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 and byte != 92 else f"\\x{byte:02X}" for byte in data)


_BY_NAME: dict[str, Deserializer | None] = {
    "StringDeserializer": lambda data: data.decode(errors="replace"),
    "ShortDeserializer": _number("h"),
    "IntegerDeserializer": _number("i"),
    "LongDeserializer": _number("q"),
    "FloatDeserializer": _number("f"),
    "DoubleDeserializer": _number("d"),
    "BooleanDeserializer": _boolean,
    "UUIDDeserializer": _uuid,
    "BytesDeserializer": _bytes,
    "ByteArrayDeserializer": None,  # Kafka's tool then prints the address of an object; this one prints the bytes
}
"""Class -> its function from bytes to text; None leaves them unchanged."""


class Formatter:
    """Prints records as `--property` says."""

    time_name = "CreateTime"
    """The type of the records' timestamps."""

    def __init__(self, properties: dict[str, str], *, is_silent: bool, skips_errors: bool) -> None:
        self._is_silent, self._skips_errors = is_silent, skips_errors
        self._printed = [part for part in _PARTS if _is_true(properties, f"print.{part}", default=part == "value")]
        self._separator, self._end, self._between, self._null = (
            properties.get(name, default).encode("utf-8", "surrogateescape")
            for name, default in (
                ("key.separator", "\t"),
                ("line.separator", "\n"),
                ("headers.separator", ","),
                ("null.literal", "null"),
            )
        )
        self._types = {part: _deserializer(properties, part) for part in ("key", "value", "headers")}

    @property
    def prints_time(self) -> bool:
        """Whether timestamps are printed."""
        return "timestamp" in self._printed

    def line(self, consumed: ConsumedRecord | AcquiredRecord) -> bytes | None:
        """Return the output for a record, with its end; None if the record is skipped. CommandRefused."""
        if self._is_silent:
            return None
        try:
            return self._separator.join(self._part(part, consumed) for part in self._printed) + self._end
        except CommandRefused as error:
            if not self._skips_errors:
                raise
            print(f"Error processing message, skipping this message: {error}", file=sys.stderr)
            return None

    def _part(self, part: str, consumed: ConsumedRecord | AcquiredRecord) -> bytes:
        record = consumed.record
        if part == "key":
            return self._text("key", record.key)
        if part == "value":
            return self._text("value", record.value)
        if part == "headers":
            pairs_ = (
                name.encode("utf-8", "surrogateescape") + b":" + self._text(part, value)
                for name, value in record.headers
            )
            return self._between.join(pairs_) if record.headers else b"NO_HEADERS"
        delivery = consumed.delivery_count if isinstance(consumed, AcquiredRecord) else "NOT_PRESENT"
        texts = {
            "timestamp": f"{self.time_name}:{record.timestamp}",
            "partition": f"Partition:{consumed.partition}",
            "offset": f"Offset:{record.offset}",
            "delivery": f"Delivery:{delivery}",
            "epoch": "Epoch:NOT_PRESENT",
        }
        return texts[part].encode()

    def _text(self, part: str, data: bytes | None) -> bytes:
        if data is None:
            return self._null
        deserialize = self._types[part]
        return data if deserialize is None else deserialize(data).encode("utf-8", "surrogateescape")


def formatter_of(options: Options) -> Formatter:
    """Return the formatter of the command line. CommandRefused of an unknown one."""
    properties: dict[str, str] = {}
    if (path := options.value("formatter-config")) is not None:
        properties = read_properties(path)
    for part in ("key", "value"):
        if (name := options.value(f"{part}-deserializer")) is not None:
            properties[f"{part}.deserializer"] = name
    properties |= pairs([*options.values("property"), *options.values("formatter-property")])
    name = options.value("formatter") or _PACKAGES[0] + _DEFAULT
    plain = next((name.removeprefix(package) for package in _PACKAGES if name.startswith(package)), "")
    if plain not in (_DEFAULT, _NO_OP, _LOGGING):
        raise CommandRefused(f"the formatter {name} is not available here")
    skips_errors = options.has("skip-message-on-error")
    return Formatter(properties, is_silent=plain == _NO_OP, skips_errors=skips_errors)


def _is_true(properties: dict[str, str], key: str, *, default: bool) -> bool:
    return properties[key].strip().lower() == "true" if key in properties else default


def _deserializer(properties: dict[str, str], part: str) -> Deserializer | None:
    """Return a part's deserializer; None, with Kafka's message, for an unknown class: bytes are printed unchanged."""
    name = properties.get(f"{part}.deserializer")
    plain = (name or "").removeprefix(_DESERIALIZERS)
    if name and plain not in _BY_NAME:
        print(f"java.lang.ClassNotFoundException: {name}", file=sys.stderr)
    return _BY_NAME.get(plain)
