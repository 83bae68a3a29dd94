#!/bin/sh
# mypyc evaluates the bound of a slice twice, with its side effects, unless the sliced type is list, tuple, str or bytes.
#
# Software: mypyc of mypy 2.4.1 from the package index, a C compiler, Python 3 with its headers.
# Expected: `view[: fill(view)]` calls `fill` once, as in Python; the result is what it filled.
# Seen: of a memoryview, a bytearray or an object of no known type the compiled function calls `fill` twice, where the
#   bound is an `int`, and slices with what the second call returns. What the first call did is done twice. Nothing is
#   reported, neither by mypyc nor when the program runs.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install mypy==2.4.1 setuptools
cd "$folder"
cat > slices.py <<'PYTHON'
from typing import Any


class Filler:
    def __init__(self) -> None:
        self.calls = 0

    def fill(self) -> int:
        self.calls += 1
        return self.calls


def of_memoryview(data: memoryview, filler: Filler) -> int:
    return len(data[: filler.fill()])


def of_bytearray(data: bytearray, filler: Filler) -> int:
    return len(data[: filler.fill()])


def of_anything(data: Any, filler: Filler) -> int:
    return len(data[: filler.fill()])


def of_list(data: list[int], filler: Filler) -> int:
    return len(data[: filler.fill()])


def of_bytes(data: bytes, filler: Filler) -> int:
    return len(data[: filler.fill()])
PYTHON
PATH="$folder/venv/bin:$PATH" mypyc slices.py > compiled.log 2>&1 || { cat compiled.log; exit 1; }
"$folder/venv/bin/python" - <<'PYTHON'
import slices

assert slices.__file__.endswith(".so")
seen = {}
for name, data in (
    ("memoryview", memoryview(bytes(9))),
    ("bytearray", bytearray(9)),
    ("anything", bytearray(9)),
    ("list", [0] * 9),
    ("bytes", bytes(9)),
):
    filler = slices.Filler()
    length = getattr(slices, f"of_{name}")(data, filler)
    seen[name] = (filler.calls, length)
    print(f"mypy 2.4.1: {name}[: fill()] calls fill {filler.calls} times, and has {length} elements; in Python 1 and 1")
assert seen == {"memoryview": (2, 2), "bytearray": (2, 2), "anything": (2, 2), "list": (1, 1), "bytes": (1, 1)}, seen
PYTHON
