#!/bin/sh
# lz4.frame.decompress returns the first of several LZ4 frames and drops the others without an error.
#
# Software: lz4 4.4.5, cramjam 2.14.0, both from the package index, Python 3.
# Expected: frames one after the other are one stream (the frame format allows it, the lz4 command and gzip.decompress
#   of the standard library read them so). In the same package lz4.frame.open reads all frames; cramjam does, too.
#   A log whose batches were compressed in parts is shorter, without an error, when it is read by that function.
# Seen: b'first' from lz4.frame.decompress, b'firstsecond' from lz4.frame.open and from cramjam.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install lz4==4.4.5 cramjam==2.14.0
"$folder/venv/bin/python" - <<'PYTHON'
import io

import cramjam
import lz4.frame

frames = lz4.frame.compress(b"first") + lz4.frame.compress(b"second")
at_once = lz4.frame.decompress(frames)
as_file = lz4.frame.open(io.BytesIO(frames)).read()
other = bytes(cramjam.lz4.decompress(frames))
print(f"lz4 4.4.5: decompress {at_once!r}, open {as_file!r}; cramjam 2.14.0: {other!r}")
assert (at_once, as_file, other) == (b"first", b"firstsecond", b"firstsecond"), "the behaviour has changed"
PYTHON
