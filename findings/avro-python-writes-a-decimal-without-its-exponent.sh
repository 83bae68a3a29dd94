#!/bin/sh
# avro for Python writes a decimal with fewer decimal places than its schema as another number: 12.5 becomes 1.25.
#
# Software: avro 1.12.2; Python 3.10 or later.
# Expected: as the specification says, the bytes of a decimal are the value times 10^scale, or the value is refused.
#   fastavro 1.12.1 writes 12.5 with a scale of 2 as 1250, and reads 12.5.
# Seen: the digits of the value, whatever its exponent: 12.5 is written as 125 and read as 1.25, 12 as 0.12 and 1E3 as
#   0.01, in bytes and in a fixed type, without an error. Only 12.50 is right. A value with more decimal places than the
#   schema has is refused.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv environment
environment/bin/pip install --quiet avro==1.12.2 fastavro==1.12.1 2>log || { cat log; exit 1; }
cat > finding.py <<'PY'
import io
import json
import sys
from decimal import Decimal

import avro.io
import avro.schema
import fastavro

DECIMAL = {"logicalType": "decimal", "precision": 8, "scale": 2}
BYTES = {"type": "bytes", **DECIMAL}
FIXED = {"type": "fixed", "name": "amount", "size": 8, **DECIMAL}


def with_avro(described, value):
    schema, written = avro.schema.parse(json.dumps(described)), io.BytesIO()
    avro.io.DatumWriter(schema).write(value, avro.io.BinaryEncoder(written))
    return avro.io.DatumReader(schema).read(avro.io.BinaryDecoder(io.BytesIO(written.getvalue())))


def with_fastavro(described, value):
    written = io.BytesIO()
    fastavro.schemaless_writer(written, described, value)
    return fastavro.schemaless_reader(io.BytesIO(written.getvalue()), described)


VALUES = ["12.50", "12.5", "12", "1E3", "-7.5"]
seen = {}
for described in (BYTES, FIXED):
    for value in map(Decimal, VALUES):
        found = with_avro(described, value)
        seen[described["type"], str(value)] = str(found)
        print(f"{described['type']} {value}: avro {found}, fastavro {with_fastavro(described, value)}")
        if with_fastavro(described, value) != value:
            print("fastavro does not write it as it is")
            sys.exit(1)
read = dict(zip([str(Decimal(each)) for each in VALUES], ["12.50", "1.25", "0.12", "0.01", "-0.75"], strict=True))
if seen != {(kind, value): read[value] for kind in ("bytes", "fixed") for value in read}:
    print("the behaviour has changed")
    sys.exit(1)
PY
environment/bin/python finding.py
