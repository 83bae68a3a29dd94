"""The resources of the machine: descriptors, disk space, time, and the modules that make a broker fast."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from barnabas.broker.cli.doctor.finding import CheckResult, ok, problem, warning
from barnabas.broker.runtime import patterns
from barnabas.broker.server.data_directories import open_files_max, sockets_max
from barnabas.storage.disk.files import Volume

_DESCRIPTORS_MIN = 256
_DESCRIPTORS_FEW = 1024
_FREE_BYTES_MIN = 64 << 20
_FREE_BYTES_FEW = 1 << 30
_MAKE_ROOM = "free space: retention.ms and retention.bytes of the topics limit their size"
_EARLIEST_S = 1_735_689_600  # 2025: before this broker was written
_AHEAD_S_MAX = 300


def examine_descriptors(hard_limit: int) -> CheckResult:
    """Check the number of descriptors. hard_limit: the limit that the process can raise its own to."""
    room = f"room for {sockets_max(hard_limit)} connections and {open_files_max(hard_limit)} open segment files"
    text, advice = f"{hard_limit} descriptors: {room}", "raise it: ulimit -Hn, --ulimit nofile=… of docker run"
    if hard_limit < _DESCRIPTORS_MIN:
        return problem("descriptors", text, advice)
    return warning("descriptors", text, advice) if hard_limit < _DESCRIPTORS_FEW else ok("descriptors", text)


def examine_volume(path: str, volume: Volume) -> CheckResult:
    """Check the file system of the data."""
    text = f"{_size(volume.usable_bytes)} of {_size(volume.total_bytes)} are free where {path} is"
    if volume.usable_bytes == 0:
        return problem("disk", f"{path} is full: producers wait", f"delete topics or records, or {_MAKE_ROOM}")
    if volume.usable_bytes < _FREE_BYTES_MIN:
        return problem("disk", text, _MAKE_ROOM)
    return warning("disk", text) if volume.usable_bytes < _FREE_BYTES_FEW else ok("disk", text)


def examine_clock(now_s: float, newest_s: float | None) -> CheckResult:
    """Check the clock. newest_s: the latest change of a file of the data directory, None if there is none."""
    advice = "set the clock: the timestamps of records, retention and transaction timeouts depend on it"
    if now_s < _EARLIEST_S:
        return problem("clock", "it is earlier than the date of this program", advice)
    if newest_s is not None and newest_s > now_s + _AHEAD_S_MAX:
        ahead_s = round(newest_s - now_s)
        return warning("clock", f"the data directory was changed {ahead_s} s from now: the clock went back", advice)
    return ok("clock", "it agrees with the times that it can be compared with")


def examine_python() -> CheckResult:
    """Check whether the modules written in C are installed."""
    missing = [name for name in ("uvloop", "crc32c") if find_spec(name) is None]
    version = ".".join(map(str, sys.version_info[:3]))
    if missing:
        return warning("python", f"Python {version} without {', '.join(missing)}: everything works, but more slowly")
    if not patterns.is_available():
        return warning("python", f"Python {version}: {patterns.MISSING}")
    return ok("python", f"Python {version}, with uvloop and crc32c")


def _size(count: int) -> str:
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} bytes"
