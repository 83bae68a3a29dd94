"""What is wrong with a partition's files, a segment at a time: what `barnabas log verify` says of them, for a task.

Which finding is an accident and which is a kill's ordinary trace is the reader's to say: a torn tail is cut off when
the partition is opened.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.logfiles.findings import Finding
from barnabas.logfiles.segment_check import check_segment
from pyspark_barnabas.segments.splits import Piece


def findings(piece: Piece) -> Iterator[Finding]:
    """All that is wrong with a segment; `piece` is all of it."""
    return check_segment(piece.files, piece.segment)
