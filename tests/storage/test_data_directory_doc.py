"""The worked example in docs/formats/data-directory.md is what the code writes."""

import itertools
from pathlib import Path

from barnabas.protocol.records.builder import build_batch
from barnabas.storage.config import LogConfig
from barnabas.storage.directories.log_directory import LogDirectory
from tests.support.files.memory_files import MemoryFiles

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formats" / "data-directory.md"
NOW_MS = 1_700_000_000_000


def test_the_page_shows_the_bytes_of_every_file_but_the_log() -> None:
    files, numbers = MemoryFiles(), itertools.count(1)
    directory = LogDirectory.open(
        "/data", files, node_id=1, new_id=lambda: (0x3C0FFEE << 96 | next(numbers)).to_bytes(16, "big")
    )
    log = directory.open_log("orders", 0, bytes(range(16)), LogConfig(index_interval_bytes=100), NOW_MS)
    for index, value in enumerate((b"a", b"b", b"c", b"d")):
        timestamp = NOW_MS + index * 1_000
        records = [(b"k%d" % index, value, (), timestamp), (b"k%d" % index, value, (), timestamp + 1)]
        log.append(build_batch(records), leader_epoch=3, now_ms=NOW_MS)
    directory.close(clean=True, broker_epoch=42)
    rows = {
        cells[1].strip(" `"): cells[2].split("(")[0]
        for line in PAGE.read_text().splitlines()
        if (cells := line.split("|")) and len(cells) == 4 and line.startswith("| `")
    }
    root = files.directory("/data")
    partition = root.subdirectory("orders-0")
    found = {name: root.read(name) for name in root.names()}
    found |= {f"orders-0/{name}": partition.read(name) for name in partition.names() if not name.endswith(".log")}
    assert set(found) == set(rows)
    for name, content in found.items():
        assert content is not None
        shown = rows[name].replace("`", "").strip()
        binary = name.endswith(("index", ".snapshot"))
        assert shown.replace(" ", "") == content.hex() if binary else shown.replace("⏎", "\n") == content.decode()
