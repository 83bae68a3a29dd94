"""A first listing of a partition's directory and of its former segments. It changes nothing.

If `segment-checksums` shows that there are many segments, the listing runs in a thread: listing and parsing the names
of ten thousand would delay other work too long.
"""

from __future__ import annotations

from barnabas.protocol.files.names import SEGMENT_CHECKSUMS
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.recovery.listing import Listing
from barnabas.storage.recovery.opening import Opening
from barnabas.storage.segment.segment_checksums import SegmentChecksums

MANY_BYTES = 32 << 10  # of segment-checksums: a thousand segments or so


def first_listing(directory: Directory) -> Opening[tuple[Listing, SegmentChecksums]]:
    """Return the listing of a partition's directory, and the checksums of its segments. StorageError."""
    job = _Look(directory)
    if directory.exists(SEGMENT_CHECKSUMS) and directory.size(SEGMENT_CHECKSUMS) > MANY_BYTES:
        yield job
    else:
        job.run_here()
    assert job.found is not None
    return job.found


class _Look(SyncJob):
    __slots__ = ("_directory", "found")

    def __init__(self, directory: Directory) -> None:
        super().__init__(directory.disk)
        self._directory = directory
        self.found: tuple[Listing, SegmentChecksums] | None = None

    def run(self) -> None:
        names = (entry.name for entry in self._directory.entries() if not entry.is_directory)
        self.found = Listing(names), SegmentChecksums(self._directory)
