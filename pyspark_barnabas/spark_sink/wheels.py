"""The packages written in C that are missing where a task runs: reported once, in the worker's log."""

from __future__ import annotations

from functools import cache

from barnabas.protocol.records import compression, crc32c
from pyspark_barnabas.reporting.own_log import own_log


@cache
def say_once_what_is_missing() -> None:
    """Log a warning once in each process, if the checksum is computed in Python or a codec is missing."""
    slow = [] if crc32c.IS_NATIVE else ["crc32c is not installed: checksums are computed in Python, which is slow"]
    codecs = [
        compression.COMPRESSION_NAMES[codec] for codec in compression.LIBRARIES if not compression.is_available(codec)
    ]
    gone = (
        [f"these compressions are unavailable, because their packages are not installed: {', '.join(codecs)}"]
        if codecs
        else []
    )
    if slow or gone:
        own_log().warning("%s", "; ".join(slow + gone))
