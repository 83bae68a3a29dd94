"""CRC-32C (Castagnoli), the checksum of record batches and producer snapshots.

The C extension inside the `crc32c` distribution is loaded directly: the package's `__init__` requests its version from
`importlib.metadata`, which costs a third of a fast start-up (33 ms). If the extension is not found in the package, the
ordinary import is used. Without the package (a Spark executor without wheels), a table in Python is used, about a
hundred times slower: `IS_NATIVE` is then False.

Any buffer is accepted and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder, PathFinder
from importlib.util import module_from_spec

from barnabas.protocol.primitives import Buffer


def load_extension() -> Callable[[Buffer], int] | None:
    """Return the C function from the extension module, or None if that module is not at the expected place."""
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
    """Return the same function through the package's ordinary, slower import."""
    import crc32c as package

    return package.crc32c


def load_plain() -> Callable[[Buffer], int]:
    """Return the same function in plain Python: a byte at a time through a table."""
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
