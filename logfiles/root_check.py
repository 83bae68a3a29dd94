"""Checks the files in the root of a data directory: its properties and its checkpoints. Reads no log."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from barnabas.logfiles.findings import Finding, Kind
from barnabas.logfiles.reading import DISK, Reading
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import meta_properties
from barnabas.protocol.files.checkpoints import decode_offsets
from barnabas.protocol.files.names import (
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_CHECKPOINT,
    META_PROPERTIES,
    RECOVERY_POINT_CHECKPOINT,
)

_DECODERS: dict[str, Callable[[bytes], object]] = {
    META_PROPERTIES: meta_properties.decode,
    RECOVERY_POINT_CHECKPOINT: decode_offsets,
    LOG_START_CHECKPOINT: decode_offsets,
    HIGH_WATERMARK_CHECKPOINT: decode_offsets,
    CLEANER_CHECKPOINT: decode_offsets,
}


def check_root(path: str, reading: Reading = DISK) -> Iterator[Finding]:
    """A finding for each file that cannot be read. One that is not there is none: a broker writes it again."""
    for name, decode in _DECODERS.items():
        data = reading.content(os.path.join(path, name))
        try:
            if data is not None:
                decode(data)
        except DecodeError as error:
            yield Finding(Kind.DATA_DIRECTORY, os.path.join(path, name), None, None, str(error))
