"""Codecs: a struct and a version, compiled once into a flat decoder and a flat encoder.

`codec(cls, version)` is cached. Each direction is generated when it is first used, since a broker only ever decodes
requests and encodes responses. The source is registered in `linecache`, so that a traceback shows the generated line.

    decode(buffer, position=0) -> (message, position after it)      raises DecodeError, and nothing else, on any bytes
    decode_in_steps(buffer, position=0)                             likewise, with a pause after each array's element
    encode(message) -> bytes                                        raises EncodeError when the message does not fit
    encode_in_steps(message, out)                                   likewise, with a pause after each array's element

Decoding never allocates by a claimed length. `records` are returned as views into the buffer, all else is copied.
"""

import linecache
from collections.abc import Callable, Generator
from typing import Any, Generic, Protocol, TypeVar, cast

from barnabas.protocol.codec.emit_decoder import emit_decoder
from barnabas.protocol.codec.emit_encoder import emit_encoder
from barnabas.protocol.codec.schema import Struct
from barnabas.protocol.primitives import Buffer

_PARTS_MAX = 1_000
"""With more parts, they are joined before the next step."""

M = TypeVar("M", bound=Struct)
M_co = TypeVar("M_co", bound=Struct, covariant=True)


class Decoder(Protocol[M_co]):
    def __call__(self, buffer: Buffer, position: int = 0) -> tuple[M_co, int]: ...


class Codec(Generic[M]):
    """Decoder and encoder of one struct in one version."""

    __slots__ = (
        "_decode_with_pauses",
        "_encode_with_pauses",
        "decode",
        "encode_parts",
        "flexible",
        "struct",
        "version",
    )

    decode: Decoder[M]
    encode_parts: Callable[[M], list[Buffer]]  # the encoding in pieces, records uncopied: for a gathering write

    def __init__(self, struct: type[M], version: int, flexible: bool) -> None:
        self.struct = struct
        self.version = version
        self.flexible = flexible
        self.decode = self._compile_decoder
        self.encode_parts = self._compile_encoder
        self._encode_with_pauses: Callable[[M], Generator[list[Buffer], None, list[Buffer]]] | None = None
        self._decode_with_pauses: Callable[[Buffer, int], Generator[None, None, tuple[M, int]]] | None = None

    def decode_in_steps(self, buffer: Buffer, position: int = 0) -> Generator[None, None, tuple[M, int]]:
        """Decode as `decode`, in steps. The buffer must not change meanwhile."""
        if self._decode_with_pauses is None:
            source, scope = emit_decoder(self.struct, self.version, self.flexible, pauses=True)
            self._decode_with_pauses = self._compile("decode", source, scope)
        return self._decode_with_pauses(buffer, position)

    def encode(self, message: M) -> bytes:
        return b"".join(self.encode_parts(message))

    def encode_into(self, message: M, out: bytearray) -> None:
        """Append the encoding to `out`."""
        out += b"".join(self.encode_parts(message))

    def encode_in_steps(self, message: M, out: bytearray) -> Generator[None, None, None]:
        """Append the encoding to `out`, in steps. The message must not change meanwhile."""
        encode = self._encode_with_pauses
        if encode is None:
            source, scope = emit_encoder(self.struct, self.version, self.flexible, pauses=True)
            encode = self._encode_with_pauses = self._compile("encode", source, scope)
        steps = encode(message)
        while True:
            try:
                parts = next(steps)
            except StopIteration as over:
                out += b"".join(over.value)
                return
            if len(parts) >= _PARTS_MAX:
                out += b"".join(parts)
                parts.clear()
            yield

    def __repr__(self) -> str:
        return f"<codec {self.struct.__name__} v{self.version}>"

    def _compile_decoder(self, buffer: Buffer, position: int = 0) -> tuple[M, int]:
        source, scope = emit_decoder(self.struct, self.version, self.flexible)
        self.decode = cast(Decoder[M], self._compile("decode", source, scope))
        return self.decode(buffer, position)

    def _compile_encoder(self, message: M) -> list[Buffer]:
        source, scope = emit_encoder(self.struct, self.version, self.flexible)
        self.encode_parts = cast(Callable[[M], list[Buffer]], self._compile("encode", source, scope))
        return self.encode_parts(message)

    def _compile(self, function: str, source: str, scope: dict[str, Any]) -> Callable[..., Any]:
        filename = f"<{function} {self.struct.__name__} v{self.version}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        exec(compile(source, filename, "exec"), scope)  # nosec B102 - of our own schemas
        return cast(Callable[..., Any], scope[function])


_codecs: dict[tuple[type[Struct], int], Codec[Any]] = {}


def codec(struct: type[M], version: int) -> Codec[M]:
    """Return the codec of a top-level struct. ValueError for a version it does not have."""
    try:
        return _codecs[struct, version]
    except KeyError:
        schema = struct.__schema__
        if version not in schema.valid_versions:
            raise ValueError(f"{struct.__name__} has no version {version}, only {schema.versions}") from None
        made = _codecs[struct, version] = Codec(struct, version, schema.is_flexible(version))
        return made
