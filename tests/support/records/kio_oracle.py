"""kio's entities out of our messages: the independent codec the tests compare bytes with.

kio has one class per message and version, whose fields are in Kafka's order, so ours and theirs are paired by position.
It holds times as `datetime` and `timedelta`, error codes as an enum, an all-zero id as None, arrays as tuples.
"""

import uuid
from dataclasses import Field as KioField
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from functools import cache
from io import BytesIO
from typing import Any, Literal, get_args

from kio.index import load_entity_schema
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from barnabas.protocol.codec.schema import Field, Response, Struct, default_instance

# Fields that Kafka gave another name after the release that kio knows.
_RENAMED = {
    ("TxnOffsetCommitRequest", "generation_id_or_member_epoch"): "generation_id",
    ("StreamsGroupHeartbeatResponse", "acceptable_recovery_lag_legacy"): "acceptable_recovery_lag",
}


@cache
def kio_entity(struct: type[Struct], version: int) -> Any:
    """kio's class for a message of ours."""
    kind: Literal[EntityType.response, EntityType.request]
    kind = EntityType.response if issubclass(struct, Response) else EntityType.request
    return load_entity_schema(_module_name(struct), version, kind)


def _module_name(struct: type[Struct]) -> str:
    return struct.__module__.rpartition(".")[2]


def kio_encode(entity: Any) -> bytes:
    out = BytesIO()
    entity_writer(type(entity))(out, entity)
    return out.getvalue()


def kio_decode(entity_class: Any, data: bytes) -> Any:
    entity, size = entity_reader(entity_class)(data, 0)
    assert size == len(data)
    return entity


def to_kio(message: Struct, version: int, entity_class: Any) -> Any:
    """Our `message` as an instance of kio's class for it."""
    ours = [field for field in message.__schema__.fields if field.in_version(version)]
    theirs = fields(entity_class)
    named = [_RENAMED.get((type(message).__name__, field.name), field.name) for field in ours]
    assert [_short(name) for name in named] == [_short(field.name) for field in theirs]
    return entity_class(
        **{
            their.name: _converted(our, their, getattr(message, our.name), version)
            for our, their in zip(ours, theirs, strict=True)
        }
    )


def _short(name: str) -> str:
    return name.removesuffix("_ms")  # kio's durations carry their unit themselves


def _converted(our: Field, their: KioField[Any], value: Any, version: int) -> Any:
    element = our.type.element
    struct = our.type.struct or (element.struct if element is not None else None)
    if struct is not None:
        entity_class = _nested_class(their.type)
        if our.type.struct is None:
            return None if value is None else tuple(to_kio(item, version, entity_class) for item in value)
        if value is None and our.may_be_unset:
            value = default_instance(struct)
        return None if value is None else to_kio(value, version, entity_class)
    if isinstance(value, list):
        return tuple(_scalar(their, item) for item in value)
    return _scalar(their, value)


def _nested_class(annotation: Any) -> Any:
    candidates = [annotation]
    while candidates:
        candidate = candidates.pop()
        if hasattr(candidate, "__dataclass_fields__"):
            return candidate
        candidates += get_args(candidate)
    raise LookupError(f"no entity in {annotation}")


def _scalar(their: KioField[Any], value: Any) -> Any:
    match their.metadata["kafka_type"]:
        case "uuid":
            return uuid.UUID(bytes=value) if any(value) else None
        case "error_code":
            return KioErrorCode(value)
        case "timedelta_i32" | "timedelta_i64":
            return timedelta(milliseconds=value)
        case "datetime_i64":
            return None if value == -1 else datetime.fromtimestamp(value / 1000, tz=UTC)
        case _:
            return value
