"""The schemas of a registry, each asked for once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from barnabas.broker.cli.terminal.registry_api import RegistryApi
from barnabas.registry.schemas.parsed_schema import InvalidSchema, ReferencedSchema

if TYPE_CHECKING:
    from barnabas.registry.decoding.decoders import Decoder
    from barnabas.registry.decoding.framing import Framed

_DEPTH_MAX = 64


class NoSchema(Exception):
    """A schema that the registry does not have, or that cannot be used. The message is one sentence."""


class RegistrySchemas:
    """A registry's schemas as decoders of messages."""

    def __init__(self, api: RegistryApi) -> None:
        self._api = api
        self._decoders: dict[str, Decoder | NoSchema] = {}
        self._referenced: dict[tuple[str, int], ReferencedSchema] = {}

    def decoder(self, message: Framed) -> Decoder:
        """Return the decoder of a message. Raises NoSchema; OSError if the registry does not answer."""
        name = message.schema_name
        if name not in self._decoders:
            try:
                self._decoders[name] = self._fetched(message)
            except NoSchema as why:
                self._decoders[name] = why
        found = self._decoders[name]
        if isinstance(found, NoSchema):
            raise found
        return found

    def _fetched(self, message: Framed) -> Decoder:
        from barnabas.registry.decoding.decoders import decoder_for

        name, by_guid = message.schema_name, message.guid is not None
        answer = self._get(f"/schemas/guids/{message.guid}" if by_guid else f"/schemas/ids/{message.schema_id}")
        if answer is None:
            raise NoSchema(f"the registry has no schema with the {name}")
        try:
            references = self._references(answer.get("references") or (), [])
            return decoder_for(answer.get("schemaType") or "AVRO", answer["schema"], references)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise NoSchema(f"what the registry answers for the schema with the {name} is none") from None
        except InvalidSchema as why:
            raise NoSchema(f"the schema with the {name} cannot be used: {why}") from None

    def _references(self, given: Any, path: list[tuple[str, int]]) -> tuple[ReferencedSchema, ...]:
        return tuple(
            self._reference(str(each["name"]), (str(each["subject"]), int(each["version"])), path) for each in given
        )

    def _reference(self, name: str, version: tuple[str, int], path: list[tuple[str, int]]) -> ReferencedSchema:
        if version in path or len(path) >= _DEPTH_MAX:
            raise NoSchema(f"the references of {version[0]} lead in a circle, or too far")
        if version not in self._referenced:
            subject, number = version
            answer = self._get(f"/subjects/{quote(subject, safe='')}/versions/{number}?deleted=true")
            if answer is None:
                raise NoSchema(f"the registry has no version {number} of {subject}, which a schema refers to")
            inner = self._references(answer.get("references") or (), [*path, version])
            self._referenced[version] = ReferencedSchema(name, subject, number, answer["schema"], inner)
        return self._referenced[version]._replace(name=name)

    def _get(self, path: str) -> dict[str, Any] | None:
        """Return what the registry has; None if there is no such thing. OSError if it gives no answer, or refuses."""
        answer = self._api.ask(path)
        if answer.status == 404 and "error_code" in answer.fields:
            return None
        if answer.status != 200 or not answer.fields:
            raise OSError(f"{self._api.address}: the registry answered {answer.refusal}")
        return answer.fields
