#!/bin/sh
# mypyc computes `1 << n` with an i64 `n` in 32 bits, without an error, also if 1 is in a variable of type i64.
#
# Software: mypyc of mypy 2.4.1 and mypy_extensions 1.2.0 from the package index, a C compiler, Python 3 with its headers.
# Expected: `i64` has 64 bits, so 1 << 40 is 1099511627776 as in Python; only results of more than 63 bits may differ.
#   A constant in the generated C is an `int`, and so is the shift. A shifted argument has its 64 bits.
# Seen, on x86-64 with gcc: 1 << 40 is 256 and 1 << 32 is 1, from both functions with a constant; the argument's shift is
#   right. (On another processor the wrong number may be another.) mypyc and the C compiler report nothing.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install mypy==2.4.1 mypy_extensions==1.2.0 setuptools
cd "$folder"
cat > shifts.py <<'PYTHON'
from mypy_extensions import i64


def of_constant(n: i64) -> i64:
    return 1 << n


def of_variable(n: i64) -> i64:
    one: i64 = 1
    return one << n


def of_argument(one: i64, n: i64) -> i64:
    return one << n
PYTHON
PATH="$folder/venv/bin:$PATH" mypyc shifts.py > compiled.log 2>&1 || { cat compiled.log; exit 1; }
"$folder/venv/bin/python" - <<'PYTHON'
import shifts

assert shifts.__file__.endswith(".so")
for n in (3, 32, 40):
    print(f"mypy 2.4.1: 1 << {n} is {shifts.of_constant(n)} and {shifts.of_variable(n)}, of an argument {shifts.of_argument(1, n)}")
assert shifts.of_constant(3) == shifts.of_variable(3) == 8
assert shifts.of_argument(1, 40) == 1 << 40
assert shifts.of_constant(40) != 1 << 40 and shifts.of_variable(40) != 1 << 40, "the behaviour has changed"
PYTHON
