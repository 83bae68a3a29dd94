"""Stories about opening a partition, as text: commands, and what came of them.

    > append a b          a command
    0..1                  its outcome: the offsets of the batch

Commands: `config KEY=VALUE…` (first), `open`, `stop`, `kill`, `power-cut`, `append VALUE… [pid=P seq=N] [epoch=E]
[txn]`, `retry PID SEQ VALUE…`, `mark PID commit|abort`, `epoch N` (the next leader epoch), `flush`, `checkpoint`,
`delete-before OFFSET`, `read`, `read-committed`, `offsets`, `files [SUFFIX]`, and what happens to files while no broker
looks: `cut FILE BYTES` (off its end), `grow FILE BYTES` (by zeros), `flip FILE POSITION`, `remove FILE…`, `copy FILE
NAME`, `create FILE`, `point FILE OFFSET` (a checkpoint's row). FILE is a name in the partition with its leading zeros
left out (`0.log`), or one of the root behind a slash.

`open` prints the applied cases of storage/recovery/recovery_decisions.py. A batch of one letter is 70 bytes. A story is
its own expectation: `run` plays the commands and returns the text as it should be.
"""

import re
from collections.abc import Callable
from typing import Any

from barnabas.protocol.errors import KafkaError
from barnabas.protocol.files.checkpoints import encode_offsets
from barnabas.storage.config import LogConfig
from barnabas.storage.errors import StorageError
from tests.support.stories.golden import parsed, played
from tests.support.worlds.log import PARTITION, ROOT, TOPIC, LogWorld

_SHORT = re.compile(r"^0*(\d+)(\.|-)")


class Story:
    """One story while it is played."""

    def __init__(self) -> None:
        self.world = LogWorld(config=LogConfig(index_interval_bytes=0))

    def run(self, text: str) -> str:
        """The story with the actual outcome of each command."""
        return played(text, self._play)

    def _play(self, command: str) -> list[str]:
        verb, *words = command.split()
        names, settings = parsed(words)
        play: Callable[..., str | list[str] | None] = getattr(self, "_" + verb.replace("-", "_"))
        try:
            outcome = play(*names, **settings)
        except (KafkaError, StorageError) as error:
            outcome = f"{type(error).__name__}: {_shorten(str(error))}"
        return [outcome] if isinstance(outcome, str) else outcome or []

    # --- the partition ---

    def _config(self, **settings: str) -> None:
        changes: dict[str, Any] = {
            key: frozenset(value.split(",")) if key == "cleanup_policy" else int(value)
            for key, value in settings.items()
        }
        self.world.config = self.world.config._replace(**changes)

    def _open(self) -> list[str]:
        recovered = self.world.open().recovered
        counts = {
            "reread": recovered.segments_reread,
            "replayed": recovered.headers_replayed,
            "dropped bytes": recovered.bytes_dropped,
            "dropped segments": recovered.segments_dropped,
        }
        counted = [f"{count} {name}" for name, count in counts.items() if count]
        letters = recovered.letters or "-"
        return [
            ", ".join([f"{letters} end {recovered.log_end_offset}", *counted]),
            *(f"  {_shorten(note)}" for note in recovered.notes),
        ]

    def _stop(self) -> None:
        self.world.stop()

    def _kill(self) -> None:
        self.world.kill()

    def _power_cut(self) -> None:
        self.world.cut_power("nothing")

    def _append(self, *words: str, pid: str = "-1", seq: str = "-1", epoch: str = "0") -> str:
        values = [word.encode() for word in words if word != "txn"]
        result = self.world.append(
            *values, producer_id=int(pid), sequence=int(seq), epoch=int(epoch), transactional="txn" in words
        )
        return f"{result.base_offset}..{result.last_offset}" + (" duplicate" if result.is_duplicate else "")

    def _retry(self, pid: str, seq: str, *values: str) -> str:
        return self._append(*values, pid=pid, seq=seq)

    def _mark(self, pid: str, what: str) -> str:
        return str(self.world.mark(int(pid), 0, commit=what == "commit").base_offset)

    def _epoch(self, epoch: str) -> None:
        self.world.leader_epoch = int(epoch)

    def _flush(self) -> str:
        self.world.flush()
        return f"recovery point {self.world.log.recovery_point}"

    def _checkpoint(self) -> None:
        self.world.checkpoint()

    def _delete_before(self, offset: str) -> str:
        return f"start {self.world.log.delete_records_before(int(offset))}"

    def _read(self) -> str:
        return self._records(committed=False)

    def _read_committed(self) -> str:
        return self._records(committed=True)

    def _records(self, *, committed: bool) -> str:
        found = self.world.records(committed=committed)
        return " ".join(f"{record.offset}:{(record.value or b'').decode()}" for record in found) or "nothing"

    def _offsets(self) -> str:
        log = self.world.log
        return (
            f"start {log.log_start_offset} stable {log.last_stable_offset} high {log.high_watermark} "
            f"end {log.log_end_offset} recovery {log.recovery_point} epoch {log.leader_epoch}"
        )

    # --- the files ---

    def _files(self, suffix: str = "") -> list[str]:
        names = [name for name in self.world.names() if name.endswith(suffix) and name != "partition.metadata"]
        sizes = [(name, self.world.files.stat(f"{self.world.path}/{name}").size) for name in names]
        return [f"{_shorten(name)} {size}" for name, size in sizes] or ["none"]

    def _cut(self, name: str, count: str) -> None:
        file = self.world.files.open(self._path(name))
        file.truncate(file.size() - int(count))

    def _grow(self, name: str, count: str) -> None:
        file = self.world.files.open(self._path(name))
        file.pwrite(bytes(int(count)), file.size())

    def _flip(self, name: str, position: str) -> None:
        file = self.world.files.open(self._path(name))
        at = int(position)
        file.pwrite(bytes([file.pread(1, at)[0] ^ 0xFF]), at)

    def _remove(self, *names: str) -> None:
        for name in names:
            self.world.files.remove(self._path(name))

    def _copy(self, name: str, target: str) -> None:
        data = self.world.files.open(self._path(name)).pread(1 << 20, 0)
        file = self.world.files.open(self._path(target), create=True)
        file.truncate(0)
        file.pwrite(data, 0)

    def _create(self, name: str) -> None:
        self.world.files.open(self._path(name), create=True)

    def _point(self, name: str, offset: str) -> None:
        data = encode_offsets({(TOPIC, PARTITION): int(offset)})
        file = self.world.files.open(self._path(name), create=True)
        file.truncate(0)
        file.pwrite(data, 0)

    def _path(self, name: str) -> str:
        if name.startswith("/"):
            return ROOT + name
        number, dot, rest = name.partition(".")
        return f"{self.world.path}/" + (f"{int(number):020d}{dot}{rest}" if number.isdigit() else name)


def _shorten(text: str) -> str:
    return re.sub(r"\b0{5,19}(\d+)(?=\.)", lambda found: found[1], text).replace(f"{ROOT}/", "")
