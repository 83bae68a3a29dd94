"""Valid requests full of values at the edges: what the schema allows, and no real client sends."""

from random import Random
from typing import Any, TypeVar

from barnabas.protocol.codec.schema import Field, FieldType, Struct, default_instance
from barnabas.protocol.messages.push_telemetry import PushTelemetryRequest
from tests.support.fuzz.pushes import pushed
from tests.support.fuzz.stage import Facts
from tests.support.fuzz.words import INTEGER_BITS, LONG_TEXT, ODD_NAMES, UUIDS, Focus, batch, edge, focus, words

S = TypeVar("S", bound=Struct)

_FOCUS_SHARES = (0.4, 0.8, 0.97)  # in some requests little fits, in others all but one thing
_DEPTHS_BRANCHING = 1  # how many levels of lists may be long


def odd_request(struct: type[S], version: int, facts: Facts, rng: Random) -> S:
    """A request that `version` can carry."""
    return _Maker(version, facts, rng).make(struct, 0)


class _Maker:
    def __init__(self, version: int, facts: Facts, rng: Random) -> None:
        self._version = version
        self._rng = rng
        self._focus: Focus = focus(facts, rng)
        self._words = words(facts, self._focus)
        self._focus_share = rng.choice(_FOCUS_SHARES)
        self._is_in_long_list = False

    def make(self, struct: type[S], depth: int) -> S:
        message: S = default_instance(struct)
        for field in struct.__schema__.fields:
            if field.in_version(self._version):
                setattr(message, field.name, self._made(struct, field, depth))
        if isinstance(message, PushTelemetryRequest):
            message.metrics = pushed(message.compression_type, self._rng)
        return message

    def _made(self, struct: type[Struct], field: Field, depth: int) -> Any:
        chance = self._rng.random()
        if field.nullable_in(self._version) and chance < 0.15:
            return None
        value = self._value(struct, field, field.type, depth)
        return None if field.may_be_unset and value == default_instance(type(value)) else value

    def _value(self, struct: type[Struct], field: Field, type: FieldType, depth: int) -> Any:
        if type.element is not None:
            return self._list(struct, field, type.element, depth)
        if type.struct is not None:
            return self.make(type.struct, depth + 1)
        known = self._words.get(f"{struct.__name__}.{field.name}") or self._words.get(field.name)
        chance = self._rng.random()
        if known is not None and chance < self._focus_share:
            return known[0]
        if known is not None and chance < (1 + self._focus_share) / 2:
            return self._rng.choice(known)
        return self._edge(type)

    def _list(self, struct: type[Struct], field: Field, element: FieldType, depth: int) -> list[Any]:
        chance = self._rng.random()
        if chance < 0.02 and depth <= _DEPTHS_BRANCHING:
            self._is_in_long_list = True
            value = self._value(struct, field, element, depth + 2)
            self._is_in_long_list = False
            return [value] * self._rng.choice((100, 1000))
        values = [self._value(struct, field, element, depth) for _ in range(self._rng.choice((0, 1, 1, 1, 1, 2, 3)))]
        if values and chance < 0.1:
            values.append(values[0])  # twice the same
        return values

    def _edge(self, type: FieldType) -> Any:
        rng = self._rng
        if type.name in INTEGER_BITS:
            return edge(INTEGER_BITS[type.name], rng)
        match type.name:
            case "uint16":
                return rng.choice((0, 1, 0x7FFF, 0xFFFF))
            case "float64":
                return rng.choice((0.0, -0.5, 1e300, float("inf"), float("nan")))
            case "bool":
                return rng.random() < 0.5
            case "uuid":
                return rng.choice((*UUIDS, rng.randbytes(16)))
            case "string":
                return LONG_TEXT if rng.random() < 0.05 and not self._is_in_long_list else rng.choice(ODD_NAMES)
            case "records":
                return batch(self._focus, rng)
            case _:
                return rng.randbytes(rng.choice((0, 1, 5, 300)))
