"""CRC-32C (Castagnoli), the checksum of record batches and producer snapshots.

The C extension inside the `crc32c` distribution is loaded by itself: the package's own `__init__` asks
`importlib.metadata` for its version, which costs a third of a lean start-up (33 ms). Where the extension is not found
beside the package, the ordinary import is taken.

Any buffer is accepted and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder, PathFinder
from importlib.util import module_from_spec

from protocol.primitives import Buffer


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


crc32c: Callable[[Buffer], int] = load_extension() or load_package()
