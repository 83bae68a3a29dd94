"""AlterClientQuotas (key 49), versions 0 to 1, flexible from 1: set and remove client quotas."""

from barnabas.protocol.codec.schema import BOOL, FLOAT64, INT16, INT32, STRING, Request, Response, Struct, array, field


class EntityData(Struct):
    entity_type: str = field(STRING)
    entity_name: str | None = field(STRING, nullable="0+")  # null: the default entity


class OpData(Struct):
    key: str = field(STRING)
    value: float = field(FLOAT64)
    remove: bool = field(BOOL)


class AlterClientQuotasRequestEntryData(Struct):
    entity: list[EntityData] = field(array(EntityData))
    ops: list[OpData] = field(array(OpData))


class AlterClientQuotasRequest(Request, key=49, versions="0-1", flexible="1+"):
    entries: list[AlterClientQuotasRequestEntryData] = field(array(AlterClientQuotasRequestEntryData))
    validate_only: bool = field(BOOL)


class AlterClientQuotasResponseEntryData(Struct):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    entity: list[EntityData] = field(array(EntityData))


class AlterClientQuotasResponse(Response, key=49, versions="0-1", flexible="1+"):
    throttle_time_ms: int = field(INT32, default=0)
    entries: list[AlterClientQuotasResponseEntryData] = field(array(AlterClientQuotasResponseEntryData))
