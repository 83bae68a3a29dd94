"""The names in a partition's directory, each taken apart once: an opening asks many questions of them.

A log may have ten thousand segments with four files each, nearly all of them in use as they are. Of these only the
offsets are kept, by kind; what is in the middle of something, or of another name, is kept as it is and is mostly
nothing. Knows names alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.protocol.files.names import FileKind, SegmentFile, parse_segment_file

_OFFSET_DIGITS = 20


class Listing:
    """What there is of which kind. `add` names, then ask."""

    def __init__(self, names: Iterable[str]) -> None:
        self.live: dict[FileKind, set[int]] = {kind: set() for kind in FileKind}
        """The offsets of the files in use."""
        self.other_names: list[str] = []
        """Of files that are not in use as they are, or belong to no segment; sorted."""
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
        """The segments' files that are not in use as they are."""
        return [file for file in map(parse_segment_file, self.other_names) if file is not None]

    def without_log(self, *kinds: FileKind) -> list[SegmentFile]:
        """The files in use of these kinds that have no log, by name."""
        logs = self.live[FileKind.LOG]
        files = [SegmentFile(offset, kind) for kind in kinds for offset in self.live[kind] - logs]
        return sorted(files, key=lambda file: file.name)
