"""CRC-32C (Castagnoli), the checksum of record batches and producer snapshots.

The C extension inside the `crc32c` distribution is loaded by itself: the package's own `__init__` asks
`importlib.metadata` for its version, which costs a third of a lean start-up (33 ms). Where the extension is not found
beside the package, the ordinary import is taken. Where there is no package (a Spark executor without wheels), a table
does it in Python, some hundred times more slowly: `IS_NATIVE` says so.

Any buffer is accepted and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder, PathFinder
from importlib.util import module_from_spec

from barnabas.protocol.primitives import Buffer


def load_extension() -> Callable[[Buffer], int] | None:
    """The C function out of the extension module alone, or None where that module is not where it was expected."""
    package = PathFinder.find_spec("crc32c")
    if package is None:
        return None
    for directory in package.submodule_search_locations or ():
        found = FileFinder(directory, (ExtensionFileLoader, EXTENSION_SUFFIXES)).find_spec("_crc32c")
        if found is not None and found.loader is not None:
            module = module_from_spec(found)
            found.loader.exec_module(module)
            function: Callable[[Buffer], int] = module.crc32c
            return function
    return None


def load_package() -> Callable[[Buffer], int]:
    """The same function through the package's ordinary, slower import."""
    import crc32c as package

    return package.crc32c


def load_plain() -> Callable[[Buffer], int]:
    """The same in plain Python: a byte at a time through a table."""
    table = tuple(_divide(byte) for byte in range(256))

    def compute(buffer: Buffer) -> int:
        crc = 0xFFFFFFFF
        for byte in memoryview(buffer).cast("B"):
            crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
        return crc ^ 0xFFFFFFFF

    return compute


def _divide(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


def _load() -> tuple[Callable[[Buffer], int], bool]:
    try:
        return load_extension() or load_package(), True
    except ImportError:
        return load_plain(), False


_POLYNOMIAL = 0x82F63B78  # of Castagnoli, its bits reversed
crc32c, IS_NATIVE = _load()
