"""The names in a partition's directory, each parsed once, for the many checks of an opening.

A log may have ten thousand segments with four files each, nearly all of them in normal use. Of these only the
offsets are stored, by kind; other names are stored as they are, and are mostly none. Knows only names.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.protocol.files.names import FileKind, SegmentFile, parse_segment_file

_OFFSET_DIGITS = 20


class Listing:
    """The names by kind, parsed from an iterable of names."""

    def __init__(self, names: Iterable[str]) -> None:
        self.live: dict[FileKind, set[int]] = {kind: set() for kind in FileKind}
        """The offsets of the files in use."""
        self.other_names: list[str] = []
        """The names of files that are not in normal use, or belong to no segment; sorted."""
        live = {kind.value: self.live[kind].add for kind in FileKind}
        for name in names:
            base, suffix = name[:_OFFSET_DIGITS], name[_OFFSET_DIGITS:]
            if suffix in live and base.isdecimal():
                live[suffix](int(base))
            else:
                self.other_names.append(name)
        self.other_names.sort()

    @property
    def logs(self) -> list[int]:
        """The base offsets of the segments, in order."""
        return sorted(self.live[FileKind.LOG])

    @property
    def others(self) -> list[SegmentFile]:
        """The segments' files that are not in normal use."""
        return [file for file in map(parse_segment_file, self.other_names) if file is not None]

    def without_log(self, *kinds: FileKind) -> list[SegmentFile]:
        """Return the files in use of these kinds that have no log, sorted by name."""
        logs = self.live[FileKind.LOG]
        files = [SegmentFile(offset, kind) for kind in kinds for offset in self.live[kind] - logs]
        return sorted(files, key=lambda file: file.name)
