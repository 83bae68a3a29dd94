"""Each file in the roots of two data directories cut at each byte and with each bit flipped: opened right, or refused.

Refused means by one line that names the file. Whatever is opened has the same records, is cleaned from no later offset,
and has the same ids. But a `meta.properties` that is cut right before its `directory.id` looks like one of a Kafka that
had none, and gets another.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from barnabas.protocol.files import names
from barnabas.storage.directories.log_directories import LogDirectories
from barnabas.storage.errors import StorageError
from tests.support.files.log_directories import CONFIG, NODE_ID, TOPIC_ID, append, flush, ids
from tests.support.files.memory_files import MemoryFiles

PATHS = ("/one", "/two")
FILES = (
    names.META_PROPERTIES,
    names.RECOVERY_POINT_CHECKPOINT,
    names.LOG_START_CHECKPOINT,
    names.HIGH_WATERMARK_CHECKPOINT,
    names.CLEANER_CHECKPOINT,
)
Content = dict[str, bytes]


class Opened(NamedTuple):
    ids: tuple[object, ...]
    logs: tuple[object, ...]
    first_dirty: tuple[int | None, ...]


def _start(files: MemoryFiles) -> LogDirectories:
    return LogDirectories.open(PATHS, files, node_id=NODE_ID, new_id=ids())


def _content(files: MemoryFiles) -> Content:
    found: Content = {}
    for member, path in enumerate(PATHS):
        for folder in (path, f"{path}/t-{member}"):
            for name in files.peek_names(folder):
                data = files.peek(f"{folder}/{name}")
                if data is not None and name != names.LOCK:
                    found[f"{folder}/{name}"] = data
    return found


def _filled(*, is_clean: bool) -> Content:
    files = MemoryFiles()
    directories = _start(files)
    for member, directory in enumerate(directories.members):
        log = directory.open_log("t", member, TOPIC_ID, CONFIG, 1_000)
        append(log, 7)
        append(log, 4)
        flush(log)
        log.delete_records_before(3)
        directory.checkpoints.note_cleaned(("t", member), 5)
    checkpoint = directories.begin_checkpoint()
    assert checkpoint is not None
    checkpoint.run()
    directories.end_checkpoint(checkpoint)
    if is_clean:
        directories.close(clean=True)
    else:
        files.crash("everything")
    return _content(files)


def _open(content: Content) -> Opened:
    files = MemoryFiles()
    for member, path in enumerate(PATHS):
        for folder in (path, f"{path}/t-{member}"):
            files.mkdir(folder)
    for path, data in content.items():
        file = files.open(path, create=True)
        file.pwrite(data, 0)
        file.close()
    directories = _start(files)
    for path, why in directories.failed.items():  # the others work
        raise StorageError(path, why)
    logs = []
    for member, directory in enumerate(directories.members):
        log = directory.open_log("t", member, TOPIC_ID, CONFIG, 1_000)
        logs.append((log.log_start_offset, log.log_end_offset, log.high_watermark))
    return Opened(
        tuple((each.meta.cluster_id, each.meta.node_id, each.directory_id) for each in directories.members),
        tuple(logs),
        tuple(each.checkpoints.first_dirty(("t", member)) for member, each in enumerate(directories.members)),
    )


def _damages(data: bytes) -> Iterator[tuple[str, bytes]]:
    for size in range(1, len(data)):
        yield f"cut at {size}", data[:size]
    for bit in range(len(data) * 8):
        yield f"bit {bit}", data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("is_clean", [True, False], ids=["stopped", "killed"])
def test_it_is_opened_right_or_refused(is_clean: bool, name: str) -> None:
    content = _filled(is_clean=is_clean)
    right = _open(content)
    assert right.first_dirty == (5, 5)
    wrong = []
    for member in PATHS:
        path = f"{member}/{name}"
        for what, data in _damages(content[path]):
            try:
                found = _open(content | {path: data})
            except StorageError as error:
                said = str(error)
                if "\n" in said or member not in said or name not in said:
                    wrong.append((path, what, said))
            else:
                is_cleaned_from = all((each or 0) <= 5 for each in found.first_dirty)
                is_same = found.ids == right.ids or data == content[path].partition(b"directory.id")[0]
                if not is_same or found.logs != right.logs or not is_cleaned_from:
                    wrong.append((path, what, str(found)))
    assert wrong == [], (len(wrong), wrong[:40])
